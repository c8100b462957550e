//! Which stored runs tell how long a request takes, and how long that is.

use ::load::{DecodeStep, Lengths, MeasuredSteps, MeasuredTimes, ServiceTimes, StepTimes};
use types::{GenerationTest, Load, Mode, Phase, Protocol, Run, Scenario, Variant};

/// What runs of one way to serve a model measured.
pub(super) enum Measured {
    /// Whole answers by batch size.
    Times(MeasuredTimes),
    /// Prompts, and steps by batch and depth.
    Steps(MeasuredSteps),
}

/// What has to be the same in runs that are put together; the batch, and of a language model the test, is what differs.
/// `None` for a run that does not tell how long a request takes.
pub(super) fn group_key(run: &Run) -> Option<String> {
    let generates = run.verdict.valid && run.cell.mode == Mode::Generate;
    if !generates && service(run).is_none() {
        return None;
    }
    let cell = &run.cell;
    let workload = workload(run);
    let variant = Variant { generation: None, load: None, ..Variant::of(run) };
    Some(format!(
        "{} {} {} {} {} {:?} {} {} {generates}",
        run.model.fingerprint,
        run.environment.machine.key,
        run.engine.id,
        cell.device,
        cell.precision,
        workload,
        cell.threads,
        variant.canonical()
    ))
}

/// What one request is: its length, and what is sent to a server. Requests of different ones take different times, so that they are
/// never mixed. `None` for a language model: its requests are as long as the question says.
pub(super) fn workload(run: &Run) -> Option<(Option<usize>, Option<&str>)> {
    let cell = &run.cell;
    // A model in a worker gets requests of one length, unless they are texts.
    let is_told = |load: &&Load| load.protocol != Protocol::InProcess || load.texts.is_some();
    let content = cell.load.as_ref().filter(is_told).map(|load| load.content.as_str());
    (cell.mode != Mode::Generate).then_some((cell.sequence_length, content))
}

/// The batch that a run tells times of: one request at a time is a batch of one, however many would have fitted.
pub(super) fn batch(run: &Run) -> usize {
    match run.cell.mode {
        Mode::Load => 1,
        _ => run.cell.batch_size,
    }
}

/// How long one batch took each time: what a replica does with it, without any queue.
fn service(run: &Run) -> Option<&[u64]> {
    let nanos = match (run.cell.mode, &run.cell.load) {
        (Mode::Inference, _) => run.samples_of(run.main_phase()),
        // With one request at a time nobody waits for anybody else.
        (Mode::Load, Some(load)) if load.scenario == Scenario::SingleStream => {
            run.samples_of(Phase::Service)
        }
        _ => None,
    };
    nanos.filter(|nanos| run.verdict.valid && !nanos.is_empty())
}

/// What these runs, which belong together, measured.
pub(super) fn measured(runs: &[&Run], lengths: Lengths) -> Measured {
    if runs.iter().any(|run| run.cell.mode == Mode::Generate) {
        return Measured::Steps(MeasuredSteps::new(
            runs.iter().map(|run| steps(run)).collect(),
            lengths,
        ));
    }
    let times = |run: &&Run| Some(ServiceTimes::new([(batch(run), service(run)?.to_vec())]));
    Measured::Times(MeasuredTimes::new(runs.iter().filter_map(times).collect()))
}

/// The prompts of a prefill at the start of the cache, or the steps of a decode.
fn steps(run: &Run) -> StepTimes {
    let Some(generation) = run.cell.generation else { return StepTimes::default() };
    let (prompts, steps) = match generation.test {
        GenerationTest::Prefill if generation.depth == 0 && run.cell.batch_size == 1 => {
            let nanos = run.samples_of(Phase::Inference).unwrap_or_default().to_vec();
            (Some((generation.tokens, nanos)), None)
        }
        GenerationTest::Prefill => (None, None),
        GenerationTest::Decode => {
            let steps = run.steps().into_iter().map(|(depth, nanos)| DecodeStep { depth, nanos });
            (None, Some((run.cell.batch_size, steps.collect())))
        }
    };
    StepTimes::new(prompts, steps)
}
