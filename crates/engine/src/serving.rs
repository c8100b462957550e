//! A model that answers requests as they come: the queue, the batches and the clock of a load that stays in the worker.
//!
//! One thread does everything, as an engine does one thing at a time. Requests that come while it computes have been wanted by
//! the schedule all the same, and their wait counts.

use crate::{EngineError, ServedReport, ServingJob, Session};
use load::{Batcher, Serve, ServedRequests};
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};
use types::{Elements, HostTensor};

/// The longest that trying batch sizes before the start may take; the largest and the smallest are always tried.
const TRYING: Duration = Duration::from_secs(5);
/// The most bytes of inputs that are kept ready, cut for each batch size.
const KEPT: usize = 256 << 20;

/// Requests on their way through a model.
pub(crate) struct Serving {
    batcher: Batcher,
    rows: Rows,
    /// When the first request could come: when the parent first said so.
    start: Option<Instant>,
    served: ServedRequests,
    computing: Duration,
    waited: Duration,
    is_done: bool,
}

impl Serving {
    /// Tries every size of a batch, so that none is the first of its kind.
    pub(crate) fn begin(
        session: &mut dyn Session,
        inputs: &[HostTensor],
        job: ServingJob,
    ) -> Result<Serving, EngineError> {
        let most = job.plan.batching.most.max(1);
        let mut rows = Rows::of(inputs, &job.by_row, most);
        let began = Instant::now();
        for count in [most, 1].into_iter().chain(2..most) {
            session.bind(rows.first(count).as_ref())?;
            session.infer()?;
            if began.elapsed() > TRYING && count != most {
                break;
            }
        }
        precise_timers();
        Ok(Serving {
            batcher: Batcher::new(&job.plan),
            rows,
            start: None,
            served: ServedRequests::default(),
            computing: Duration::ZERO,
            waited: Duration::ZERO,
            is_done: false,
        })
    }

    /// Answers requests until the budget is reached or none comes any more.
    pub(crate) fn go_on(
        &mut self,
        session: &mut dyn Session,
        budget: Duration,
    ) -> Result<ServedReport, EngineError> {
        self.start.get_or_insert_with(Instant::now);
        let end = self.now().saturating_add(nanos(budget));
        loop {
            let now = self.now();
            if now >= end {
                break;
            }
            match self.batcher.next(now) {
                Serve::Batch(count) => {
                    let began = self.now();
                    session.bind(self.rows.first(count).as_ref())?;
                    session.infer()?;
                    std::hint::black_box(session.outputs()?.len());
                    let ended = self.now();
                    self.computing += Duration::from_nanos(ended - began);
                    self.batcher.served(count, began, ended, &mut self.served);
                }
                Serve::At(moment) => self.wait_until(moment.min(end)),
                Serve::Finished => {
                    self.is_done = true;
                    break;
                }
            }
        }
        Ok(self.report())
    }

    /// What was done since the last report.
    pub(crate) fn report(&mut self) -> ServedReport {
        let now = self.now();
        ServedReport {
            requests: std::mem::take(&mut self.served),
            now,
            waiting: self.batcher.waiting() as u64,
            own: now.saturating_sub(nanos(self.computing + self.waited)),
            is_done: self.is_done,
            is_overrun: self.batcher.is_overrun(),
        }
    }

    fn now(&self) -> u64 {
        self.start.map_or(0, |start| nanos(start.elapsed()))
    }

    fn wait_until(&mut self, moment: u64) {
        let begin = Instant::now();
        let left = moment.saturating_sub(self.now());
        std::thread::sleep(Duration::from_nanos(left));
        // What a sleep lasts too long shows as lag, and is not hidden here.
        self.waited += begin.elapsed();
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Lets sleeps end when they should: by default the kernel puts wakings within 50 microseconds together.
fn precise_timers() {
    #[cfg(target_os = "linux")]
    // SAFETY: prctl takes numbers and touches no memory of ours; where it is refused, sleeps stay coarse and the lag shows it.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1usize, 0usize, 0usize, 0usize);
    }
}

/// The inputs of the largest batch, and of every smaller one.
struct Rows {
    whole: Vec<HostTensor>,
    by_row: Vec<bool>,
    most: usize,
    kept: HashMap<usize, Vec<HostTensor>>,
    is_kept: bool,
}

/// Inputs that are kept, or were cut just now.
enum Cut<'a> {
    Kept(&'a [HostTensor]),
    New(Vec<HostTensor>),
}

impl AsRef<[HostTensor]> for Cut<'_> {
    fn as_ref(&self) -> &[HostTensor] {
        match self {
            Cut::Kept(inputs) => inputs,
            Cut::New(inputs) => inputs,
        }
    }
}

impl Rows {
    fn of(inputs: &[HostTensor], by_row: &[String], most: usize) -> Rows {
        let size = |input: &HostTensor| input.elements.len() * input.elements.element_type().size();
        let bytes: usize = inputs.iter().map(size).sum();
        Rows {
            whole: inputs.to_vec(),
            by_row: inputs.iter().map(|input| by_row.contains(&input.name)).collect(),
            most,
            kept: HashMap::new(),
            // All sizes together have half as many rows as the largest has, squared.
            is_kept: bytes.saturating_mul(most) / 2 <= KEPT,
        }
    }

    /// The inputs of so many requests: the first rows.
    fn first(&mut self, count: usize) -> Cut<'_> {
        if count >= self.most {
            return Cut::Kept(&self.whole);
        }
        if !self.is_kept {
            return Cut::New(self.cut(count));
        }
        if !self.kept.contains_key(&count) {
            let cut = self.cut(count);
            self.kept.insert(count, cut);
        }
        Cut::Kept(self.kept.get(&count).map_or(&[], Vec::as_slice))
    }

    fn cut(&self, count: usize) -> Vec<HostTensor> {
        let pairs = self.whole.iter().zip(&self.by_row);
        let cut = pairs.map(|(input, by_row)| match by_row {
            true => first_rows(input, count),
            false => input.clone(),
        });
        cut.collect()
    }
}

fn first_rows(tensor: &HostTensor, count: usize) -> HostTensor {
    let rows = tensor.dims.first().copied().unwrap_or(1).max(1);
    let count = count.min(rows);
    let mut dims = tensor.dims.clone();
    if let Some(first) = dims.first_mut() {
        *first = count;
    }
    let len = tensor.elements.len() / rows * count;
    let elements = match &tensor.elements {
        Elements::F32(all) => Elements::F32(all[..len].to_vec()),
        Elements::F64(all) => Elements::F64(all[..len].to_vec()),
        Elements::F16(all) => Elements::F16(all[..len].to_vec()),
        Elements::Bf16(all) => Elements::Bf16(all[..len].to_vec()),
        Elements::I64(all) => Elements::I64(all[..len].to_vec()),
        Elements::I32(all) => Elements::I32(all[..len].to_vec()),
        Elements::I16(all) => Elements::I16(all[..len].to_vec()),
        Elements::I8(all) => Elements::I8(all[..len].to_vec()),
        Elements::U8(all) => Elements::U8(all[..len].to_vec()),
        Elements::Bool(all) => Elements::Bool(all[..len].to_vec()),
    };
    HostTensor { name: tensor.name.clone(), dims, elements }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smaller_batch_has_the_first_rows_and_what_has_no_rows_stays() {
        let tensor = |name: &str, dims: &[usize]| HostTensor {
            name: name.into(),
            dims: dims.to_vec(),
            elements: Elements::I64((0..dims.iter().product::<usize>() as i64).collect()),
        };
        let inputs = [tensor("ids", &[4, 3]), tensor("scale", &[4])];
        let mut rows = Rows::of(&inputs, &["ids".into()], 4);
        let cut = rows.first(2);
        let [ids, scale] = cut.as_ref() else { panic!("two inputs") };
        assert_eq!(
            (ids.dims.as_slice(), &ids.elements),
            (&[2, 3][..], &Elements::I64((0..6).collect()))
        );
        assert_eq!(scale.dims, [4]);
        assert_eq!(rows.first(4).as_ref()[0].dims, [4, 3]);
    }
}
