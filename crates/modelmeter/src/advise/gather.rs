//! The facts that the rules ask for, from the run, the model and this machine.

use crate::{
    Profiler, Session,
    calibrate::{self, Keep},
    choose::refusal,
    prepare::Prepared,
};
use analysis::advice::{
    Alternative, CacheChoice, Fragmentation, Known, MemoryLimit, Missing, Padding, StoredWeights,
    without,
};
use engine::CacheFormat;
use hardware::Scope;
use models::converted_fingerprint;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use store::Store;
use types::{Bytes, Ceilings, Device, Event, Mode, ModelInfo, PooledCell, Precision, Run, Weights};

/// Whether the run was made here.
pub(super) fn same_machine(run: &Run, session: &Session) -> Known<()> {
    let machine = &run.environment.machine;
    if machine.key == session.machine().key {
        return Ok(());
    }
    Err(Missing::because(format!("the run was made on another machine, `{}`", machine.hostname))
        .with_hint("`modelmeter advise` with the model's name measures it here"))
}

/// The machine's ceilings for the run's threads, in every precision that the run could compute in.
pub(super) fn ceilings(
    run: &Run,
    session: &mut Session,
    sink: &mut dyn FnMut(Event),
) -> Known<Ceilings> {
    same_machine(run, session)?;
    let device = run.cell.device;
    let failed = |error: crate::Error| Missing::because(error.to_string());
    let found = session.ceilings_for(&run.cell, sink).map_err(failed)?;
    if let Some(known) = found.as_ref().filter(|known| known.device == Device::Cpu)
        && !Precision::ALL.into_iter().all(|precision| known.has_tried(precision))
    {
        let note = "this machine's ceilings in every precision, once";
        let measured = calibrate::processors(known.threads, Scope::All, note, sink);
        return Ok(session.keep_ceilings(&measured, Keep::Higher));
    }
    found.ok_or_else(|| {
        Missing::because(format!("the ceilings of {device} were not measured"))
            .with_hint(format!("`modelmeter calibrate --device {device}` measures them"))
    })
}

/// Stored runs of this model on the run's machine, cell by cell, and those of folders that hold it in another number
/// format as if the model itself had run in that.
pub(crate) fn measured(run: &Run, store: &Store) -> Result<Vec<PooledCell>, crate::Error> {
    let own = &run.model;
    let made = store.made_models()?;
    let converted: Vec<(&ModelInfo, Precision, &str)> = made
        .iter()
        .filter_map(|model| {
            let from = model.made_from.as_ref()?;
            Some((model, from.converted_to?, from.fingerprint.as_str()))
        })
        .collect();
    let mut models = vec![own.name.clone()];
    models.extend(converted.iter().map(|(model, ..)| model.name.clone()));
    models.sort();
    models.dedup();
    let scope = store::Scope { models, ..store::Scope::default() };
    let mut found = Vec::new();
    store.newest(&scope, analysis::MOST_RUNS, |newest| found.push(newest))?;
    let seen = found.iter().flat_map(|newest| &newest.runs);
    let seen = seen.filter(|row| *row.model == *own.name).map(|row| &*row.fingerprint);
    let sources = converted.iter().map(|(_, _, source)| *source);
    let family = family(&own.fingerprint, run.cell.precision, seen.chain(sources));
    // Of what folder a row is, and of which format.
    let folders: BTreeSet<(&str, Precision)> = converted
        .iter()
        .filter(|(_, _, source)| family.contains(*source))
        .map(|(model, precision, _)| (model.fingerprint.as_str(), *precision))
        .collect();
    let is_random = matches!(own.weights, Weights::Random { .. });
    let name: Arc<str> = own.name.as_str().into();
    let mut cells = analysis::Cells::default();
    for mut newest in found {
        newest.runs.retain_mut(|row| {
            if folders.contains(&(&*row.fingerprint, row.precision)) {
                row.model = Arc::clone(&name);
                row.random_weights = is_random;
                return true;
            }
            *row.model == *name && family.contains(&*row.fingerprint)
        });
        cells.add_newest(newest);
    }
    let selection = analysis::Selection {
        machines: vec![run.environment.machine.key.clone()],
        measured_only: true,
        ..analysis::Selection::default()
    };
    Ok(analysis::analyse(&cells, &selection).cells.into_iter().map(|one| one.cell).collect())
}

/// Fingerprints of the same model in every number format; of what was `seen`, what the model may have been made from.
fn family<'a>(
    own: &str,
    precision: Precision,
    seen: impl Iterator<Item = &'a str>,
) -> BTreeSet<String> {
    let is_source = |fingerprint: &&str| converted_fingerprint(fingerprint, precision) == own;
    let mut family: BTreeSet<String> = seen.filter(is_source).map(str::to_owned).collect();
    family.insert(own.to_owned());
    let sources: Vec<String> = family.iter().cloned().collect();
    let converted = |source: &String| {
        Precision::ALL.map(|precision| converted_fingerprint(source, precision)).into_iter()
    };
    family.extend(sources.iter().flat_map(converted));
    family
}

/// Physical cores that may be used here.
pub(super) fn cores(run: &Run, session: &Session) -> Known<u32> {
    same_machine(run, session).map(|()| hardware::default_threads())
}

/// Engines that could run the model on the same device, the run's own first.
pub(super) fn alternatives(base: &Profiler, ready: &Prepared) -> Vec<Alternative> {
    let cell = &ready.cell;
    let training = cell.mode == Mode::Training;
    let trains_in = |engine: &dyn engine::Engine, precision: Precision| {
        engine.training().is_some_and(|traits| traits.precisions.contains(&precision))
    };
    let able = |engine: &dyn engine::Engine, precision: Precision| {
        (!training || trains_in(engine, precision))
            && refusal(engine, cell.device, precision, &base.places).is_none()
    };
    // A file of llama.cpp has one format more: its own.
    let own = ready.resolved().gguf.is_some().then_some(Precision::Stored);
    let formats = || Precision::ALL.into_iter().chain(own);
    let mut all: Vec<Alternative> = base
        .engines
        .iter()
        .filter(|engine| ready.fits(engine.takes()))
        .filter(|engine| cell.generation.is_none() || engine.generates())
        .map(|engine| Alternative {
            engine: engine.id().to_owned(),
            precisions: formats().filter(|p| able(engine, *p)).collect(),
            fusing: (engine.id() == cell.engine)
                .then(|| engine.fusing_options(&cell.options))
                .flatten(),
        })
        .filter(|alternative| !alternative.precisions.is_empty())
        .collect();
    all.sort_by_key(|alternative| alternative.engine != cell.engine);
    all
}

/// Formats that the run's engine can keep the cache in.
pub(super) fn cache_choices(
    run: &Run,
    ready: Result<&Prepared, &Missing>,
) -> Known<Vec<CacheChoice>> {
    if run.cell.generation.is_none() {
        return Err(Missing::because("the run does not generate"));
    }
    let ready = ready.map_err(Clone::clone)?;
    let choices = ready.engine.cache_types(&run.cell.options).into_iter();
    Ok(choices
        .map(|CacheFormat { name, bytes, options }| CacheChoice { name, bytes, options })
        .collect())
}

/// The weights of a `.gguf` file, and the engines here that run them as they are.
pub(super) fn stored_weights(base: &Profiler, ready: &Prepared) -> Option<StoredWeights> {
    let file = ready.resolved().gguf.as_ref()?;
    let bytes = Bytes(std::fs::metadata(file).ok()?.len());
    let device = ready.cell.device;
    let able = base
        .engines
        .iter()
        .filter(|engine| refusal(*engine, device, Precision::Stored, &base.places).is_none());
    let mut able: Vec<_> = able.collect();
    // What reads the file itself knows its formats best.
    able.sort_by_key(|engine| engine.takes() != engine::Takes::Gguf);
    let mut readers = base.engines.iter().filter(|one| one.takes() == engine::Takes::Gguf);
    Some(StoredWeights {
        bytes,
        engines: able.iter().map(|engine| engine.id().to_owned()).collect(),
        installable: readers.find(|one| one.installer().is_some()).map(|one| one.id().to_owned()),
    })
}

/// Real tokens of each row of a batch; texts repeat in turn.
fn lengths(run: &Run, ready: &Prepared) -> Known<Vec<usize>> {
    if run.cell.text.is_none() {
        return Err(Missing::because("no text was given"));
    }
    match ready.text_rows() {
        [] => Err(Missing::because("there is no tokenizer")),
        rows => Ok(rows.iter().copied().cycle().take(run.cell.batch_size).collect()),
    }
}

/// How full the rows are.
pub(super) fn padding(run: &Run, ready: Result<&Prepared, &Missing>) -> Known<Padding> {
    let ready = ready.map_err(Clone::clone)?;
    let mut lengths = lengths(run, ready)?;
    lengths.sort_unstable();
    let real = lengths.iter().sum::<usize>() as u64;
    let row = ready.cell.sequence_length.unwrap_or_default();
    let longest = lengths.last().copied().unwrap_or(0);
    let (short, long) = lengths.split_at(lengths.len() / 2);
    let bucket = |rows: &[usize]| (rows.len() * rows.last().copied().unwrap_or(0)) as u64;
    Ok(Padding {
        real,
        padding: (row as u64 * lengths.len() as u64).saturating_sub(real),
        longest,
        bucketed: bucket(short) + bucket(long),
    })
}

/// The texts of a batch, the shortest first.
pub(super) fn by_length(run: &Run, ready: &Prepared) -> Known<Vec<String>> {
    let lengths = lengths(run, ready)?;
    let lines = run.cell.text.iter().flat_map(|text| text.lines.iter().cycle());
    let mut rows: Vec<(usize, String)> = lengths.into_iter().zip(lines.cloned()).collect();
    rows.sort_by_key(|(length, _)| *length);
    Ok(rows.into_iter().map(|(_, line)| line).collect())
}

/// Memory the run could have used: what was free, within what the control group or the device has.
pub(crate) fn memory(run: &Run) -> Known<MemoryLimit> {
    let environment = &run.environment;
    if let Some(index) = run.cell.device.nvidia_index() {
        let gpu = environment.machine.gpus.iter().find(|gpu| gpu.index == index);
        let gpu = gpu.ok_or_else(|| Missing::because("the GPU's memory is not known"))?;
        return Ok(MemoryLimit { available: gpu.memory, whose: gpu.name.clone() });
    }
    let free = environment.memory_available.map(|bytes| (bytes.0, "this machine"));
    let group = environment.cgroup.memory.map(|bytes| (bytes.0, "the control group"));
    let (bytes, whose) = [free, group]
        .into_iter()
        .flatten()
        .min()
        .ok_or_else(|| Missing::because("the free memory is not known"))?;
    Ok(MemoryLimit { available: Bytes(bytes), whose: whose.to_owned() })
}

/// How the allocator fared, where the run has its numbers.
pub(crate) fn fragmentation(run: &Run) -> Known<Fragmentation> {
    let allocator = run.memory.as_ref().map(|memory| &memory.allocator);
    let known = allocator.and_then(|found| Some((found.in_use.value?, found.reserved.value?)));
    match known {
        Some((in_use, reserved)) => Ok(Fragmentation { in_use, reserved }),
        None => Err(without(&run.cell, "the run has no numbers of an allocator", "--memory")),
    }
}

/// Equal blocks that follow each other: the most modules that differ in one number only.
pub(super) fn blocks(model: &graph::Model) -> Option<u64> {
    let mut families: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for node in &model.graph.nodes {
        let path = graph::module_path(&node.name, &node.op_type);
        let parts: Vec<&str> = path.split('.').collect();
        for (place, part) in parts.iter().enumerate() {
            if let Ok(number) = part.parse() {
                families.entry(parts[..place].join(".")).or_default().insert(number);
            }
        }
    }
    families.values().map(|numbers| numbers.len() as u64).max().filter(|blocks| *blocks > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_in_another_format_is_the_same_model_and_another_file_is_not() {
        let int8 = converted_fingerprint("file", Precision::Int8);
        let bf16 = converted_fingerprint("file", Precision::Bf16);
        let seen = || ["file", "other", int8.as_str()].into_iter();
        let of_fp32 = family("file", Precision::Fp32, seen());
        assert!(of_fp32.contains("file") && of_fp32.contains(&int8) && of_fp32.contains(&bf16));
        assert!(!of_fp32.contains("other"));
        let of_int8 = family(&int8, Precision::Int8, seen());
        assert!(of_int8.contains("file") && of_int8.contains(&bf16), "by way of its source");
        assert!(!of_int8.contains("other"));
    }
}
