//! How much of a processor's time goes to others while programs only count.
//!
//! One thread for each processor reads the clock over and over. Two readings lie tens of nanoseconds apart; where they lie
//! farther, somebody else had the processor: another process, an interrupt, the hypervisor.

use std::{
    thread,
    time::{Duration, Instant},
};
use types::{Jitter, Seconds};

/// From this distance on, two readings were interrupted: far above what reading the clock costs.
const INTERRUPTED: Duration = Duration::from_micros(5);
/// An interruption so long is counted as a pause that people notice.
const PAUSE: Duration = Duration::from_micros(100);

/// What one thread lost.
#[derive(Debug, Clone, Copy, Default)]
struct Lost {
    time: Duration,
    longest: Duration,
    pauses: u64,
}

/// Counts on every processor for so long.
#[must_use]
pub fn jitter(watch: Duration) -> Jitter {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let lost: Vec<Lost> = thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(move || count(watch))).collect();
        all.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let seconds = watch.as_secs_f64() * lost.len().max(1) as f64;
    let time: Duration = lost.iter().map(|lost| lost.time).sum();
    let pauses: u64 = lost.iter().map(|lost| lost.pauses).sum();
    let longest = lost.iter().map(|lost| lost.longest).max().unwrap_or_default();
    Jitter {
        watched: Seconds::from(watch),
        lost: (time.as_secs_f64() / seconds).clamp(0.0, 1.0),
        longest: Seconds::from(longest),
        pauses: pauses as f64 / seconds,
    }
}

fn count(watch: Duration) -> Lost {
    let begin = Instant::now();
    let (mut before, mut lost) = (begin, Lost::default());
    loop {
        let now = Instant::now();
        let distance = now - before;
        if distance >= INTERRUPTED {
            lost.time += distance;
            lost.longest = lost.longest.max(distance);
            lost.pauses += u64::from(distance >= PAUSE);
        }
        before = now;
        if now - begin >= watch {
            return lost;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_a_share_and_the_longest_pause_fits_into_the_watch() {
        let found = jitter(Duration::from_millis(50));
        assert!((0.0..=1.0).contains(&found.lost), "{found:?}");
        assert!(found.longest.0 >= 0.0 && found.pauses >= 0.0 && found.pauses.is_finite());
        assert_eq!(found.watched, Seconds(0.05));
    }
}
