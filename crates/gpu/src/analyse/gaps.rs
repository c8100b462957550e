//! Why a device had nothing to do: every gap is divided by what the program did before it launched the next work.

use super::{
    calls::{Calls, Class},
    device::Work,
    ranges::Ranges,
    seconds,
};
use std::collections::HashMap;
use types::{GpuGap, GpuGapCause};

/// After the program has waited for the device it must launch anew, and nothing is queued: so much time after the wait
/// belongs to the wait. A few launches take about this long; whatever takes longer is other work of the program.
const RESTART: u64 = 100_000;
/// The times of device and host are brought together by CUPTI to within a few microseconds: a wait may seem to return before the
/// work that it waited for has ended.
const CLOCKS: u64 = 10_000;
/// The time from a launch to the start of a kernel on an idle device, at most: longer is waiting for something.
const LAUNCH: u64 = 20_000;
/// Places that are named for each cause.
const PLACES: usize = 5;

#[derive(Default)]
struct Sum {
    count: u64,
    time: u64,
    longest: u64,
    places: HashMap<String, u64>,
}

/// Gathers gaps of one device.
pub(super) struct Gaps<'a> {
    calls: &'a Calls<'a>,
    ranges: &'a Ranges,
    sums: HashMap<GpuGapCause, Sum>,
    pub(super) total: u64,
}

impl<'a> Gaps<'a> {
    pub(super) fn new(calls: &'a Calls<'a>, ranges: &'a Ranges) -> Gaps<'a> {
        Gaps { calls, ranges, sums: HashMap::new(), total: 0 }
    }

    /// A gap from the end of `before` to the start of `next`.
    pub(super) fn add(&mut self, from: u64, before: &Work, next: &Work) {
        let to = next.start;
        self.total += to - from;
        if next.node != 0 && before.node != 0 && next.correlation == before.correlation {
            return self
                .part(GpuGapCause::Graph, to - from, || "between the nodes of a graph".into());
        }
        let Some(call) = self.calls.of_work(next.correlation) else {
            return self.part(GpuGapCause::Unknown, to - from, String::new);
        };
        let thread = call.thread;
        if call.start <= from {
            let cause = match () {
                () if next.is_copy => GpuGapCause::Copy,
                () if to - call.end.clamp(from, to) <= LAUNCH => GpuGapCause::Launch,
                () => GpuGapCause::Dependency,
            };
            let name = self.calls.name(call);
            return self.part(cause, to - from, || name.to_owned());
        }
        let launched = call.start.min(to);
        let mut at = from;
        for wait in self.calls.waits(thread, from.saturating_sub(CLOCKS), launched) {
            let is_wait = self.calls.class(wait) == Class::Wait;
            let begin = wait.start.max(at);
            let (cause, end) = match is_wait {
                true => (GpuGapCause::Synchronisation, wait.end.max(at).saturating_add(RESTART)),
                false => (GpuGapCause::Copy, wait.end),
            };
            let end = end.min(launched);
            if end <= begin {
                continue;
            }
            self.host(thread, at, begin);
            let (name, place) = (self.calls.name(wait), self.ranges.at(thread, wait.start));
            let ranges = self.ranges;
            self.part(cause, end - begin, || match ranges.place(place) {
                place if place.is_empty() => name.to_owned(),
                place => format!("{name} in {place}"),
            });
            at = end;
        }
        self.host(thread, at, launched);
        let cause = if next.is_copy { GpuGapCause::Copy } else { GpuGapCause::Launch };
        let name = self.calls.name(call);
        self.part(cause, to - launched, || name.to_owned());
    }

    /// The program did something of its own.
    fn host(&mut self, thread: u32, from: u64, to: u64) {
        if to > from {
            let (ranges, place) = (self.ranges, self.ranges.at(thread, from));
            self.part(GpuGapCause::HostLate, to - from, || match ranges.place(place) {
                place if place.is_empty() => "outside every range".into(),
                place => place,
            });
        }
    }

    fn part(&mut self, cause: GpuGapCause, time: u64, place: impl FnOnce() -> String) {
        if time == 0 {
            return;
        }
        let sum = self.sums.entry(cause).or_default();
        sum.count += 1;
        sum.time = sum.time.saturating_add(time);
        sum.longest = sum.longest.max(time);
        let place = place();
        // Ranges that are numbered by the program must not fill the memory.
        if sum.places.len() < super::MOST_ROWS || sum.places.contains_key(&place) {
            let sum = sum.places.entry(place).or_default();
            *sum = sum.saturating_add(time);
        }
    }

    /// Everything, the largest cause first.
    pub(super) fn finish(self) -> Vec<GpuGap> {
        let mut gaps: Vec<(u64, GpuGap)> = self
            .sums
            .into_iter()
            .map(|(cause, sum)| {
                let mut places: Vec<(String, u64)> =
                    sum.places.into_iter().filter(|(place, _)| !place.is_empty()).collect();
                places.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
                places.truncate(PLACES);
                let places =
                    places.into_iter().map(|(place, time)| (place, seconds(time))).collect();
                let gap = GpuGap {
                    cause,
                    count: sum.count,
                    time: seconds(sum.time),
                    longest: seconds(sum.longest),
                    places,
                };
                (sum.time, gap)
            })
            .collect();
        gaps.sort_by(|a, b| (b.0, a.1.cause).cmp(&(a.0, b.1.cause)));
        gaps.into_iter().map(|(_, gap)| gap).collect()
    }
}
