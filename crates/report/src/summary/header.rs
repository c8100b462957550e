//! What was measured: the model, its size, and what it ran on.

use crate::clean::clean;
use crate::lookup::told;
use crate::wrap::shorten;
use number::{count, flops};
use types::{Category, Device, FedInput, InputRole, Mode, Run, Weights};

const RANDOM: &str = "random weights";
/// A name from outside gets at most so much of a list of facts.
const LONGEST_NAME: usize = 32;
/// So many inputs of no known kind are all shown.
const FEW: usize = 2;

/// What the model ran on and how: engine, device, precision, batch, threads.
#[must_use]
pub fn setting(run: &Run) -> Vec<String> {
    let mut setting = vec![place(run)];
    if run.cell.mode == Mode::Training {
        setting.push("training".into());
    }
    if let Some(generation) = run.cell.generation {
        setting.push(generation.name());
    }
    setting.extend(told(run, "cell.precision", run.cell.precision.to_string()));
    setting.extend(batch(run));
    match told(run, "cell.threads", run.cell.threads) {
        Some(1) => setting.push("1 thread".into()),
        Some(threads) => setting.push(format!("{threads} threads")),
        None => {}
    }
    setting
}

/// The model's name, and that its weights are random where they are.
pub(crate) fn title(run: &Run) -> Vec<String> {
    let name = match clean(&run.model.name) {
        name if name.is_empty() => "unnamed model".into(),
        name => name,
    };
    let is_random = matches!(run.model.weights, Weights::Random { .. });
    std::iter::once(name).chain(is_random.then(|| RANDOM.to_owned())).collect()
}

/// Parameters and operations of the model.
pub(crate) fn size(run: &Run) -> Vec<String> {
    let parameters = told(run, "model.parameters", run.model.parameters);
    let parameters = parameters.map(|parameters| format!("{} parameters", count(parameters)));
    let mut facts: Vec<String> = parameters.into_iter().collect();
    let work = told(run, "work.flops", run.work.flops.0).filter(|work| *work > 0);
    facts.extend(work.map(|work| format!("{}{} per batch", at_least(run), flops(work))));
    facts
}

fn at_least(run: &Run) -> &'static str {
    let is_partial =
        told(run, "work.coverage", run.work.coverage.0).is_some_and(|share| share < 1.0);
    if is_partial { "at least " } else { "" }
}

/// `rten 0.27.0 on cpu (Xeon, 2 cores)`.
fn place(run: &Run) -> String {
    let engine = shorten(&clean(&run.engine.id), LONGEST_NAME);
    let version = told(run, "engine.version", run.engine.version.as_str()).unwrap_or_default();
    let version = shorten(&clean(version), LONGEST_NAME);
    let space = if version.is_empty() { "" } else { " " };
    if !run.tells("cell.device") {
        return format!("{engine}{space}{version}");
    }
    let machine = &run.environment.machine;
    let gpu = |index: u32| machine.gpus.iter().find(|gpu| gpu.index == index);
    let hardware = match run.cell.device {
        Device::Cuda(index) | Device::Rocm(index) => gpu(index).map(|gpu| clean(&gpu.name)),
        _ => {
            let name = told(run, "environment.machine.cpu", machine.cpu.model.as_str());
            let name = processor(name.unwrap_or_default());
            let cores = match machine.cpu.cores {
                // Other tools do not count them.
                0 if run.imported.is_some() => String::new(),
                1 => "1 core".into(),
                cores => format!("{cores} cores"),
            };
            let both: Vec<String> =
                [name, cores].into_iter().filter(|word| !word.is_empty()).collect();
            (!both.is_empty()).then(|| both.join(", "))
        }
    };
    let hardware = hardware.map_or_else(String::new, |name| format!(" ({name})"));
    format!("{engine}{space}{version} on {}{hardware}", run.cell.device)
}

/// The part of a processor's marketing name that tells it from others.
pub(crate) fn processor(model: &str) -> String {
    const NOISE: [&str; 6] = ["Intel", "AMD", "CPU", "Processor", "Gen", "Technologies"];
    let model = clean(model);
    let model = model.split('@').next().unwrap_or_default();
    let model = model.split(" with ").next().unwrap_or_default();
    let model = model.replace("(R)", "").replace("(TM)", "").replace("(tm)", "");
    let is_noise = |word: &str| {
        let generation = word.strip_suffix("th").or(word.strip_suffix("rd"));
        NOISE.contains(&word)
            || word.ends_with("-Core")
            || generation.is_some_and(|digits| digits.parse::<u8>().is_ok())
    };
    let words: Vec<&str> = model.split_whitespace().filter(|word| !is_noise(word)).collect();
    shorten(&words.join(" "), LONGEST_NAME)
}

/// Samples in a batch and how large each is.
fn batch(run: &Run) -> Vec<String> {
    let cell = &run.cell;
    let size = cell.batch_size;
    let is_known = run.tells("cell.batch_size");
    if let Some(length) = cell.sequence_length {
        let length = cell.feed.length_unit.words(length);
        if !is_known {
            return vec![length];
        }
        return vec![format!("batch {size} × {length}")];
    }
    let shown = shown(run);
    if let (Category::Vision, [(_, dims)]) = (run.model.category, shown.as_slice())
        && let [first, rest @ ..] = *dims
        && *first == size
        && !rest.is_empty()
    {
        return vec![format!("batch {size} × image {}", dimensions(rest))];
    }
    let inputs = shown.into_iter().map(|(name, dims)| {
        let name = shorten(&clean(name), LONGEST_NAME);
        format!("{name} {}", dimensions(dims))
    });
    is_known.then(|| format!("batch {size}")).into_iter().chain(inputs).collect()
}

/// The inputs whose shapes tell how large a sample is: those that people gave, images, sound, or all where they are few.
fn shown(run: &Run) -> Vec<(&str, &[usize])> {
    let given = run.cell.inputs.iter().map(|input| (input.name.as_str(), input.dims.as_slice()));
    let given: Vec<_> = given.collect();
    if !given.is_empty() {
        return given;
    }
    let dims_of = |input: &&FedInput| matches!(input.role, InputRole::Image | InputRole::Audio);
    let mut main: Vec<&FedInput> = run.inputs.iter().filter(dims_of).collect();
    if main.is_empty() && run.inputs.len() <= FEW {
        main = run.inputs.iter().collect();
    }
    main.into_iter().map(|input| (input.name.as_str(), input.dims.as_slice())).collect()
}

fn dimensions(dims: &[usize]) -> String {
    let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
    dims.join("×")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_keeps_what_tells_it_apart() {
        for (model, short) in [
            ("Intel(R) Xeon(R) Processor @ 2.50GHz", "Xeon"),
            ("Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz", "Xeon Platinum 8370C"),
            ("12th Gen Intel(R) Core(TM) i7-1260P", "Core i7-1260P"),
            ("AMD EPYC 7763 64-Core Processor", "EPYC 7763"),
            ("AMD Ryzen 7 5800U with Radeon Graphics", "Ryzen 7 5800U"),
            ("Apple M2 Pro", "Apple M2 Pro"),
            ("Neoverse-N1", "Neoverse-N1"),
            ("", ""),
        ] {
            assert_eq!(processor(model), short);
        }
    }
}
