//! The command that would prove an advice, as a person would type it.

mod load;

pub use load::load_again;

use super::facts::{Facts, Missing};
use types::{
    Cell, Change, Device, EngineOptions, Generation, GenerationTest, LimitedBy, ModelSource,
    PERCENTILE_FLOORS, Proof, Protocol, ReasonCode, Run, StopReason, Training, ValueSource,
};

/// The command that proves an advice; `None` if nothing here can.
pub(crate) fn proving(facts: &Facts<'_>, rule: &str, proof: &Proof) -> Option<String> {
    let again = || Some(format!("modelmeter advise {} --try={rule}", facts.subject));
    match proof {
        Proof::Elsewhere { .. } => None,
        Proof::Repeat | Proof::Buckets => again(),
        Proof::Change { change } => comparing(facts, change).or_else(again),
    }
}

/// `modelmeter compare …` where its flags can say it.
pub(crate) fn comparing(facts: &Facts<'_>, change: &Change) -> Option<String> {
    let cell = &facts.run.cell;
    let sizes = cell.text.is_some() || change.sequence_length.is_some();
    let told = change.options.is_some() || cell.options != EngineOptions::default();
    // One set of training options holds for all sides of a comparison.
    let trained = change.accumulation.is_some() || change.checkpointing.is_some();
    // A comparison of batch sizes is one of times per sample.
    let latency = change.batch_size.is_some() && facts.goal == Some(types::Goal::Latency);
    // The sides of a comparison are inferences, steps or tests, never loads.
    if sizes || told || trained || latency || cell.load.is_some() {
        return None;
    }
    let mut words = vec!["modelmeter compare".to_owned(), quoted(&cell.model)];
    words.push(format!("--engines {}", pair(&cell.engine, change.engine.as_deref())));
    if cell.device != Device::Cpu {
        words.push(format!("--devices {}", cell.device));
    }
    let precision = cell.precision.to_string();
    if let Some(new) = change.precision {
        words.push(format!("--precisions {}", pair(&precision, Some(new.name()))));
        words.push(format!("--baseline {precision}"));
        if change.engine.is_some() {
            // Two engines and two precisions would be four sides.
            return None;
        }
    } else {
        words.push(format!("--precisions {precision}"));
    }
    match change.batch_size {
        Some(new) => words.push(format!("--batch-sizes {},{new}", cell.batch_size)),
        None => words.push(format!("--batch-size {}", cell.batch_size)),
    }
    match change.threads {
        Some(new) => words.push(format!("--thread-counts {},{new}", cell.threads)),
        None => words.push(format!("--threads {}", cell.threads)),
    }
    words.extend(rest(cell));
    if let Some(generation) = cell.generation {
        words.push("--modes generate".into());
        words.extend(generating(generation));
    }
    if let Some(how) = &cell.training {
        words.push("--modes training".into());
        words.extend(training(how).into_iter().skip(1));
    }
    if change.precision.is_none() && change.engine.is_some() {
        words.push(format!("--baseline {}", cell.engine));
    }
    Some(words.join(" "))
}

/// More lines of text would hide a command.
const MOST_LINES: usize = 2;

/// The cell as `profile` and `advise` take it, model first.
#[must_use]
pub fn flags(cell: &Cell) -> String {
    let mut all = words(cell, MOST_LINES);
    all.extend(cell.training.iter().flat_map(training));
    if let Some(generation) = cell.generation {
        all.push("--modes generate".into());
        all.extend(generating(generation));
    }
    all.join(" ")
}

/// The command that measures the model of the cell, and takes `--layers` and its like: `modelmeter profile …`, or
/// `modelmeter generate …`. A load does not look inside, so the model of one is profiled.
#[must_use]
pub fn measuring(cell: &Cell) -> String {
    let Some(generation) = cell.generation else {
        return format!("modelmeter profile {}", flags(cell));
    };
    let mut all = vec!["modelmeter generate".to_owned()];
    all.extend(words(cell, MOST_LINES));
    all.extend(generating(generation));
    all.join(" ")
}

/// What is missing because the run was made without an option, and the command that has it; the model of a server is not
/// here to be measured.
#[must_use]
pub fn without(cell: &Cell, why: &str, option: &str) -> Missing {
    let missing = Missing::because(why);
    if cell.load.as_ref().is_some_and(|load| load.protocol != Protocol::InProcess) {
        return missing;
    }
    missing.with_hint(format!("run `{} {option}`, then advise on it", measuring(cell)))
}

/// The test as `generate`, `compare` and `advise` take it.
fn generating(generation: Generation) -> Vec<String> {
    let Generation { test, tokens, depth, .. } = generation;
    let (prompt, new) = match test {
        GenerationTest::Prefill => (tokens, 0),
        GenerationTest::Decode => (0, tokens),
    };
    let mut words = vec![format!("--prompt-tokens {prompt}"), format!("--new-tokens {new}")];
    words.extend((depth > 0).then(|| format!("--depth {depth}")));
    words
}

/// The command that measures a run again: everything that was asked, and how long it was sampled.
///
/// A run does not keep its rule of stopping; it follows from why and after how long sampling ended.
///
/// # Errors
/// Why this program cannot measure it with one command: another tool did, or the requests of a server are not stored.
pub fn again(run: &Run) -> Result<String, String> {
    if let Some(import) = &run.imported {
        return Err(format!("this run was measured by {}, which has to repeat it", import.tool));
    }
    let cell = &run.cell;
    if let Some(load) = &cell.load {
        return load_again(cell, load, run.load.as_deref());
    }
    let command = if cell.generation.is_some() { "generate" } else { "profile" };
    let mut all = vec![format!("modelmeter {command}")];
    all.extend(words(cell, usize::MAX));
    all.extend(cell.generation.into_iter().flat_map(generating));
    if cell.device == Device::Cpu {
        // What `auto` would choose depends on the machine.
        all.push("--device cpu".into());
    }
    if let ModelSource::Hub { revision } = &run.model.source {
        all.push(format!("--revision {}", quoted(revision)));
    }
    if let Some(limit) = run.environment.memory_limit {
        all.push(format!("--memory-limit {}", limit.bytes.0 >> 20));
        if matches!(limit.by, LimitedBy::Cgroup | LimitedBy::Rlimit) {
            all.push(format!("--limit-by {}", limit.by.name()));
        }
    }
    all.extend(cell.training.iter().flat_map(training));
    all.extend(length(run));
    let is_inside = |code| run.verdict.reasons.iter().any(|reason| reason.code == code);
    if is_inside(ReasonCode::NotIsolated) {
        all.push("--isolation none".into());
    }
    all.extend(run.layers.is_some().then(|| "--layers".to_owned()));
    all.extend(run.gpu.is_some().then(|| "--gpu".to_owned()));
    all.extend(run.memory.is_some().then(|| "--memory".to_owned()));
    Ok(all.join(" "))
}

/// How long it was sampled, where that is not what happens anyway.
fn length(run: &Run) -> Option<String> {
    /// Sampling ends so late where nobody says otherwise (`StoppingRule`).
    const USUAL: f64 = 30.0;
    let nanos = run.samples_of(run.main_phase())?;
    let spent = nanos.iter().map(|nanos| *nanos as f64).sum::<f64>() / 1e9;
    match run.stop {
        // Fewer can never be valid, however often they are measured.
        StopReason::RunsDone | StopReason::RunsCap => (nanos.len() as u64
            >= PERCENTILE_FLOORS[0].samples)
            .then(|| format!("--runs {}", nanos.len())),
        StopReason::Settled => None,
        StopReason::DurationCap if (spent - USUAL).abs() < USUAL * 0.1 => None,
        StopReason::DurationCap if spent >= 2.0 => Some(format!("--duration {}s", spent.round())),
        StopReason::DurationCap => Some(format!("--duration {}ms", (spent * 1e3).round())),
    }
}

/// How it is trained.
fn training(training: &Training) -> Vec<String> {
    let mut words = vec![
        "--train".to_owned(),
        format!("--optimizer {}", training.optimizer),
        format!("--loss {}", training.loss),
        format!("--learning-rate {}", training.learning_rate.0),
    ];
    if training.accumulation > 1 {
        words.push(format!("--gradient-accumulation {}", training.accumulation));
    }
    if training.checkpointing {
        words.push("--gradient-checkpointing".into());
    }
    if training.world_size > 1 {
        words.push(format!("--world-size {}", training.world_size));
    }
    words
}

/// The cell word by word; of more lines of text than so many only that they came from a file is said.
fn words(cell: &Cell, most_lines: usize) -> Vec<String> {
    let mut words = vec![
        quoted(&cell.model),
        format!("--engine {}", cell.engine),
        format!("--precision {}", cell.precision),
        format!("--batch-size {}", cell.batch_size),
    ];
    if cell.device != Device::Cpu {
        words.push(format!("--device {}", cell.device));
    }
    words.push(format!("--threads {}", cell.threads));
    words.extend(rest(cell));
    words.extend(told(&cell.options));
    match cell.text.as_ref().map(|text| text.lines.as_slice()) {
        Some(lines) if (1..=most_lines).contains(&lines.len()) => {
            words.extend(lines.iter().map(|line| format!("--text {}", quoted(line))));
        }
        Some(_) => words.push("--text-file FILE".into()),
        None => {}
    }
    words
}

/// What the engine is told beyond that.
fn told(options: &EngineOptions) -> Vec<String> {
    let mut words = Vec::new();
    words.extend(options.compile.as_ref().map(|mode| format!("--compile={}", quoted(mode))));
    let level = options.graph_optimisation;
    words.extend(level.map(|level| format!("--graph-optimization {}", level.name())));
    words.extend(options.inter_threads.map(|threads| format!("--inter-op-threads {threads}")));
    words.extend(options.hint.map(|hint| format!("--hint {}", hint.name())));
    let settings = options.settings.iter();
    words.extend(
        settings.map(|(key, value)| format!("--set {}", quoted(&format!("{key}={value}")))),
    );
    if options.allow_pickle {
        words.push("--allow-pickle".into());
    }
    words
}

/// Length, seed and fixed shapes.
fn rest(cell: &Cell) -> Vec<String> {
    let mut words = Vec::new();
    let length = cell.sequence_length.filter(|_| cell.generation.is_none());
    words.extend(length.map(|length| format!("--sequence-length {length}")));
    if cell.seed != 0 {
        words.push(format!("--seed {}", cell.seed));
    }
    for values in &cell.feed.values {
        let what = match &values.source {
            ValueSource::Range { range } => range.to_string(),
            ValueSource::File { path, .. } => format!("@{}", path.display()),
        };
        words.push(format!("--input {}", quoted(&format!("{}={what}", values.name))));
    }
    let is_file = |name: &str| {
        let mut values = cell.feed.values.iter();
        values.any(|v| v.name == name && matches!(v.source, ValueSource::File { .. }))
    };
    // A file says its shape itself.
    for input in cell.inputs.iter().filter(|input| !is_file(&input.name)) {
        let dims: Vec<String> = input.dims.iter().map(usize::to_string).collect();
        words.push(format!("--input {}", quoted(&format!("{}={}", input.name, dims.join("x")))));
    }
    words
}

fn pair(old: &str, new: Option<&str>) -> String {
    new.map_or_else(|| old.to_owned(), |new| format!("{old},{new}"))
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::scene;
    use types::{Goal, Precision, Text};

    fn proving_change(run: &types::Run, change: Change) -> String {
        let facts = scene::facts(run);
        proving(&facts, "rule", &Proof::Change { change }).unwrap()
    }

    #[test]
    fn what_compare_can_say_is_said_with_compare() {
        let run = scene::run();
        let batch = Change { batch_size: Some(16), ..Change::default() };
        assert_eq!(
            proving_change(&run, batch.clone()),
            "modelmeter compare bert --engines rten --precisions fp32 --batch-sizes 4,16 --threads 2 \
             --sequence-length 128"
        );
        let int8 = Change { precision: Some(Precision::Int8), ..Change::default() };
        assert!(proving_change(&run, int8).contains("--precisions fp32,int8 --baseline fp32"));
        let engine = Change { engine: Some("torch".into()), ..Change::default() };
        let text = proving_change(&run, engine);
        assert!(
            text.contains("--engines rten,torch") && text.ends_with("--baseline rten"),
            "{text}"
        );
        let mut facts = scene::facts(&run);
        facts.goal = Some(Goal::Latency);
        let text = proving(&facts, "batch-size", &Proof::Change { change: batch }).unwrap();
        assert_eq!(text, "modelmeter advise 7f3a --try=batch-size");
    }

    #[test]
    fn texts_and_options_are_left_to_the_run() {
        let mut run = scene::run();
        run.cell.text = Some(Text { lines: vec!["hello".into()] });
        let batch = Change { batch_size: Some(16), ..Change::default() };
        assert_eq!(proving_change(&run, batch), "modelmeter advise 7f3a --try=rule");
        let facts = scene::facts(&run);
        assert_eq!(proving(&facts, "x", &Proof::Elsewhere { why: "no".into() }), None);
    }

    #[test]
    fn the_cell_can_be_typed_again() {
        let mut run = scene::run();
        run.cell.options.compile = Some("default".into());
        run.cell.text = Some(Text { lines: vec!["how fast?".into()] });
        assert_eq!(
            flags(&run.cell),
            "bert --engine rten --precision fp32 --batch-size 4 --threads 2 --sequence-length 128 \
             --compile=default --text 'how fast?'"
        );
    }

    #[test]
    fn a_test_of_generating_is_typed_with_its_tokens() {
        let run = scene::decoding_run(0.050);
        assert_eq!(
            measuring(&run.cell),
            "modelmeter generate bert --engine rten --precision fp32 --batch-size 1 --threads 2 \
             --prompt-tokens 0 --new-tokens 1000 --depth 500"
        );
        assert!(flags(&run.cell).contains("--modes generate --prompt-tokens 0 --new-tokens 1000"));
        let batch = Change { batch_size: Some(8), ..Change::default() };
        let text = proving_change(&run, batch);
        assert!(text.contains("--batch-sizes 1,8") && text.contains("--modes generate"), "{text}");
        assert!(!text.contains("--sequence-length"), "{text}");
        assert!(again(&run).unwrap().starts_with("modelmeter generate bert "));
    }

    #[test]
    fn a_run_can_be_measured_again() {
        let mut run = scene::run();
        run.cell.model = "my model.onnx".into();
        run.cell.text = Some(Text { lines: vec!["it's".into(), "$HOME".into(), "`x`".into()] });
        run.stop = StopReason::RunsDone;
        run.samples = vec![types::Samples { phase: types::Phase::Inference, nanos: vec![7; 50] }];
        let command = again(&run).unwrap();
        assert!(
            command.starts_with("modelmeter profile 'my model.onnx' --engine rten "),
            "{command}"
        );
        assert!(
            command
                .contains(r"--text 'it'\''s' --text '$HOME' --text '`x`' --device cpu --runs 50"),
            "{command}"
        );

        run.samples[0].nanos = vec![7; 10];
        assert!(!again(&run).unwrap().contains("--runs"), "ten runs are never enough for a median");

        run.cell.text = None;
        run.stop = StopReason::DurationCap;
        run.samples[0].nanos = vec![1_000_000_000; 10];
        assert!(again(&run).unwrap().ends_with("--duration 10s"), "{:?}", again(&run));
        run.samples[0].nanos = vec![1_000_000_000; 30];
        assert!(!again(&run).unwrap().contains("--duration"), "as long as always");
    }

    #[test]
    fn odd_names_are_quoted() {
        assert_eq!(quoted("a model.onnx"), "'a model.onnx'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("org/name-v2"), "org/name-v2");
    }
}
