//! Tables of llama-bench over many machines: one row a test, with what is known of the machine.

use super::Cells;
use crate::{
    Catalogue, Domain, Observation,
    processor::{Instructions, Traits},
};
use std::collections::HashSet;

/// Beyond this scatter a row says more about its neighbours on the host than about its machine.
const WORST_SCATTER: f64 = 0.1;
const MEGA: f64 = 1e6;
const GIGA: f64 = 1e9;
/// Bandwidth of one thread, where nothing was measured: bytes per second.
const THREAD_BANDWIDTH: f64 = 8.0 * GIGA;

/// How many features say which hardware it is: none, since hardware differs by its numbers here.
const HARDWARE: usize = 0;

/// Which feature of a GPU is the logarithm of the weights over all memory.
const FILLING: usize = 10;
/// A GPU that computes reads its weights at more than this share of its bandwidth, where reading takes this many seconds or more:
/// below, starting kernels takes longer than reading.
const LEAST_SHARE: f64 = 0.05;
const LONG_ENOUGH: f64 = 4e-4;

/// Marks all times of a machine with GPUs that took no part: its weights fit, and yet it reads them as slowly as a processor.
pub(super) fn mark_doubtful(all: &mut [Observation]) -> usize {
    let took_no_part = |one: &&Observation| {
        one.domain == Domain::GenerationOnGpus
            && one.test_kind() == "tg"
            && one.features[FILLING] < 0.0
            && one.bounds[1] >= LONG_ENOUGH
            && one.bounds[1] / one.seconds < LEAST_SHARE
    };
    let instances: HashSet<String> =
        all.iter().filter(took_no_part).map(|one| one.instance.clone()).collect();
    let mut marked = 0;
    for one in all {
        one.is_doubtful =
            one.domain == Domain::GenerationOnGpus && instances.contains(&one.instance);
        marked += usize::from(one.is_doubtful);
    }
    marked
}

/// The time of one token.
pub(super) fn observation(row: &Cells<'_>, catalogue: &Catalogue) -> Result<Observation, String> {
    let rate = row.need("tokens_per_s")?;
    if let Some(sd) = row.amount("sd")
        && sd / rate > WORST_SCATTER
    {
        return Err("its standard deviation is above 10 %".into());
    }
    let test = Test::of(row)?;
    let model = row.text("model").ok_or("`model` is empty")?.to_owned();
    let bytes = row.need("model_bytes")?;
    let parameters = row.need("parameters")?;
    match row.text("backend") {
        Some("CPU") | None => on_processor(row, &test, model, bytes, parameters),
        Some("CUDA") => on_gpu(row, &test, model, bytes, parameters, catalogue),
        Some(_) => Err("its backend is neither CPU nor CUDA".into()),
    }
    .map(|mut found| {
        found.seconds = 1.0 / rate;
        found
    })
}

/// A prompt or a generation of so many tokens.
struct Test {
    name: String,
    tokens: f64,
    is_generation: bool,
}

impl Test {
    fn of(row: &Cells<'_>) -> Result<Test, String> {
        let (prompt, generated) = (row.amount("n_prompt"), row.amount("n_gen"));
        match (prompt, generated) {
            (Some(tokens), None) => {
                Ok(Test { name: format!("pp{tokens}"), tokens, is_generation: false })
            }
            (None, Some(tokens)) => {
                Ok(Test { name: format!("tg{tokens}"), tokens, is_generation: true })
            }
            (None, None) => Err("`n_prompt` and `n_gen` are both 0".into()),
            (Some(_), Some(_)) => Err("it is a prompt and a generation in one test".into()),
        }
    }
}

/// `26214400 (1 instance)`: bytes of all, and how many there are.
fn cache(row: &Cells<'_>, name: &str) -> (f64, f64) {
    let text = row.text(name).unwrap_or_default();
    let mut numbers =
        text.split(|letter: char| !letter.is_ascii_digit()).filter(|part| !part.is_empty());
    let mut next = || numbers.next().and_then(|part| part.parse::<f64>().ok()).filter(|n| *n > 0.0);
    let bytes = next();
    let count = next();
    (bytes.unwrap_or(f64::NAN), bytes.and(count).unwrap_or(f64::NAN))
}

fn on_processor(
    row: &Cells<'_>,
    test: &Test,
    model: String,
    bytes: f64,
    parameters: f64,
) -> Result<Observation, String> {
    let machine = row.text("cpu").ok_or("`cpu` is empty")?.to_owned();
    let per_core = row.amount("threads_per_core").unwrap_or(1.0);
    let (processors, threads) = match (row.amount("cpus"), row.amount("threads")) {
        (Some(processors), Some(threads)) => (processors, threads),
        (Some(processors), None) => (processors, processors / per_core),
        (None, Some(threads)) => (threads, threads),
        (None, None) => return Err("neither `cpus` nor `threads` is a number above 0".into()),
    };
    let is_x86 = !row.text("arch").is_some_and(|arch| {
        let arch = arch.to_ascii_lowercase();
        arch.starts_with("aarch") || arch.starts_with("arm")
    });
    let has = Instructions {
        avx2: row.flag("avx2"),
        avx512: row.flag("avx512"),
        vnni: row.flag("vnni"),
        amx: row.flag("amx_int8"),
        sve: row.flag("sve"),
    };
    let traits = Traits::of(&machine, is_x86, has);
    let ram = row.amount("read_ram_mb_s").map(|rate| rate * MEGA);
    let near = row.amount("read_1mb_mb_s").map(|rate| rate * MEGA);
    let (second, seconds) = cache(row, "l2");
    let (third, thirds) = cache(row, "l3");
    let caches = [second, third].into_iter().filter(|size| !size.is_nan()).sum::<f64>();
    let pressure = (caches > 0.0).then(|| bytes / caches);
    let bandwidth = match (ram, near, pressure) {
        (_, Some(near), Some(pressure)) if pressure < 0.5 => near,
        (Some(ram), ..) => ram,
        _ => THREAD_BANDWIDTH * threads,
    };
    let peak = threads * traits.clock * traits.operations * GIGA;
    let calculation = 2.0 * parameters / peak;
    // A prompt reads the weights once for all its tokens.
    let reading = bytes / bandwidth / if test.is_generation { 1.0 } else { test.tokens.min(512.0) };
    let known = |number: Option<f64>| number.map_or(f64::NAN, f64::ln);
    let features = vec![
        f64::from(u8::from(test.is_generation)),
        test.tokens.ln(),
        bytes.ln(),
        parameters.ln(),
        processors.ln(),
        threads.ln(),
        threads / processors,
        per_core,
        known(ram),
        known(near),
        known(ram) - threads.ln(),
        known(near) - threads.ln(),
        known(ram) - known(near),
        second.ln(),
        third.ln(),
        (second / seconds).ln(),
        (third / thirds).ln(),
        thirds.ln(),
        (third / threads).ln(),
        third.ln() - bytes.ln(),
        second.ln() - bytes.ln(),
        pressure.map_or(f64::NAN, f64::ln),
        row.amount("sockets").unwrap_or(f64::NAN),
        row.amount("max_mhz").unwrap_or(f64::NAN),
        stated_clock(&machine),
        f64::from(u8::from(is_x86)),
        f64::from(u8::from(machine.contains("AMD"))),
        f64::from(u8::from(has.avx2)),
        f64::from(u8::from(has.avx512)),
        f64::from(u8::from(has.vnni)),
        f64::from(u8::from(has.amx)),
        f64::from(u8::from(has.sve)),
        traits.generation,
        traits.design,
        traits.clock,
        (peak / threads).ln(),
        peak.ln(),
        (calculation / reading).ln(),
    ];
    Ok(Observation {
        domain: Domain::GenerationOnProcessors,
        test: test.name.clone(),
        instance: format!(
            "{machine} {} {}",
            row.text("vendor").unwrap_or_default(),
            row.text("instance").unwrap_or_default()
        ),
        machine,
        family: model.clone(),
        setting: vec![test.name.clone()],
        model,
        seconds: f64::NAN,
        physics: calculation.max(reading),
        bounds: [calculation, reading],
        pressure,
        features,
        rates: [peak, bandwidth],
        maker: None,
        is_doubtful: false,
        balance_feature: None,
        hardware_features: HARDWARE,
    })
}

/// The clock in a name: `@ 2.50GHz`.
fn stated_clock(name: &str) -> f64 {
    let after = name.split('@').nth(1).unwrap_or_default().trim();
    let digits: String =
        after.chars().take_while(|letter| letter.is_ascii_digit() || *letter == '.').collect();
    digits.parse().unwrap_or(f64::NAN)
}

fn on_gpu(
    row: &Cells<'_>,
    test: &Test,
    model: String,
    bytes: f64,
    parameters: f64,
    catalogue: &Catalogue,
) -> Result<Observation, String> {
    let all = row.text("gpu").ok_or("`gpu` is empty though its backend is CUDA")?;
    let names: Vec<&str> = all.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    let first = *names.first().ok_or("`gpu` is empty though its backend is CUDA")?;
    let hardware = catalogue
        .find(first)
        .ok_or_else(|| format!("the peaks of the GPU `{first}` are not known"))?;
    let count = names.len() as f64;
    let memory = hardware.memory.unwrap_or(f64::NAN);
    let calculation = 2.0 * parameters / hardware.half;
    let reading =
        bytes / hardware.bandwidth / if test.is_generation { 1.0 } else { test.tokens.min(512.0) };
    let features = vec![
        f64::from(u8::from(test.is_generation)),
        test.tokens.ln(),
        bytes.ln(),
        parameters.ln(),
        hardware.single.ln(),
        hardware.half.ln(),
        hardware.bandwidth.ln(),
        hardware.cache.unwrap_or(f64::NAN).ln(),
        memory.ln(),
        (bytes / memory).ln(),
        (bytes / (memory * count)).ln(),
        count,
        row.amount("cpus").unwrap_or(f64::NAN).ln(),
        row.amount("read_ram_mb_s").unwrap_or(f64::NAN).ln(),
        (calculation / reading).ln(),
    ];
    Ok(Observation {
        domain: Domain::GenerationOnGpus,
        test: test.name.clone(),
        machine: hardware.name.clone(),
        instance: format!(
            "{all} {} {}",
            row.text("vendor").unwrap_or_default(),
            row.text("instance").unwrap_or_default()
        ),
        family: model.clone(),
        setting: vec![test.name.clone()],
        model,
        seconds: f64::NAN,
        physics: calculation.max(reading),
        bounds: [calculation, reading],
        pressure: hardware.cache.map(|cache| bytes / cache),
        features,
        rates: [hardware.half, hardware.bandwidth],
        maker: hardware.maker(),
        is_doubtful: false,
        balance_feature: None,
        hardware_features: HARDWARE,
    })
}
