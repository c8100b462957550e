//! A load on a model in a worker of ours: the worker keeps the schedule, puts requests together and answers them.

use super::{LoadTest, Outcome, run::Subject};
use crate::{
    Error, Profiler, Session,
    prepare::{self, Prepared, ReadTexts},
};
use ::load::{Batching, LastRequests, Record, ServedRequests, ServingPlan};
use endpoint::{Bodies, Prompts};
use engine::{ServedTexts, ServingJob};
use meter::Serving;
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
};
use types::{
    Cell, EngineInfo, Event, FedInput, GeneratorReport, InputRole, InputSpec, LoadBatches,
    LoadBatching, LoadPadding, LoadTexts, Mode, Protocol, Reason, Remark, RemarkCode,
    RequestOutcome, Run, Seconds, Stage,
};

/// Why the work of a load is not counted.
const BATCHES_DIFFER: &str = "batches of different sizes were answered";

impl LoadTest {
    pub(super) fn run_in_process(
        &self,
        profiler: &Profiler,
        session: &mut Session,
        stop: &AtomicBool,
        sink: &mut dyn FnMut(Event),
    ) -> Result<Run, Error> {
        profiler.check_rule()?;
        let most = self.batching.most.max(1);
        let mut profiler = profiler.clone();
        let mut prepared = prepare::prepare(&profiler.clone().batch_size(most), sink)?;
        let texts = match &self.bodies {
            Bodies::Prompts { prompts: Prompts::Given(lines), .. } => {
                let texts = prepare::read_texts(&profiler, prepared.resolved(), lines)?;
                profiler = profiler.sequence_length(texts.longest());
                prepared = prepare::prepare(&profiler.clone().batch_size(most), sink)?;
                Some((texts, hash(lines)))
            }
            _ => None,
        };
        let by_row = by_row(&profiler, &prepared, most)?;
        let launch = profiler.launch(&prepared)?;
        let refine = |_: &[(String, Vec<usize>)]| prepared.work();
        let job = prepared.job(&refine);
        let plan = self.plan();
        let served = texts.as_ref().map(|(texts, _)| {
            let by_length = by_length(&profiler, &prepared, texts.longest(), most)?;
            let expected = self.expected_requests(&plan.source).max(1);
            let order = ::load::draw_order(
                expected,
                texts.tokens.len(),
                ::load::Seeds::of(self.seed).order,
            );
            let tokens = texts.tokens.clone();
            Ok::<_, Error>(ServedTexts { tokens, order, padding: texts.padding, by_length })
        });
        let serving = ServingJob { plan: plan.clone(), by_row, texts: served.transpose()? };
        let bench = session.bench_without_ceilings();
        let started_at = clock::now();
        sink(Event::stage(Stage::Load));
        let mut last = LastRequests::default();
        let mut sent = 0;
        let mut hear = |requests: &ServedRequests, now: u64, waiting: u64| {
            sent += requests.len() as u64;
            for at in 0..requests.len() {
                last.add(&record(requests, at), false);
            }
            sink(Event::load(last.live(now, sent + waiting, waiting)));
            !stop.load(Ordering::Relaxed)
        };
        let timeout = profiler.rule.timeout;
        let served = meter::serve_requests(&job, &bench, &launch, timeout, serving, &mut hear)?;
        let outcome = Outcome {
            records: served.requests.records(&plan),
            generator: GeneratorReport {
                processor: Seconds(served.own.as_secs_f64()),
                elapsed: Seconds(served.elapsed.as_secs_f64()),
                connections: 0,
                generators: 1,
            },
            overrun: served.is_overrun,
            stopped_at: served.stopped_at,
        };
        let mut subject = self.model(&prepared, &job.inputs, &served, &job.remarks);
        if let Some((texts, hash)) = texts {
            add_texts(&mut subject, &texts, hash);
        }
        let mut run = self.as_run(subject, &outcome, started_at);
        run.settle_memory();
        Ok(run)
    }

    fn plan(&self) -> ServingPlan {
        let seeds = ::load::Seeds::of(self.seed);
        ServingPlan {
            source: self.source(seeds.gaps),
            max_requests: self.max_requests,
            until: self.until(),
            drain: u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX),
            backlog: self.backlog,
            max_in_flight: self.max_in_flight.map(|most| most as usize),
            batching: self.batching,
        }
    }

    fn model(
        &self,
        prepared: &Prepared,
        inputs: &[InputSpec],
        served: &Serving,
        remarks: &[Reason],
    ) -> Subject {
        let said = served.loaded.remarks.iter().cloned().map(Reason::from);
        let Batching { most, wait } = self.batching;
        let mut asked = self.asked(Protocol::InProcess, false, content(inputs, most));
        asked.batching = Some(LoadBatching {
            most: u32::try_from(most.max(1)).unwrap_or(u32::MAX),
            wait_micros: wait / 1000,
        });
        let engine = EngineInfo {
            id: prepared.cell.engine.clone(),
            version: served.loaded.version.clone(),
            placement: served.loaded.placement.clone(),
        };
        let unknown = ["work.flops", "work.bytes", "work.coverage"];
        Subject {
            cell: Cell {
                mode: Mode::Load,
                load: Some(asked),
                seed: self.seed,
                ..prepared.cell.clone()
            },
            model: prepared.model_info().clone(),
            target: format!("{} {} ({})", engine.id, engine.version, engine.placement),
            engine,
            unknown: unknown.map(|path| (path.to_owned(), BATCHES_DIFFER.to_owned())).into(),
            environment: served.environment.clone(),
            cold: served.cold,
            generates: false,
            streaming: false,
            is_local_server: false,
            is_in_process: true,
            random_words: None,
            server: Vec::new(),
            batches: batches(&served.requests),
            inputs: inputs.iter().map(FedInput::from).collect(),
            probes: served.probes.clone(),
            metrics: served.metrics.clone(),
            reasons: [remarks, &served.reasons].concat().into_iter().chain(said).collect(),
        }
    }
}

fn record(requests: &ServedRequests, at: usize) -> Record {
    Record {
        ended: Some(requests.ended[at]),
        lag: Some(requests.lag[at]),
        outcome: RequestOutcome::Completed,
        ..Record::not_sent(0, requests.scheduled[at])
    }
}

/// The inputs with one row a request: those that a batch of 1 has one row of.
fn by_row(profiler: &Profiler, prepared: &Prepared, most: usize) -> Result<Vec<String>, Error> {
    if most == 1 {
        return Ok(Vec::new());
    }
    let one = prepare::prepare(&profiler.clone().batch_size(1), &mut |_| {})?;
    let dims = |inputs: &[InputSpec], name: &str| {
        let input = inputs.iter().find(|input| input.name == name)?;
        let (first, rest) = input.dims.split_first()?;
        Some((*first, rest.to_vec()))
    };
    let (many, one) = (prepared.inputs(), one.inputs());
    let names = many.iter().map(|input| input.name.clone());
    let found: Vec<String> = names
        .filter(|name| {
            let (Some(many), Some(one)) = (dims(many, name), dims(one, name)) else { return false };
            many.0 == most && one.0 == 1 && many.1 == one.1
        })
        .collect();
    if found.is_empty() {
        let name = prepared.model_name();
        let text = format!("`{name}` takes no batch: `--batch-max {most}` is not possible with it");
        return Err(Error::Rule(text));
    }
    Ok(found)
}

/// A hash of texts, so that other texts are another cell.
fn hash(lines: &[String]) -> String {
    let bytes = lines.iter().flat_map(|line| line.bytes().chain([0]));
    format!("{:016x}", types::stable_hash(bytes))
}

/// The inputs that are as long as the texts, and along which axis: those that another length changes.
fn by_length(
    profiler: &Profiler,
    prepared: &Prepared,
    length: usize,
    most: usize,
) -> Result<Vec<(String, usize)>, Error> {
    let other = if length > 1 { length / 2 } else { 2 };
    let shorter = profiler.clone().sequence_length(other).batch_size(most);
    let shorter = prepare::prepare(&shorter, &mut |_| {})?;
    let axis = |input: &InputSpec| {
        let dims = &shorter.inputs().iter().find(|one| one.name == input.name)?.dims;
        let pairs = input.dims.iter().zip(dims).enumerate();
        let mut differ = pairs.filter(|(_, (one, two))| one != two);
        let (axis, (one, two)) = differ.next()?;
        let is_it = (*one, *two) == (length, other) && differ.next().is_none();
        (is_it && dims.len() == input.dims.len()).then_some((input.name.clone(), axis))
    };
    let found: Vec<(String, usize)> = prepared.inputs().iter().filter_map(axis).collect();
    let is_text = |input: &&InputSpec| input.role == InputRole::TokenIds;
    let is_found = |input: &InputSpec| {
        input.dims.len() == 2 && found.iter().any(|one| *one == (input.name.clone(), 1))
    };
    match prepared.inputs().iter().filter(is_text).all(is_found) {
        true => Ok(found),
        false => {
            let name = prepared.model_name();
            Err(Error::Rule(format!(
                "`{name}` takes one length only: `--prompts` is not possible with it"
            )))
        }
    }
}

/// What is said of texts that requests brought.
fn add_texts(subject: &mut Subject, texts: &ReadTexts, hash: String) {
    let count = texts.tokens.len() as u64;
    let (shortest, longest) = (texts.shortest() as u64, texts.longest() as u64);
    if let Some(load) = &mut subject.cell.load {
        let s = if count == 1 { "" } else { "s" };
        load.content =
            format!("{} text{s} of {shortest} to {longest} tokens", number::count(count));
        load.texts = Some(LoadTexts { count, shortest, longest, hash });
    }
    let padding = subject.batches.as_ref().and_then(|batches| batches.padding);
    if let Some(padding) = padding.filter(|padding| padding.padding > 0) {
        let text = format!(
            "{:.0} % of the tokens that were computed are padding: a batch is as long as its longest text ({} real, {} padding)",
            padding.share() * 100.0,
            number::count(padding.tokens),
            number::count(padding.padding)
        );
        subject.reasons.push(Remark::new(RemarkCode::TextPadded, text).into());
    }
    if texts.cut > 0 {
        let text = format!(
            "{} tokens of the texts were cut off to fit the length of {longest}",
            number::count(texts.cut as u64)
        );
        subject.reasons.push(Remark::new(RemarkCode::TextCut, text).into());
    }
}

/// One request in words: `128 tokens`, otherwise the shapes of its inputs.
fn content(inputs: &[InputSpec], most: usize) -> String {
    let shape = |input: &InputSpec| {
        let first = input.dims.first().map(|dim| if *dim == most { 1 } else { *dim });
        let dims: Vec<String> =
            first.iter().chain(input.dims.iter().skip(1)).map(usize::to_string).collect();
        format!("{} {}", input.name, dims.join("×"))
    };
    match inputs {
        [] => "no inputs".into(),
        [first] => shape(first),
        [first, rest @ ..] => format!("{} and {} more", shape(first), rest.len()),
    }
}

/// How many requests were answered at once.
fn batches(requests: &ServedRequests) -> Option<LoadBatches> {
    let mut sizes: BTreeMap<u64, u64> = BTreeMap::new();
    for size in &requests.batch {
        // Every request of a batch names its size.
        *sizes.entry(u64::from(*size)).or_default() += 1;
    }
    let sizes: Vec<(u64, u64)> =
        sizes.into_iter().map(|(size, count)| (size, count / size.max(1))).collect();
    let count: u64 = sizes.iter().map(|(_, count)| count).sum();
    let mean = requests.len() as f64 / count as f64;
    let tokens: u64 = requests.tokens.iter().map(|tokens| u64::from(*tokens)).sum();
    let all: u64 = requests.length.iter().map(|length| u64::from(*length)).sum();
    let padding = (!requests.tokens.is_empty())
        .then_some(LoadPadding { tokens, padding: all.saturating_sub(tokens) });
    (count > 0).then_some(LoadBatches { mean, sizes, padding })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_counted_once_each() {
        let requests = ServedRequests {
            scheduled: vec![0; 5],
            batch: vec![4, 4, 4, 4, 1],
            ..ServedRequests::default()
        };
        let found = batches(&requests).unwrap();
        assert_eq!((found.mean, found.sizes), (2.5, vec![(1, 1), (4, 1)]));
        assert_eq!(found.padding, None);
        let requests =
            ServedRequests { tokens: vec![3, 1, 2, 2, 7], length: vec![3, 3, 3, 3, 7], ..requests };
        let padding = batches(&requests).unwrap().padding.unwrap();
        assert_eq!((padding.tokens, padding.padding), (15, 4));
        assert_eq!(batches(&ServedRequests::default()), None);
    }
}
