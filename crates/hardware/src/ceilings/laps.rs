//! The same work on several threads, started together, timed from the first start to the last end.

use std::{
    hint,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

/// Turns a waiting thread spins before it gives its processor away; about ten microseconds.
const SPINS: u32 = 5_000;

/// Runs `lap` on all threads at once, `count` times; each thread first prepares its own state.
///
/// Empty where the system refuses a thread.
pub(crate) fn laps<S>(
    threads: u32,
    count: usize,
    prepare: impl Fn() -> S + Sync,
    lap: impl Fn(&mut S, usize) + Sync,
) -> Vec<Duration> {
    let threads = threads as usize;
    let arrived = AtomicUsize::new(0);
    let abandoned = AtomicBool::new(false);
    let runner = || {
        let mut state = prepare();
        let mut spans = Vec::with_capacity(count);
        for number in 0..count {
            arrived.fetch_add(1, Ordering::AcqRel);
            if !wait_for(&arrived, threads * (number + 1), &abandoned) {
                break;
            }
            let start = Instant::now();
            lap(&mut state, number);
            spans.push((start, Instant::now()));
        }
        spans
    };
    let spans: Vec<Vec<(Instant, Instant)>> = thread::scope(|scope| {
        let mut running = Vec::with_capacity(threads);
        for _ in 0..threads {
            match thread::Builder::new().spawn_scoped(scope, runner) {
                Ok(handle) => running.push(handle),
                // Without it the others would wait for ever.
                Err(_) => abandoned.store(true, Ordering::Release),
            }
        }
        running.into_iter().filter_map(|handle| handle.join().ok()).collect()
    });
    if abandoned.load(Ordering::Acquire) || spans.len() != threads {
        return Vec::new();
    }
    (0..count)
        .filter_map(|number| {
            let start = spans.iter().map(|spans| spans[number].0).min()?;
            let end = spans.iter().map(|spans| spans[number].1).max()?;
            Some(end.duration_since(start))
        })
        .collect()
}

/// Spins, because waking a sleeping thread takes longer than the differences that matter here.
fn wait_for(arrived: &AtomicUsize, expected: usize, abandoned: &AtomicBool) -> bool {
    let mut spins = 0;
    while arrived.load(Ordering::Acquire) < expected {
        if abandoned.load(Ordering::Acquire) {
            return false;
        }
        if spins < SPINS {
            spins += 1;
            hint::spin_loop();
        } else {
            thread::yield_now();
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_runs_every_lap_and_no_lap_starts_before_the_last_ended() {
        let running = AtomicUsize::new(0);
        let seen = AtomicUsize::new(0);
        let overlaps = AtomicUsize::new(0);
        let found = laps(
            3,
            5,
            || 0usize,
            |state, number| {
                if *state != number {
                    overlaps.fetch_add(1, Ordering::Relaxed);
                }
                *state += 1;
                running.fetch_add(1, Ordering::AcqRel);
                // A thread still in lap n while another is in n + 1 would show as too many arrivals.
                if running.load(Ordering::Acquire) > 3 * (number + 1) {
                    overlaps.fetch_add(1, Ordering::Relaxed);
                }
                seen.fetch_add(1, Ordering::Relaxed);
            },
        );
        assert_eq!(found.len(), 5);
        assert_eq!(seen.load(Ordering::Relaxed), 15);
        assert_eq!(overlaps.load(Ordering::Relaxed), 0);
    }
}
