//! From what a plan asks for to the cells that can exist here, and why the others cannot.

use crate::{EngineOffer, PlanError, PlanSpec, SkipEntry};
use models::Preset;
use serde::{Deserialize, Serialize};
use types::{Device, Generation, GenerationTest, Mode, PlanLeftOut, Precision, Sampling, Task};

/// The cells of a plan, and what is not among them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Expansion {
    /// What is measured, in the plan's order: model by model.
    pub cells: Vec<Task>,
    /// What is not.
    pub left_out: Vec<PlanLeftOut>,
}

/// An engine with a device, a precision and a mode that go together.
struct Way<'a, E> {
    engine: &'a E,
    device: Device,
    precision: Option<Precision>,
    mode: Mode,
    generation: Option<Generation>,
}

impl PlanSpec {
    /// The cells that can exist on a machine with these engines.
    ///
    /// # Errors
    /// Where the plan contradicts itself or names an engine that is unknown.
    pub fn expand(&self, engines: &[impl EngineOffer]) -> Result<Expansion, PlanError> {
        self.check()?;
        let mut expansion = Expansion::default();
        let ways = self.ways(engines, &mut expansion.left_out)?;
        for model in &self.models {
            let lengths = self.lengths(model, &mut expansion.left_out);
            for way in &ways {
                for &batch_size in &open(&self.batch_sizes) {
                    // What is generated says its own lengths.
                    let lengths = if way.generation.is_some() { &[None][..] } else { &lengths };
                    for &sequence_length in lengths {
                        for &threads in &open(&self.threads) {
                            expansion.cells.push(Task {
                                model: model.clone(),
                                engine: way.engine.id().to_owned(),
                                device: way.device,
                                precision: way.precision,
                                batch_size,
                                sequence_length,
                                threads,
                                mode: way.mode,
                                generation: way.generation,
                                seed: self.seed,
                            });
                        }
                    }
                }
            }
        }
        self.leave_out_skipped(&mut expansion);
        if let Some(limit) = self.limit.filter(|&limit| limit < expansion.cells.len()) {
            let cells = expansion.cells.len() - limit;
            expansion.cells.truncate(limit);
            let why = format!("the limit is {limit} cells");
            expansion.left_out.push(PlanLeftOut {
                what: "the rest of the plan".into(),
                cells,
                why,
            });
        }
        Ok(expansion)
    }

    /// Engines with devices, precisions and modes that go together here.
    fn ways<'a, E: EngineOffer>(
        &self,
        engines: &'a [E],
        left_out: &mut Vec<PlanLeftOut>,
    ) -> Result<Vec<Way<'a, E>>, PlanError> {
        let mut ways = Vec::new();
        let each = self.models.len()
            * self.batch_sizes.len().max(1)
            * self.sequence_lengths.len().max(1)
            * self.threads.len().max(1);
        for engine in self.engines(engines)? {
            if let Some(why) = engine.absence() {
                let lists = [self.devices.len(), self.precisions.len(), self.modes.len()];
                let asked = lists.iter().map(|length| (*length).max(1)).product::<usize>() * each;
                // Nobody asked for an engine that is only among all.
                let cells = if self.engines.is_empty() { 0 } else { asked };
                left_out.push(PlanLeftOut { what: engine.id().to_owned(), cells, why });
                continue;
            }
            let devices = match self.devices.as_slice() {
                [] => engine.devices(),
                [Device::Auto] => engine.devices().into_iter().take(1).collect(),
                named => {
                    let meant = named.iter().map(|wish| engine.device_meant_by(*wish));
                    let mut devices: Vec<Device> = Vec::new();
                    // Two names may mean one device to an engine.
                    meant.for_each(|device| {
                        if !devices.contains(&device) {
                            devices.push(device);
                        }
                    });
                    devices
                }
            };
            for device in devices {
                for precision in open(&self.precisions) {
                    let wish = precision.unwrap_or_else(|| engine.usual_precision());
                    let refused = engine.refusal(device, wish);
                    for &mode in &self.modes {
                        let untrained = (mode == Mode::Training && !engine.trains())
                            .then(|| "the engine cannot train".to_owned());
                        let mute = (mode == Mode::Generate && !engine.generates())
                            .then(|| "the engine cannot generate".to_owned());
                        match refused.clone().or(untrained).or(mute) {
                            None => ways.extend(self.tests(mode).into_iter().map(|generation| {
                                Way { engine, device, precision, mode, generation }
                            })),
                            Some(why) => {
                                let words = [
                                    engine.id().to_owned(),
                                    device.to_string(),
                                    precision.map_or_else(String::new, |p| p.name().to_owned()),
                                    match mode {
                                        Mode::Inference => String::new(),
                                        other => other.name().to_owned(),
                                    },
                                ];
                                let words: Vec<String> =
                                    words.into_iter().filter(|word| !word.is_empty()).collect();
                                left_out.push(PlanLeftOut {
                                    what: words.join(" "),
                                    cells: each,
                                    why,
                                });
                            }
                        }
                    }
                }
            }
        }
        Ok(ways)
    }

    /// The tests of a mode: one that has none is measured as it is.
    fn tests(&self, mode: Mode) -> Vec<Option<Generation>> {
        if mode != Mode::Generate {
            return vec![None];
        }
        let or = |numbers: &[usize], usual: usize| match numbers {
            [] => vec![usual],
            numbers => numbers.to_vec(),
        };
        let mut tests = Vec::new();
        for depth in or(&self.depths, 0) {
            for (test, counts) in [
                (GenerationTest::Prefill, or(&self.prompt_tokens, 512)),
                (GenerationTest::Decode, or(&self.new_tokens, 128)),
            ] {
                let counts = counts.into_iter().filter(|tokens| *tokens > 0);
                let sampling = Sampling::Greedy;
                tests.extend(
                    counts.map(|tokens| Some(Generation { test, tokens, depth, sampling })),
                );
            }
        }
        tests
    }

    fn engines<'a, E: EngineOffer>(&self, here: &'a [E]) -> Result<Vec<&'a E>, PlanError> {
        if self.engines.is_empty() || self.engines.iter().any(|id| id == "all") {
            return Ok(here.iter().collect());
        }
        let find = |id: &String| {
            let known = || here.iter().map(|engine| engine.id().to_owned()).collect();
            let found = here.iter().find(|engine| engine.id() == id.to_ascii_lowercase());
            found.ok_or_else(|| PlanError::UnknownEngine { id: id.clone(), known: known() })
        };
        self.engines.iter().map(find).collect()
    }

    /// The lengths of a model; one that has no length is measured once.
    fn lengths(&self, model: &str, left_out: &mut Vec<PlanLeftOut>) -> Vec<Option<usize>> {
        let has_none = !self.sequence_lengths.is_empty()
            && Preset::find(model)
                .and_then(|preset| preset.summary().ok())
                .is_some_and(|summary| summary.length.is_none());
        if !has_none {
            return open(&self.sequence_lengths);
        }
        if self.sequence_lengths.len() > 1 {
            left_out.push(PlanLeftOut {
                what: format!("{model} at {} lengths", self.sequence_lengths.len()),
                cells: 0,
                why: "it has no length and is measured once".into(),
            });
        }
        vec![None]
    }

    fn leave_out_skipped(&self, expansion: &mut Expansion) {
        for entry in &self.skip {
            let before = expansion.cells.len();
            expansion.cells.retain(|task| !entry.matches(task));
            let cells = before - expansion.cells.len();
            let why = match cells {
                0 => "the plan skips it, but no cell of the plan matches".to_owned(),
                _ => "the plan skips it".to_owned(),
            };
            expansion.left_out.push(PlanLeftOut { what: entry.words(), cells, why });
        }
    }
}

impl SkipEntry {
    fn matches(&self, task: &Task) -> bool {
        fn agrees<T: PartialEq>(wanted: Option<&T>, value: Option<&T>) -> bool {
            wanted.is_none() || wanted == value
        }
        agrees(self.model.as_ref(), Some(&task.model))
            && agrees(self.engine.as_ref(), Some(&task.engine))
            && agrees(self.device.as_ref(), Some(&task.device))
            && agrees(self.precision.as_ref(), task.precision.as_ref())
            && agrees(self.batch_size.as_ref(), task.batch_size.as_ref())
            && agrees(self.sequence_length.as_ref(), task.sequence_length.as_ref())
            && agrees(self.mode.as_ref(), Some(&task.mode))
    }

    fn words(&self) -> String {
        let words = [
            self.model.clone(),
            self.engine.clone(),
            self.device.map(|device| device.to_string()),
            self.precision.map(|precision| precision.name().to_owned()),
            self.batch_size.map(|size| format!("batch={size}")),
            self.sequence_length.map(|length| format!("length={length}")),
            self.mode.map(|mode| mode.name().to_owned()),
        ];
        let words: Vec<String> = words.into_iter().flatten().collect();
        if words.is_empty() { "everything".into() } else { words.join(" ") }
    }
}

/// A list as wishes: an empty one is one wish for the usual.
fn open<T: Copy>(list: &[T]) -> Vec<Option<T>> {
    if list.is_empty() { vec![None] } else { list.iter().copied().map(Some).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An engine that infers and trains on the processors, or is not here.
    struct Scripted {
        id: &'static str,
        is_here: bool,
    }

    impl EngineOffer for Scripted {
        fn id(&self) -> &str {
            self.id
        }

        fn absence(&self) -> Option<String> {
            (!self.is_here).then(|| "it is not installed".to_owned())
        }

        fn devices(&self) -> Vec<Device> {
            vec![Device::Cpu]
        }

        fn device_meant_by(&self, wish: Device) -> Device {
            wish
        }

        fn refusal(&self, device: Device, _: Precision) -> Option<String> {
            (device != Device::Cpu).then(|| "runs on cpu only".to_owned())
        }

        fn trains(&self) -> bool {
            true
        }
    }

    /// An engine that runs files in their own format only.
    struct OfFiles;

    impl EngineOffer for OfFiles {
        fn id(&self) -> &str {
            "of-files"
        }

        fn absence(&self) -> Option<String> {
            None
        }

        fn devices(&self) -> Vec<Device> {
            vec![Device::Cpu]
        }

        fn device_meant_by(&self, wish: Device) -> Device {
            wish
        }

        fn refusal(&self, _: Device, precision: Precision) -> Option<String> {
            (precision != Precision::Stored).then(|| format!("runs stored, not {precision}"))
        }

        fn usual_precision(&self) -> Precision {
            Precision::Stored
        }

        fn trains(&self) -> bool {
            false
        }

        fn generates(&self) -> bool {
            true
        }
    }

    #[test]
    fn an_engine_of_one_format_runs_it_where_none_is_asked_for() {
        let spec = PlanSpec {
            engines: vec!["of-files".into()],
            modes: vec![Mode::Generate],
            new_tokens: vec![0],
            ..spec()
        };
        let expansion = spec.expand(&[OfFiles]).unwrap();
        assert_eq!(expansion.left_out, []);
        assert_eq!(expansion.cells.len(), 2 * 2);
        // The engine itself knows its format.
        assert!(expansion.cells.iter().all(|task| task.precision.is_none()));
        let spec = PlanSpec { precisions: vec![Precision::Fp32, Precision::Stored], ..spec };
        let expansion = spec.expand(&[OfFiles]).unwrap();
        assert!(expansion.cells.iter().all(|task| task.precision == Some(Precision::Stored)));
        assert_eq!(expansion.left_out.len(), 1, "{:?}", expansion.left_out);
    }

    fn engines() -> [Scripted; 2] {
        [Scripted { id: "present", is_here: true }, Scripted { id: "missing", is_here: false }]
    }

    fn spec() -> PlanSpec {
        PlanSpec {
            models: vec!["small-transformer".into(), "vit-base".into()],
            engines: vec!["present".into()],
            devices: vec![Device::Cpu],
            batch_sizes: vec![1, 8],
            ..PlanSpec::default()
        }
    }

    #[test]
    fn every_combination_is_there_once() {
        let spec = PlanSpec { sequence_lengths: vec![32, 64], ..spec() };
        let expansion = spec.expand(&engines()).unwrap();
        // A vision model has no length.
        assert_eq!(expansion.cells.len(), 2 * 2 + 2);
        let names: std::collections::HashSet<String> =
            expansion.cells.iter().map(Task::name).collect();
        assert_eq!(names.len(), 6);
        assert!(expansion.left_out[0].what.contains("vit-base"), "{:?}", expansion.left_out);
    }

    #[test]
    fn what_cannot_be_is_said_with_its_reason_and_its_number() {
        let spec = PlanSpec {
            devices: vec![Device::Cpu, Device::Cuda(0)],
            modes: vec![Mode::Inference, Mode::Training],
            ..spec()
        };
        let expansion = spec.expand(&engines()).unwrap();
        assert_eq!(expansion.cells.len(), 2 * 2 * 2);
        let cuda: Vec<&PlanLeftOut> =
            expansion.left_out.iter().filter(|left| left.what.contains("cuda")).collect();
        assert_eq!(cuda.iter().map(|left| left.cells).sum::<usize>(), 8);
        assert!(cuda.iter().all(|left| !left.why.is_empty()));
    }

    #[test]
    fn an_engine_that_nobody_knows_is_an_error_and_a_missing_one_is_left_out() {
        let wrong = PlanSpec { engines: vec!["abacus".into()], ..spec() };
        assert!(matches!(
            wrong.expand(&engines()),
            Err(PlanError::UnknownEngine { id, .. }) if id == "abacus"
        ));
        let missing = PlanSpec { engines: vec!["present".into(), "missing".into()], ..spec() };
        let expansion = missing.expand(&engines()).unwrap();
        assert!(expansion.cells.iter().all(|task| task.engine == "present"));
        assert_eq!(expansion.left_out[0].cells, 4);
    }

    #[test]
    fn skipped_cells_and_those_beyond_the_limit_are_counted() {
        let entry = SkipEntry { batch_size: Some(8), ..SkipEntry::default() };
        let nothing = SkipEntry { model: Some("gpt2".into()), ..SkipEntry::default() };
        let spec = PlanSpec { skip: vec![entry, nothing], limit: Some(1), ..spec() };
        let expansion = spec.expand(&engines()).unwrap();
        assert_eq!(expansion.cells.len(), 1);
        let told: Vec<(&str, usize)> =
            expansion.left_out.iter().map(|left| (left.what.as_str(), left.cells)).collect();
        assert_eq!(told, [("batch=8", 2), ("gpt2", 0), ("the rest of the plan", 1)]);
    }

    #[test]
    fn a_plan_without_models_or_with_zeros_is_refused() {
        for spec in [
            PlanSpec { models: Vec::new(), ..spec() },
            PlanSpec { batch_sizes: vec![0], ..spec() },
            PlanSpec { processes: 0, ..spec() },
            PlanSpec { limit: Some(0), ..spec() },
        ] {
            assert!(spec.expand(&engines()).is_err(), "{spec:?}");
        }
    }
}
