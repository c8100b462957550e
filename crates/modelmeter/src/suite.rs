//! Several models, one after the other, side by side in the end.

use crate::{Error, Profile, Profiler, Session};
use types::Event;

/// Several models to measure alike.
///
/// ```standalone_crate
/// use modelmeter::{BenchmarkSuite, Profiler, outcomes_csv};
///
/// fn main() {
///     modelmeter::serve_if_worker();
///     let quick = |model: &str| Profiler::new(model).runs(11).offline(true);
///     let mut suite = BenchmarkSuite::new([quick("small-transformer")]);
///     suite.add_model(quick("feed-forward-baseline").batch_size(32));
///     suite.add_model(quick("no-such-model"));
///     let outcomes = suite.run();
///     assert!(outcomes[0].result.is_ok() && outcomes[1].result.is_ok());
///     assert!(outcomes[2].result.is_err(), "and the others are not touched by it");
///     assert_eq!(outcomes_csv(&outcomes).lines().count(), 3);
/// }
/// ```
#[derive(Default)]
pub struct BenchmarkSuite {
    profilers: Vec<Profiler>,
}

/// What became of one model of a suite.
#[derive(Debug)]
pub struct Outcome {
    /// The model as it was named.
    pub model: String,
    /// Its profile, or why there is none; the others are not touched by it.
    pub result: Result<Profile, Error>,
}

impl BenchmarkSuite {
    /// A suite of these.
    #[must_use]
    pub fn new(profilers: impl IntoIterator<Item = Profiler>) -> BenchmarkSuite {
        BenchmarkSuite { profilers: profilers.into_iter().collect() }
    }

    /// Adds one more.
    pub fn add_model(&mut self, profiler: Profiler) -> &mut BenchmarkSuite {
        self.profilers.push(profiler);
        self
    }

    /// Measures all, in order, and remembers nothing.
    #[must_use]
    pub fn run(&self) -> Vec<Outcome> {
        self.run_in(&mut Session::without_store(), &mut |_| {})
    }

    /// Measures all in a session of your own; `sink` hears what goes on.
    pub fn run_in(&self, session: &mut Session, sink: &mut dyn FnMut(Event)) -> Vec<Outcome> {
        let measure = |profiler: &Profiler| Outcome {
            model: profiler.model().to_owned(),
            result: profiler.profile_in(session, sink),
        };
        self.profilers.iter().map(measure).collect()
    }
}

/// The runs that succeeded as CSV, header first.
#[must_use]
pub fn outcomes_csv(outcomes: &[Outcome]) -> String {
    let runs: Vec<types::Run> = outcomes
        .iter()
        .filter_map(|outcome| outcome.result.as_ref().ok())
        .map(|profile| profile.run.clone())
        .collect();
    report::runs_csv(&runs)
}
