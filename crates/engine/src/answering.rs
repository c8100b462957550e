//! The conversation about a loaded model: one answer a request, until the parent says goodbye.

use crate::{
    EngineError, Failure, Reply, Request, Window,
    protocol::{read_message, write_message},
    worker::Recorder,
};
use std::{
    io::{self, BufRead, Write},
    time::{Duration, Instant},
};

/// Answers every request with what `answer` makes of it; a failure is an answer too.
pub(crate) fn answer_all(
    reader: &mut impl BufRead,
    writer: &mut impl Write,
    mut answer: impl FnMut(Request) -> Result<Reply, Failure>,
) -> io::Result<()> {
    while let Some(request) = read_message::<Request>(reader)? {
        if matches!(request, Request::Bye) {
            return Ok(());
        }
        write_message(writer, &answer(request).unwrap_or_else(Reply::Failed))?;
    }
    Ok(())
}

/// Takes `count` samples, or fewer where the time is up before; at least one.
pub(crate) fn take_window(
    count: u64,
    budget: Duration,
    mut sample: impl FnMut(&mut Recorder) -> Result<(), EngineError>,
) -> Result<Window, EngineError> {
    let mut recorder = Recorder::default();
    let started = Instant::now();
    for _ in 0..count.max(1) {
        sample(&mut recorder)?;
        if started.elapsed() >= budget {
            break;
        }
    }
    Ok(Window { samples: recorder.finish() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Phase;

    #[test]
    fn a_window_has_at_least_one_sample_and_ends_when_its_time_is_up() {
        let mut taken = 0;
        let mut sample = |recorder: &mut Recorder| {
            taken += 1;
            recorder.push(Phase::Inference, Duration::from_nanos(5));
            Ok(())
        };
        let window = take_window(0, Duration::ZERO, &mut sample).unwrap();
        assert_eq!(window.samples[0].nanos, [5]);
        take_window(9, Duration::ZERO, &mut sample).unwrap();
        take_window(3, Duration::MAX, &mut sample).unwrap();
        assert_eq!(taken, 1 + 1 + 3);
    }
}
