//! Waiting until a process rests.

use crate::accounts::{Accounts, accounts};
use std::{
    thread,
    time::{Duration, Instant},
};

/// How far two looks are apart.
const LOOK: Duration = Duration::from_millis(1);

/// Waits until a process wants less than a tenth of a processor, but not longer than `most`; whether it rests.
///
/// A thread that is ready and waits for a processor does not rest: on a busy machine it would be taken for one that sleeps.
/// Pools of threads go on waiting busily when their work is done (ONNX Runtime's for 40 ms), on processors that
/// somebody else is measured on. Where the system keeps no account of threads nobody waits.
#[must_use]
pub fn rest(pid: u32, most: Duration) -> bool {
    let begin = Instant::now();
    let wanted = || accounts(pid).map(|Accounts { spent, waited }| spent + waited);
    let Some(mut before) = wanted() else { return true };
    while begin.elapsed() < most {
        let look = Instant::now();
        thread::sleep(LOOK);
        let Some(after) = wanted() else { return true };
        if after.saturating_sub(before) * 10 < look.elapsed() {
            return true;
        }
        before = after;
    }
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    struct Killed(Child);

    impl Drop for Killed {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn shell(text: &str) -> std::io::Result<Killed> {
        Command::new("sh").args(["-c", text]).spawn().map(Killed)
    }

    #[test]
    fn one_that_works_does_not_rest_and_one_that_waits_does() {
        let busy = shell("while :; do :; done").unwrap();
        // A machine with a lot to do lets it work for a few milliseconds now and then; its account stands still meanwhile.
        let begin = Instant::now();
        let is_seen = || !rest(busy.0.id(), Duration::from_millis(5));
        while !is_seen() {
            assert!(begin.elapsed() < Duration::from_secs(60), "it was never seen working");
        }
        let idle = shell("exec sleep 60").unwrap();
        assert!(rest(idle.0.id(), Duration::from_secs(10)));
    }

    #[test]
    fn one_that_is_gone_rests() {
        let pid = {
            let gone = shell("exit 0").unwrap();
            gone.0.id()
        };
        assert!(rest(pid, Duration::from_secs(10)));
    }
}
