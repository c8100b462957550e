//! Which runs of a plan are worth repeating: those that something beside the measurement made invalid.

use types::{ReasonCode, Run};

/// What no repetition changes.
const LASTING: [ReasonCode; 5] = [
    ReasonCode::TooFewSamples,
    ReasonCode::NotSynchronised,
    ReasonCode::WrongPlacement,
    ReasonCode::SoftwareDevice,
    ReasonCode::AboveCeiling,
];

/// What disturbed a run that might be valid without it.
pub(crate) fn disturbance(run: &Run) -> Option<ReasonCode> {
    let main = run.verdict.main_reason().filter(|reason| reason.is_disturbance())?;
    let mut against = run.verdict.reasons.iter().filter(|reason| reason.invalidates);
    against.all(|reason| !LASTING.contains(&reason.code)).then_some(main)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Control, Executor, Expansion, Measured, PlanError, PlanReport, PlanRunner, PlanSpec,
    };
    use std::path::Path;
    use store::{Filter, Store};
    use types::{Device, Event, Machine, Mode, Reason, RunId, Task, Verdict};

    /// Hands over a stored run with the next verdict of a script; valid when the script is over.
    struct Scripted {
        run: Run,
        script: Vec<Vec<ReasonCode>>,
        measured: usize,
        store: Store,
        /// Stops the plan after so many.
        stop_after: Option<usize>,
    }

    impl Executor for Scripted {
        type Error = PlanError;

        fn machine(&self) -> &Machine {
            &self.run.environment.machine
        }

        fn check(&self) -> Result<(), PlanError> {
            Ok(())
        }

        fn expand(&mut self, spec: &PlanSpec) -> Result<Expansion, PlanError> {
            let task = |model: &String| Task {
                model: model.clone(),
                engine: "scripted".into(),
                device: Device::Cpu,
                precision: None,
                batch_size: Some(1),
                sequence_length: None,
                threads: None,
                mode: Mode::Inference,
                generation: None,
                seed: 0,
            };
            let cells = spec.models.iter().map(task).collect();
            Ok(Expansion { cells, ..Expansion::default() })
        }

        fn measure(
            &mut self,
            _: &str,
            _: &Task,
            control: &Control,
            _: &mut dyn FnMut(Event),
        ) -> Result<Option<Measured>, PlanError> {
            let against = self.script.get(self.measured).cloned().unwrap_or_default();
            let reason = |code| Reason {
                code,
                invalidates: true,
                text: "x".into(),
                hint: None,
                about: None,
            };
            let run = Run {
                id: RunId(format!("{:016x}", 0x7000 + self.measured)),
                verdict: Verdict::from_reasons(against.into_iter().map(reason).collect()),
                ..self.run.clone()
            };
            self.measured += 1;
            if self.stop_after == Some(self.measured) {
                control.stop();
            }
            self.store.insert_run(&run)?;
            Ok(Some(Measured { result: Ok(Box::new(run)), fitting: None }))
        }
    }

    /// A plan of these models whose measurements come out as scripted; the report, what was repeated, and the database.
    fn measured(
        models: &[&str],
        script: &[&[ReasonCode]],
        repeats: u32,
        stop_after: Option<usize>,
    ) -> (PlanReport, Vec<String>, Store) {
        let folder = tempfile::tempdir().unwrap().keep();
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/fixtures/v6.db");
        let database = folder.join("runs.db");
        std::fs::copy(fixture, &database).unwrap();
        let open = || Store::open(&database).unwrap();
        let first = open().runs(&Filter::default()).unwrap().remove(0);
        let mut executor = Scripted {
            run: open().run(&first.id.0).unwrap(),
            script: script.iter().map(|reasons| reasons.to_vec()).collect(),
            measured: 0,
            store: open(),
            stop_after,
        };
        let spec = PlanSpec {
            name: "night".into(),
            models: models.iter().map(|model| (*model).to_owned()).collect(),
            processes: 1,
            ..PlanSpec::default()
        };
        let runner = PlanRunner::new(spec, &database).repeats(repeats);
        let mut heard = Vec::new();
        let mut hear = |event: Event| {
            if let Event::TaskRepeated { task, repetition, most, .. } = event {
                heard.push(format!("{} {repetition}/{most}", task.model));
            }
        };
        let report = runner.run_on(&mut executor, &Control::default(), &mut hear).unwrap();
        (report, heard, open())
    }

    const BUSY: &[ReasonCode] = &[ReasonCode::BusyMachine];

    #[test]
    fn what_was_disturbed_is_measured_again_at_the_end() {
        let (report, heard, store) = measured(&["a", "b"], &[BUSY, &[]], 2, None);
        assert_eq!((report.repeated, heard.len()), (1, 1), "{heard:?}");
        assert!(heard[0].ends_with(" 1/2"), "{heard:?}");
        assert!(report.not_valid().is_empty(), "the valid run stands for the cell");
        // The disturbed run is kept beside it.
        assert_eq!(store.reasons(&[RunId("0000000000007000".into())]).unwrap().len(), 1);
    }

    #[test]
    fn a_machine_that_stays_busy_is_given_up_after_so_many_repetitions() {
        let (report, heard, _) = measured(&["a"], &[BUSY; 9], 2, None);
        assert_eq!(heard, ["a 1/2", "a 2/2"]);
        assert_eq!(report.repeated, 2);
        assert_eq!(report.not_valid().by_count(), [(ReasonCode::BusyMachine, 1)]);
        assert!(report.cells[0].lacks_valid_run());
        let (report, heard, _) = measured(&["a"], &[BUSY], 0, None);
        assert!(report.repeated == 0 && heard.is_empty(), "nobody wants it");
    }

    #[test]
    fn what_would_not_be_valid_anyway_is_not_repeated() {
        let few: &[ReasonCode] = &[ReasonCode::TooFewSamples, ReasonCode::BusyMachine];
        let slow: &[ReasonCode] = &[ReasonCode::WideInterval];
        let (report, heard, _) = measured(&["a", "b"], &[few, slow], 2, None);
        assert!(heard.is_empty() && report.repeated == 0, "{heard:?}");
        assert_eq!(report.not_valid().total(), 2);
    }

    #[test]
    fn a_plan_that_is_stopped_repeats_nothing_and_leaves_nothing_open() {
        let (report, heard, _) = measured(&["a", "b"], &[BUSY, BUSY], 2, Some(2));
        assert!(heard.is_empty() && report.stopped, "{heard:?}");
        assert_eq!(report.not_valid().total(), 2, "both keep the run they have");
    }
}
