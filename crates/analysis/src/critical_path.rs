//! The critical path of a traced run: from the end of each inference or step back to its begin, always to what had to
//! end before the rest could go on.
//!
//! A kernel begins after the kernel before it on its queue, or after its launch, whichever was later. A host that calls
//! for synchronisation waits for the last kernel that ended in the call. A thread that only stands in a module while
//! another thread works waits for that thread. Queues that wait for each other through events are not followed.

use std::collections::{BTreeMap, HashMap};
use types::{
    CriticalPath, PathLink, PathPlace, Ratio, Seconds, Span, SpanKind, Timeline, Track, Wait,
};

const NANOS: f64 = 1e9;

/// How the names of calls that wait for a device look, in lower case: `cudaDeviceSynchronize`, `hipStreamSynchronize`.
const SYNCHRONISES: &str = "synchronize";

/// What a queue does between two kernels that were both there.
const BETWEEN: &str = "between two kernels";

/// The path, and the stretches it is made of; `None` if starts are not known or nothing was traced.
#[must_use]
pub fn critical_path(timeline: &Timeline) -> Option<(CriticalPath, Vec<Span>)> {
    if timeline.laid_out {
        return None;
    }
    let runs = runs(&timeline.spans);
    let walker = Walker::of(timeline);
    let mut stretches = Vec::new();
    for run in &runs {
        walker.walk(run, &mut stretches);
    }
    if stretches.is_empty() {
        return None;
    }
    let count = runs.len() as f64;
    let total: u64 = runs.iter().map(|run| run.length).sum();
    let share = |nanos: u64| Ratio(nanos as f64 / total.max(1) as f64);
    let mean = |nanos: u64| Seconds(nanos as f64 / NANOS / count);
    let mut links: BTreeMap<(PathPlace, &str), (u64, u64)> = BTreeMap::new();
    for stretch in &stretches {
        let link = links.entry((stretch.place, stretch.name)).or_default();
        link.0 += 1;
        link.1 += stretch.end - stretch.start;
    }
    let link = |((place, name), (times, nanos)): ((PathPlace, &str), (u64, u64))| PathLink {
        place,
        name: name.to_owned(),
        times: times as f64 / count,
        time: mean(nanos),
        share: share(nanos),
    };
    let mut links: Vec<PathLink> = links.into_iter().map(link).collect();
    links.sort_by(|a, b| b.time.0.total_cmp(&a.time.0));
    let wait = |((who, on), (times, nanos)): ((u32, u32), (u64, u64))| Wait {
        who: walker.track_name(who),
        on: walker.track_name(on),
        times: times as f64 / count,
        time: mean(nanos),
        share: share(nanos),
    };
    let mut waits: Vec<Wait> = walker.waits(&runs).into_iter().map(wait).collect();
    waits.sort_by(|a, b| b.time.0.total_cmp(&a.time.0));
    let path = CriticalPath { runs: runs.len() as u64, time: mean(total), links, waits };
    Some((path, stretches.iter().rev().map(Stretch::span).collect()))
}

/// The whole inferences or steps: what is marked as such and lies in nothing else.
fn runs(spans: &[Span]) -> Vec<&Span> {
    let of = |kind: SpanKind| spans.iter().filter(move |span| span.kind == kind);
    let steps: Vec<&Span> = of(SpanKind::Step).filter(|span| span.length > 0).collect();
    if !steps.is_empty() {
        return steps;
    }
    let phases: Vec<&Span> = of(SpanKind::Phase).filter(|span| span.length > 0).collect();
    let lies_in = |span: &Span, around: &Span| {
        span.track == around.track
            && around.start <= span.start
            && end(span) <= end(around)
            && around.length > span.length
    };
    phases.iter().copied().filter(|span| !phases.iter().any(|other| lies_in(span, other))).collect()
}

fn end(span: &Span) -> u64 {
    span.start.saturating_add(span.length)
}

/// A stretch of the path.
struct Stretch<'a> {
    place: PathPlace,
    name: &'a str,
    path: &'a str,
    start: u64,
    end: u64,
}

impl Stretch<'_> {
    fn span(&self) -> Span {
        let kind = match self.place {
            PathPlace::Host => SpanKind::Operator,
            PathPlace::Launch | PathPlace::Gap => SpanKind::Launch,
            PathPlace::Device => SpanKind::Kernel,
        };
        Span {
            name: self.name.to_owned(),
            kind,
            track: 0,
            start: self.start,
            length: self.end - self.start,
            path: self.path.to_owned(),
            flow: None,
        }
    }
}

/// A stretch of a thread in which one span is the innermost.
#[derive(Clone, Copy)]
struct Piece<'a> {
    start: u64,
    end: u64,
    span: &'a Span,
}

impl Piece<'_> {
    /// Whether something was done, rather than a module stood around it.
    fn is_work(&self) -> bool {
        matches!(self.span.kind, SpanKind::Operator | SpanKind::Launch)
    }
}

struct Walker<'a> {
    tracks: &'a [Track],
    /// What each thread of the host did, in the order of time.
    threads: BTreeMap<u32, Vec<Piece<'a>>>,
    /// The kernels of each queue, in the order of their ends.
    queues: BTreeMap<u32, Vec<&'a Span>>,
    launches: HashMap<u64, &'a Span>,
}

enum Place<'a> {
    Thread(u32),
    Kernel(&'a Span),
}

impl<'a> Walker<'a> {
    fn of(timeline: &'a Timeline) -> Walker<'a> {
        let mut hosts: BTreeMap<u32, Vec<&Span>> = BTreeMap::new();
        let mut queues: BTreeMap<u32, Vec<&Span>> = BTreeMap::new();
        let mut launches = HashMap::new();
        for span in timeline.spans.iter().filter(|span| span.length > 0) {
            let tracks = if span.kind == SpanKind::Kernel { &mut queues } else { &mut hosts };
            tracks.entry(span.track).or_default().push(span);
            if let (SpanKind::Launch, Some(flow)) = (span.kind, span.flow) {
                launches.insert(flow, span);
            }
        }
        queues.values_mut().for_each(|queue| queue.sort_by_key(|span| (end(span), span.start)));
        let threads = hosts.into_iter().map(|(track, spans)| (track, pieces(spans))).collect();
        Walker { tracks: &timeline.tracks, threads, queues, launches }
    }

    /// Follows one run from its end to its begin.
    fn walk(&self, run: &'a Span, stretches: &mut Vec<Stretch<'a>>) {
        let (mut now, mut place) = (end(run), Place::Thread(run.track));
        let mut push = |place: PathPlace, span: Option<&'a Span>, from: u64, to: u64| {
            let from = from.max(run.start);
            if from < to {
                let (name, path) = span.map_or((BETWEEN, ""), |span| (&span.name, &span.path));
                stretches.push(Stretch { place, name, path, start: from, end: to });
            }
        };
        while now > run.start {
            match place {
                Place::Thread(track) => {
                    let Some(piece) = self.piece(track, now) else {
                        // Nothing is known of this thread here: the run's own thread goes on.
                        if track == run.track {
                            break;
                        }
                        place = Place::Thread(run.track);
                        continue;
                    };
                    let waited = self.waited_for(&piece, track, now);
                    let (until, next) = waited.unwrap_or((piece.start, Place::Thread(track)));
                    push(PathPlace::Host, Some(piece.span), until, now);
                    (now, place) = (until, next);
                }
                Place::Kernel(kernel) => {
                    push(PathPlace::Device, Some(kernel), kernel.start, now);
                    now = kernel.start;
                    let before = self.ended(kernel.track, now);
                    let launch = kernel.flow.and_then(|flow| self.launches.get(&flow).copied());
                    let launch = launch.filter(|launch| launch.start < now);
                    place = match (before, launch) {
                        (Some(before), launch)
                            if launch.is_none_or(|launch| launch.start <= end(before)) =>
                        {
                            push(PathPlace::Gap, None, end(before), now);
                            now = end(before);
                            Place::Kernel(before)
                        }
                        (_, Some(launch)) => {
                            push(PathPlace::Launch, Some(launch), launch.start, now);
                            now = launch.start;
                            Place::Thread(launch.track)
                        }
                        (_, None) => Place::Thread(run.track),
                    };
                }
            }
        }
    }

    /// The piece that a thread was in just before a moment.
    fn piece(&self, track: u32, now: u64) -> Option<Piece<'a>> {
        let pieces = self.threads.get(&track)?;
        let at = pieces.partition_point(|piece| piece.start < now).checked_sub(1)?;
        Some(pieces[at]).filter(|piece| piece.end >= now)
    }

    /// The last kernel of a queue that ended until a moment.
    fn ended(&self, track: u32, now: u64) -> Option<&'a Span> {
        let queue = self.queues.get(&track)?;
        queue[..queue.partition_point(|span| end(span) <= now)].last().copied()
    }

    /// What a thread waited for inside a piece: until when, and where it was.
    fn waited_for(&self, piece: &Piece<'a>, track: u32, now: u64) -> Option<(u64, Place<'a>)> {
        match piece.span.kind {
            SpanKind::Operator | SpanKind::Launch => {
                if !piece.span.name.to_lowercase().contains(SYNCHRONISES) {
                    return None;
                }
                let last = self.queues.keys().filter_map(|queue| self.ended(*queue, now));
                let last = last.max_by_key(|kernel| end(kernel))?;
                (end(last) > piece.start).then(|| (end(last), Place::Kernel(last)))
            }
            // Nothing of its own to do: another thread may be at work for it.
            SpanKind::Step | SpanKind::Phase | SpanKind::Module => {
                let others = self.threads.iter().filter(|(other, _)| **other != track);
                let worked = others.filter_map(|(other, pieces)| {
                    let at = pieces.partition_point(|piece| piece.start < now).checked_sub(1)?;
                    pieces[at].is_work().then(|| (pieces[at].end.min(now), *other))
                });
                let (until, other) = worked.max()?;
                (until > piece.start).then_some((until, Place::Thread(other)))
            }
            SpanKind::Kernel => None,
        }
    }

    /// How often and how long one track waited for another, by their numbers.
    fn waits(&self, runs: &[&'a Span]) -> BTreeMap<(u32, u32), (u64, u64)> {
        let mut waits: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
        let mut add = |who: u32, on: u32, nanos: u64| {
            let wait = waits.entry((who, on)).or_default();
            wait.0 += 1;
            wait.1 += nanos;
        };
        let around = |at: u64| runs.iter().find(|run| run.start <= at && at < end(run));
        for (track, queue) in &self.queues {
            for (place, kernel) in queue.iter().enumerate() {
                let launch = kernel.flow.and_then(|flow| self.launches.get(&flow));
                let (Some(run), Some(launch)) = (around(kernel.start), launch) else { continue };
                let before = place.checked_sub(1).map_or(run.start, |at| end(queue[at]));
                let free = before.max(run.start);
                // Only where the queue was empty before the launch came.
                if launch.start > free && kernel.start > free {
                    add(*track, launch.track, kernel.start - free);
                }
            }
        }
        for (track, pieces) in &self.threads {
            for piece in pieces {
                if around(piece.start).is_none() {
                    continue;
                }
                match self.waited_for(piece, *track, piece.end) {
                    Some((until, Place::Kernel(kernel))) => {
                        add(*track, kernel.track, until - piece.start);
                    }
                    Some((_, Place::Thread(other))) => {
                        let busy = self.worked(other, piece.start, piece.end);
                        if busy > 0 {
                            add(*track, other, busy);
                        }
                    }
                    None => {}
                }
            }
        }
        waits
    }

    /// How long a thread worked in a stretch of time.
    fn worked(&self, track: u32, from: u64, to: u64) -> u64 {
        let pieces = self.threads.get(&track).map_or(&[][..], Vec::as_slice);
        let first = pieces.partition_point(|piece| piece.end <= from);
        let inside = pieces[first..].iter().take_while(|piece| piece.start < to);
        inside
            .filter(|piece| piece.is_work())
            .map(|piece| piece.end.min(to) - piece.start.max(from))
            .sum()
    }

    fn track_name(&self, track: u32) -> String {
        let track = self.tracks.get(track as usize);
        track.map_or_else(String::new, |track| format!("{} {}", track.group, track.name))
    }
}

/// A thread's time cut so that each piece has one innermost span.
fn pieces(mut spans: Vec<&Span>) -> Vec<Piece<'_>> {
    spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.length)));
    let mut pieces = Vec::new();
    let mut open: Vec<&Span> = Vec::new();
    let mut at = 0;
    for span in spans {
        close(&mut open, span.start, &mut at, &mut pieces);
        if let Some(around) = open.last() {
            cut(at, span.start, around, &mut pieces);
        }
        at = span.start;
        open.push(span);
    }
    close(&mut open, u64::MAX, &mut at, &mut pieces);
    pieces
}

/// Ends the spans that are over at a moment.
fn close<'a>(open: &mut Vec<&'a Span>, now: u64, at: &mut u64, pieces: &mut Vec<Piece<'a>>) {
    while let Some(span) = open.pop_if(|span| end(span) <= now) {
        cut(*at, end(span), span, pieces);
        *at = end(span).max(*at);
    }
}

fn cut<'a>(start: u64, end: u64, span: &'a Span, pieces: &mut Vec<Piece<'a>>) {
    if start < end {
        pieces.push(Piece { start, end, span });
    }
}

/// Links of a path that are not told one by one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RestOfPath {
    /// How many.
    pub links: usize,
    /// How often they are on the path of a run, together.
    pub times: f64,
    /// Their time in a run.
    pub time: Seconds,
    /// Their share of the path.
    pub share: Ratio,
}

/// So many of the longest links, and the others together.
#[must_use]
pub fn longest_links(path: &CriticalPath, most: usize) -> (&[PathLink], Option<RestOfPath>) {
    let (told, rest) = path.links.split_at(path.links.len().min(most));
    let sum = |of: fn(&PathLink) -> f64| rest.iter().map(of).sum::<f64>();
    let rest = (!rest.is_empty()).then(|| RestOfPath {
        links: rest.len(),
        times: sum(|link| link.times),
        time: Seconds(sum(|link| link.time.0)),
        share: Ratio(sum(|link| link.share.0)),
    });
    (told, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use SpanKind::{Kernel, Launch, Module, Operator, Phase, Step};

    fn span(kind: SpanKind, track: u32, name: &str, start: u64, end: u64) -> Span {
        let (name, path) = (name.to_owned(), String::new());
        Span { name, kind, track, start, length: end - start, path, flow: None }
    }

    fn flowing(flow: u64, span: Span) -> Span {
        Span { flow: Some(flow), ..span }
    }

    fn timeline(spans: Vec<Span>) -> Timeline {
        let track = |name: &str| Track { group: "g".into(), name: name.into() };
        let tracks = vec![track("main"), track("queue"), track("other")];
        Timeline { tracks, spans, ..Timeline::default() }
    }

    fn told(path: &CriticalPath) -> Vec<(PathPlace, &str, u64)> {
        let nanos = |link: &PathLink| (link.time.0 * NANOS * path.runs as f64).round() as u64;
        path.links.iter().map(|link| (link.place, link.name.as_str(), nanos(link))).collect()
    }

    #[test]
    fn one_thread_waits_for_nobody() {
        let (path, spans) = critical_path(&timeline(vec![
            span(Phase, 0, "inference", 0, 100),
            span(Module, 0, "layer", 10, 90),
            span(Operator, 0, "product", 20, 80),
        ]))
        .unwrap();
        assert_eq!(
            told(&path),
            [
                (PathPlace::Host, "product", 60),
                (PathPlace::Host, "inference", 20),
                (PathPlace::Host, "layer", 20)
            ]
        );
        assert!(path.waits.is_empty());
        let starts: Vec<u64> = spans.iter().map(|span| span.start).collect();
        assert_eq!(starts, [0, 10, 20, 80, 90]);
    }

    #[test]
    fn a_device_that_waits_for_launches_puts_the_host_on_the_path() {
        let (path, _) = critical_path(&timeline(vec![
            span(Phase, 0, "inference", 0, 100),
            span(Operator, 0, "first", 0, 40),
            flowing(1, span(Launch, 0, "launch", 10, 20)),
            span(Operator, 0, "second", 40, 80),
            flowing(2, span(Launch, 0, "launch", 50, 60)),
            span(Operator, 0, "deviceSynchronize", 80, 100),
            flowing(1, span(Kernel, 1, "a", 22, 30)),
            flowing(2, span(Kernel, 1, "b", 64, 95)),
        ]))
        .unwrap();
        // From the end: 5 of the call, kernel b, its launch, the host before it, which never waited for a.
        assert_eq!(
            told(&path),
            [
                (PathPlace::Device, "b", 31),
                (PathPlace::Host, "first", 30),
                (PathPlace::Launch, "launch", 14),
                (PathPlace::Host, "launch", 10),
                (PathPlace::Host, "second", 10),
                (PathPlace::Host, "deviceSynchronize", 5),
            ]
        );
        let waits: Vec<(&str, &str, f64)> = path
            .waits
            .iter()
            .map(|wait| (wait.who.as_str(), wait.on.as_str(), (wait.time.0 * NANOS).round()))
            .collect();
        assert_eq!(waits, [("g queue", "g main", 22.0 + 34.0), ("g main", "g queue", 15.0)]);
    }

    #[test]
    fn a_device_that_always_has_work_is_the_path() {
        let mut spans =
            vec![span(Step, 0, "step", 0, 100), span(Operator, 0, "streamSynchronize", 12, 100)];
        for n in 0..4 {
            let at = n * 3;
            spans.push(flowing(n, span(Launch, 0, "launch", at, at + 2)));
            spans.push(flowing(n, span(Kernel, 1, "work", 2 + n * 24, 24 + n * 24)));
        }
        let (path, _) = critical_path(&timeline(spans)).unwrap();
        assert_eq!(
            told(&path),
            [
                (PathPlace::Device, "work", 88),
                (PathPlace::Gap, BETWEEN, 6),
                (PathPlace::Host, "streamSynchronize", 4),
                (PathPlace::Launch, "launch", 2),
            ]
        );
        assert!((path.share(PathPlace::Device) - 0.88).abs() < 1e-12);
    }

    #[test]
    fn a_thread_that_stands_still_waits_for_the_one_at_work() {
        let (path, _) = critical_path(&timeline(vec![
            span(Step, 0, "step", 0, 100),
            span(Operator, 0, "forward", 0, 30),
            span(Operator, 2, "backward", 35, 90),
        ]))
        .unwrap();
        assert_eq!(
            told(&path),
            [
                (PathPlace::Host, "backward", 55),
                (PathPlace::Host, "forward", 30),
                (PathPlace::Host, "step", 15)
            ]
        );
        assert_eq!((path.waits[0].who.as_str(), path.waits[0].on.as_str()), ("g main", "g other"));
    }

    #[test]
    fn nothing_is_told_where_starts_are_not_known() {
        let laid = timeline(vec![span(Phase, 0, "inference", 0, 9)]);
        assert!(critical_path(&Timeline { laid_out: true, ..laid }).is_none());
        assert!(critical_path(&timeline(Vec::new())).is_none());
    }
}
