//! Advice on a model or a stored run: measure, sweep, ask the rules, prove.

mod gather;
mod prove;
mod sweep;

pub(crate) use gather::{fragmentation, measured, memory};

use crate::{
    Error, GivenValues, Inside, Profiler, Session, TrainingRequest, prepare, prepare::Prepared,
};
use analysis::advice::{Facts, Known, Missing, flags, judge_all};
use std::time::{Duration, Instant};
use types::{
    AdviceReport, Bytes, Event, Goal, Remark, RemarkCode, Run, Seconds, SweepPoint, Warmup,
};

/// Time for measuring where nobody says otherwise: a dozen short runs of a middling model.
const BUDGET: Duration = Duration::from_secs(60);
/// The label of runs that were made for advice.
const TAG: &str = "advise";

/// Which advice is tried.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Proofs {
    /// None.
    #[default]
    None,
    /// Everything that can be proved here.
    All,
    /// What these rules say.
    Rules(Vec<String>),
}

impl Proofs {
    fn wants(&self, rule: &str) -> bool {
        match self {
            Proofs::None => false,
            Proofs::All => true,
            Proofs::Rules(rules) => rules.iter().any(|wanted| wanted == rule),
        }
    }
}

/// What is looked at.
#[derive(Debug, Clone)]
enum Subject {
    /// A model, to be measured first.
    Model,
    /// A run that was stored before.
    Run(Box<Run>),
}

/// Looks at a model or a run and says what to do about it.
///
/// ```standalone_crate
/// use modelmeter::{Advisor, Profiler, Session};
/// use std::time::Duration;
///
/// fn main() -> Result<(), modelmeter::Error> {
///     modelmeter::serve_if_worker();
///     let report = Advisor::new(Profiler::new("small-transformer").offline(true))
///         .budget(Duration::from_secs(4))
///         .advise(&mut Session::without_store(), &mut |_| {})?;
///     assert!(report.says_something());
///     for advice in &report.advice {
///         assert!(!advice.evidence.is_empty(), "no advice without a number");
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Advisor {
    profiler: Profiler,
    subject: Subject,
    goal: Option<Goal>,
    budget: Duration,
    proofs: Proofs,
}

impl Advisor {
    /// Advice on what this measures.
    #[must_use]
    pub fn new(profiler: Profiler) -> Advisor {
        Advisor {
            profiler,
            subject: Subject::Model,
            goal: None,
            budget: BUDGET,
            proofs: Proofs::None,
        }
    }

    /// Advice on a run that was stored before; `profiler` says where engines and models are found, the run says the
    /// rest.
    #[must_use]
    pub fn of_run(run: Run, profiler: Profiler) -> Advisor {
        let profiler = like(profiler, &run);
        Advisor { subject: Subject::Run(Box::new(run)), ..Advisor::new(profiler) }
    }

    /// What shall get better first.
    #[must_use]
    pub fn goal(mut self, goal: Goal) -> Advisor {
        self.goal = Some(goal);
        self
    }

    /// Time for measuring before the advice, and once more for all proofs together; about, not exactly.
    #[must_use]
    pub fn budget(mut self, budget: Duration) -> Advisor {
        self.budget = budget;
        self
    }

    /// Tries what can be proved here.
    #[must_use]
    pub fn proofs(mut self, proofs: Proofs) -> Advisor {
        self.proofs = proofs;
        self
    }

    /// Measures, asks the rules and, where asked, proves; `sink` hears what goes on.
    ///
    /// # Errors
    /// When a model cannot be measured at all, or the database fails. A stored run is always judged.
    pub fn advise(
        &self,
        session: &mut Session,
        sink: &mut dyn FnMut(Event),
    ) -> Result<AdviceReport, Error> {
        self.check()?;
        let begin = Instant::now();
        let started_at = clock::now();
        let run = match &self.subject {
            Subject::Run(run) => run.as_ref().clone(),
            Subject::Model => self.measure(session, sink)?,
        };
        // From here on everything is about this very cell.
        let base = like(self.profiler.clone(), &run).tag(TAG);
        let ready = self.ready(&base, &run, session, sink);
        let mut remarks = Vec::new();
        if let Err(missing) = &ready {
            remarks.push(Remark::new(
                RemarkCode::NothingMeasured,
                format!("nothing new was measured: {}", missing.why),
            ));
        }
        let left = self.budget.saturating_sub(begin.elapsed()).max(self.budget / 2);
        let sweep = match &ready {
            Ok(ready) => sweep::sweep(&base, &run, ready, left, session, sink),
            Err(missing) => Err(missing.clone()),
        };
        remarks.extend(sweep.as_ref().ok().and_then(|found| found.remark.clone()));
        let sweep: Known<Vec<SweepPoint>> = sweep.map(|found| found.points);
        let facts = Facts {
            run: &run,
            goal: self.goal,
            ceilings: gather::ceilings(&run, session, sink),
            alternatives: ready
                .as_ref()
                .map(|ready| gather::alternatives(&base, ready))
                .map_err(Clone::clone),
            cores: gather::cores(&run, session),
            padding: gather::padding(&run, ready.as_ref()),
            memory: gather::memory(&run),
            fragmentation: gather::fragmentation(&run),
            cache_choices: gather::cache_choices(&run, ready.as_ref()),
            stored_weights: ready.as_ref().ok().and_then(|r| gather::stored_weights(&base, r)),
            blocks: ready.as_ref().ok().and_then(|ready| gather::blocks(ready.graph())),
            measured: session
                .store()
                .map_or_else(|| Ok(Vec::new()), |store| gather::measured(&run, store))?,
            subject: subject(&run, session),
            sweep,
        };
        let mut judged = judge_all(&facts);
        if self.proofs != Proofs::None {
            let stand = prove::Stand { base: &base, run: &run, budget: self.budget };
            let ready = ready.as_ref().map_err(Clone::clone);
            prove::prove(&mut judged.advice, &self.proofs, &stand, ready, session, sink);
        }
        let metric = |key: &str| run.metric(key).and_then(|metric| metric.value);
        Ok(AdviceReport {
            started_at,
            elapsed: begin.elapsed(),
            latency: run.headline().map(|summary| Seconds(summary.median)),
            samples_per_second: metric("throughput.samples"),
            peak_memory: metric(types::key::MEMORY_PEAK).map(|bytes| Bytes(bytes as u64)),
            goal: self.goal,
            sweep: facts.sweep.clone().unwrap_or_default(),
            advice: judged.advice,
            fine: judged.fine,
            not_judged: judged.not_judged,
            beside: judged.beside,
            remarks,
            run: run.id,
            cell: run.cell,
            model: run.model,
            engine: run.engine,
            environment: run.environment,
            verdict: run.verdict,
        })
    }

    fn check(&self) -> Result<(), Error> {
        if self.budget.is_zero() {
            return Err(Error::Rule("the budget must be longer than 0".into()));
        }
        if let Proofs::Rules(rules) = &self.proofs {
            let known: Vec<&str> = analysis::advice::RULES.iter().map(|rule| rule.id()).collect();
            if let Some(unknown) = rules.iter().find(|rule| !known.contains(&rule.as_str())) {
                let known = known.join(", ");
                return Err(Error::Rule(format!("unknown rule `{unknown}`; known rules: {known}")));
            }
        }
        Ok(())
    }

    /// The run that everything rests on; at most a quarter of the budget goes into its samples.
    fn measure(&self, session: &mut Session, sink: &mut dyn FnMut(Event)) -> Result<Run, Error> {
        let mut profiler = self.profiler.clone();
        let most = (self.budget / 4).max(Duration::from_secs(1));
        profiler.rule.max_duration = profiler.rule.max_duration.min(most);
        profiler.rule.min_duration = profiler.rule.min_duration.min(most);
        if let Warmup::Settle { cap } = &mut profiler.rule.warmup {
            *cap = (*cap).min(most);
        }
        // Several rules ask where the time goes.
        profiler.inside.layers = true;
        Ok(profiler.profile_in(session, sink)?.run)
    }

    /// The cell of the run, ready to be measured again; or why nothing new can be measured.
    fn ready(
        &self,
        base: &Profiler,
        run: &Run,
        session: &Session,
        sink: &mut dyn FnMut(Event),
    ) -> Known<Prepared> {
        gather::same_machine(run, session)?;
        let ready =
            prepare::prepare(base, sink).map_err(|error| Missing::because(error.to_string()))?;
        if ready.model_info().fingerprint != run.model.fingerprint {
            let why = format!("`{}` has changed since the run was made", run.cell.model);
            return Err(
                Missing::because(why).with_hint("run `modelmeter advise` on the model itself")
            );
        }
        Ok(ready)
    }
}

/// The measurement of exactly this run's cell.
fn like(profiler: Profiler, run: &Run) -> Profiler {
    let cell = &run.cell;
    let mut profiler =
        Profiler { model: cell.model.clone(), inputs: cell.inputs.clone(), ..profiler }
            .engine(&cell.engine)
            .device(cell.device)
            .precision(cell.precision)
            .batch_size(cell.batch_size)
            .threads(cell.threads)
            .seed(cell.seed)
            .options(cell.options.clone());
    // The length of a test of generating follows from the test.
    profiler.sequence_length = cell.sequence_length.filter(|_| cell.generation.is_none());
    profiler.generation = cell.generation;
    profiler.training = cell.training.as_ref().map(TrainingRequest::from);
    (profiler.values, profiler.data) = GivenValues::of(&cell.feed);
    profiler.text.clone_from(&cell.text);
    // Sweeps and proofs are about time and memory from outside.
    profiler.inside = Inside::default();
    profiler
}

/// How `advise` is told to look at the same again.
fn subject(run: &Run, session: &Session) -> String {
    let stored = session.stored_as(&run.id);
    stored.unwrap_or_else(|| flags(&run.cell))
}
