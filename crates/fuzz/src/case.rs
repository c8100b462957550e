//! One case: read, watched for panics, memory and time.

use crate::{Outcome, Target, allocator::Gauge, panics, target::Reader};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

/// A case that takes more processor time than this, three times in a row, is a finding.
const SLOW: Duration = Duration::from_secs(5);

/// How a case ended.
pub(crate) enum End {
    /// With an answer.
    Answered(Outcome),
    /// Without one.
    Found(String),
}

/// Runs one case.
pub(crate) fn run(target: &Target, reader: &mut Reader, bytes: &[u8]) -> End {
    let (mut end, mut took) = once(target, reader, bytes);
    let mut tries = 1;
    while matches!(end, End::Answered(_)) && took > SLOW {
        if tries == 3 {
            return End::Found(format!("slow: {} s of processor time", took.as_secs()));
        }
        (end, took) = once(target, reader, bytes);
        tries += 1;
    }
    end
}

fn once(target: &Target, reader: &mut Reader, bytes: &[u8]) -> (End, Duration) {
    panics::take();
    let begin = processor_time();
    let gauge = Gauge::begin();
    let result = catch_unwind(AssertUnwindSafe(|| reader(bytes)));
    let peak = gauge.peak();
    let took = processor_time().saturating_sub(begin);
    let seen = panics::take();
    let end = match result {
        Err(_) => {
            *reader = (target.open)();
            panics::take();
            End::Found(seen.last().cloned().unwrap_or_else(|| "a panic without a place".into()))
        }
        Ok(_) if peak > target.room + 64 * bytes.len() => {
            End::Found(format!("memory: {} MiB for a case of {} bytes", peak >> 20, bytes.len()))
        }
        // Somebody caught it, but it is a fault all the same.
        Ok(_) if !seen.is_empty() => End::Found(seen[0].clone()),
        Ok(outcome) => End::Answered(outcome),
    };
    (end, took)
}

/// The processor time of this thread.
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
