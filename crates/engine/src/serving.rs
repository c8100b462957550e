//! A model that answers requests as they come: the queue, the batches and the clock of a load that stays in the worker.
//!
//! One thread does everything, as an engine does one thing at a time. Requests that come while it computes have been wanted by
//! the schedule all the same, and their wait counts.

use crate::{Encoded, EngineError, ServedReport, ServedTexts, ServingJob, Session, encoder::feed};
use load::{Batcher, Serve, ServedRequests};
use std::{
    collections::HashMap,
    time::{Duration, Instant},
};
use types::{Elements, HostTensor, InputRole};

/// The longest that trying batch sizes before the start may take; the largest and the smallest are always tried.
const TRYING: Duration = Duration::from_secs(5);
/// The most bytes of inputs that are kept ready, cut for each batch size.
const KEPT: usize = 256 << 20;

/// Requests on their way through a model.
pub(crate) struct Serving {
    batcher: Batcher,
    rows: Rows,
    texts: Option<Texts>,
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
        roles: &[InputRole],
        job: ServingJob,
    ) -> Result<Serving, EngineError> {
        let most = job.plan.batching.most.max(1);
        let mut rows = Rows::of(inputs, &job.by_row, most);
        let mut texts = job.texts.map(|texts| Texts::of(texts, inputs, roles));
        let began = Instant::now();
        for count in [most, 1].into_iter().chain(2..most) {
            match &mut texts {
                None => session.bind(rows.first(count).as_ref())?,
                // The longest text in every row.
                Some(texts) => {
                    session.bind(&texts.inputs(&mut rows, &vec![texts.longest(); count]))?;
                }
            }
            session.infer()?;
            if began.elapsed() > TRYING && count != most {
                break;
            }
        }
        for text in texts.as_ref().map(Texts::one_of_each_length).unwrap_or_default() {
            if began.elapsed() > TRYING {
                break;
            }
            if let Some(texts) = &texts {
                session.bind(&texts.inputs(&mut rows, &[text]))?;
                session.infer()?;
            }
        }
        precise_timers();
        Ok(Serving {
            batcher: Batcher::new(&job.plan),
            rows,
            texts,
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
                    match &mut self.texts {
                        None => session.bind(self.rows.first(count).as_ref())?,
                        Some(texts) => {
                            let chosen = texts.next(count, &mut self.served);
                            session.bind(&texts.inputs(&mut self.rows, &chosen))?;
                        }
                    }
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

/// The texts that requests bring, one after the other.
struct Texts {
    served: ServedTexts,
    roles: Vec<InputRole>,
    /// The axis of each input that is as long as the text.
    axes: Vec<Option<usize>>,
    /// Requests so far.
    count: usize,
}

impl Texts {
    fn of(served: ServedTexts, inputs: &[HostTensor], roles: &[InputRole]) -> Texts {
        let axis = |input: &HostTensor| {
            let found = served.by_length.iter().find(|(name, _)| *name == input.name)?;
            Some(found.1).filter(|axis| *axis < input.dims.len())
        };
        let axes = inputs.iter().map(axis).collect();
        Texts { axes, served, roles: roles.to_vec(), count: 0 }
    }

    /// The tokens of a text.
    fn tokens(&self, text: usize) -> &[i64] {
        self.served.tokens.get(text).map_or(&[], Vec::as_slice)
    }

    /// How long a batch of these texts is.
    fn length(&self, texts: &[usize]) -> usize {
        texts.iter().map(|text| self.tokens(*text).len()).max().unwrap_or(0).max(1)
    }

    fn longest(&self) -> usize {
        let texts = 0..self.served.tokens.len();
        texts.max_by_key(|text| self.tokens(*text).len()).unwrap_or(0)
    }

    fn one_of_each_length(&self) -> Vec<usize> {
        let mut texts: Vec<usize> = (0..self.served.tokens.len()).collect();
        texts.sort_by_key(|text| self.tokens(*text).len());
        texts.dedup_by_key(|text| self.tokens(*text).len());
        texts
    }

    /// The texts of the next requests, whose lengths are noted.
    fn next(&mut self, count: usize, into: &mut ServedRequests) -> Vec<usize> {
        let order = &self.served.order;
        let place = |at: usize| order.get(at % order.len().max(1)).map_or(0, |text| *text as usize);
        let texts: Vec<usize> = (self.count..self.count + count).map(place).collect();
        self.count += count;
        let number = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        into.tokens.extend(texts.iter().map(|text| number(self.tokens(*text).len())));
        into.length.extend(std::iter::repeat_n(number(self.length(&texts)), count));
        texts
    }

    /// The inputs of these texts together, each as long as the longest of them.
    fn inputs(&self, rows: &mut Rows, texts: &[usize]) -> Vec<HostTensor> {
        let length = self.length(texts);
        let cut = rows.first(texts.len());
        let cut = cut.as_ref().iter().zip(&self.axes);
        let mut inputs: Vec<HostTensor> = cut
            .map(|(input, axis)| match axis {
                Some(axis) => first_along(input, *axis, length),
                None => input.clone(),
            })
            .collect();
        feed(&mut inputs, &self.roles, &self.padded(texts, length));
        inputs
    }

    fn padded(&self, texts: &[usize], length: usize) -> Encoded {
        let (mut ids, mut mask) = (Vec::new(), Vec::new());
        for text in texts {
            let tokens = self.tokens(*text);
            let missing = length.saturating_sub(tokens.len());
            let (before, after) = match self.served.padding.is_left {
                true => (missing, 0),
                false => (0, missing),
            };
            let padding = |count| std::iter::repeat_n(self.served.padding.token, count);
            ids.extend(padding(before).chain(tokens.iter().copied()).chain(padding(after)));
            let nothing = |count| std::iter::repeat_n(0, count);
            let real = std::iter::repeat_n(1, tokens.len());
            mask.extend(nothing(before).chain(real).chain(nothing(after)));
        }
        let types = vec![0; ids.len()];
        Encoded { ids, mask, types, length }
    }
}

fn first_rows(tensor: &HostTensor, count: usize) -> HostTensor {
    first_along(tensor, 0, count)
}

/// The first entries of a tensor along an axis.
fn first_along(tensor: &HostTensor, axis: usize, count: usize) -> HostTensor {
    let all = tensor.dims.get(axis).copied().unwrap_or(1).max(1);
    let count = count.min(all);
    let mut dims = tensor.dims.clone();
    if let Some(dim) = dims.get_mut(axis) {
        *dim = count;
    }
    let inner: usize = tensor.dims.iter().skip(axis + 1).product();
    let (whole, part) = (all * inner, count * inner);
    let elements = match &tensor.elements {
        Elements::F32(all) => Elements::F32(starts(all, whole, part)),
        Elements::F64(all) => Elements::F64(starts(all, whole, part)),
        Elements::F16(all) => Elements::F16(starts(all, whole, part)),
        Elements::Bf16(all) => Elements::Bf16(starts(all, whole, part)),
        Elements::I64(all) => Elements::I64(starts(all, whole, part)),
        Elements::I32(all) => Elements::I32(starts(all, whole, part)),
        Elements::I16(all) => Elements::I16(starts(all, whole, part)),
        Elements::I8(all) => Elements::I8(starts(all, whole, part)),
        Elements::U8(all) => Elements::U8(starts(all, whole, part)),
        Elements::Bool(all) => Elements::Bool(starts(all, whole, part)),
    };
    HostTensor { name: tensor.name.clone(), dims, elements }
}

/// The start of every so many elements.
fn starts<T: Copy>(all: &[T], whole: usize, part: usize) -> Vec<T> {
    all.chunks_exact(whole.max(1))
        .flat_map(|chunk| &chunk[..part.min(chunk.len())])
        .copied()
        .collect()
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

    #[test]
    fn texts_of_a_batch_are_as_long_as_its_longest_and_what_was_padded_is_counted() {
        let tensor = |name: &str, dims: &[usize]| HostTensor {
            name: name.into(),
            dims: dims.to_vec(),
            elements: Elements::I64((0..dims.iter().product::<usize>() as i64).collect()),
        };
        let inputs = [tensor("ids", &[3, 4]), tensor("mask", &[3, 4]), tensor("where", &[1, 4])];
        let roles = [InputRole::TokenIds, InputRole::AttentionMask, InputRole::Other];
        let of = |is_left| ServedTexts {
            tokens: vec![vec![7], vec![8, 9], vec![1, 2, 3, 4]],
            order: vec![1, 0, 2],
            padding: crate::TextPadding { token: 99, is_left },
            by_length: ["ids", "mask"].map(|name| (name.to_owned(), 1)).to_vec(),
        };
        let mut rows = Rows::of(&inputs, &["ids".into(), "mask".into()], 3);
        let mut texts = Texts::of(of(false), &inputs, &roles);
        let mut served = ServedRequests::default();
        let chosen = texts.next(2, &mut served);
        let fed = texts.inputs(&mut rows, &chosen);
        assert_eq!((fed[0].dims.as_slice(), fed[2].dims.as_slice()), (&[2, 2][..], &[1, 4][..]));
        assert_eq!(fed[0].elements, Elements::I64(vec![8, 9, 7, 99]));
        assert_eq!(fed[1].elements, Elements::I64(vec![1, 1, 1, 0]));
        let left = Texts::of(of(true), &inputs, &roles);
        assert_eq!(left.inputs(&mut rows, &[1, 0])[0].elements, Elements::I64(vec![8, 9, 99, 7]));
        // The order begins anew.
        let chosen = texts.next(2, &mut served);
        assert_eq!(chosen, [2, 1]);
        assert_eq!((served.tokens, served.length), (vec![2, 1, 4, 2], vec![2, 2, 4, 4]));
        assert_eq!((texts.longest(), texts.one_of_each_length()), (2, vec![0, 1, 2]));
        let other = first_along(&tensor("x", &[2, 3, 2]), 1, 2);
        assert_eq!(other.elements, Elements::I64(vec![0, 1, 2, 3, 6, 7, 8, 9]));
    }
}
