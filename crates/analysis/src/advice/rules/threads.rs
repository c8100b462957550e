//! Threads against cores.

use super::advise;
use crate::advice::{
    Facts, Judgement, Missing, Rule,
    judgement::{WORTH_IT, amdahl, change, evidence, gain},
};
use types::{Change, Device, Goal, Unit};

pub(super) struct Threads;

impl Rule for Threads {
    fn id(&self) -> &'static str {
        "threads"
    }

    fn about(&self) -> &'static str {
        "threads against the physical cores"
    }

    fn judge(&self, facts: &Facts<'_>) -> Result<Judgement, Missing> {
        let cell = &facts.run.cell;
        if !matches!(cell.device, Device::Cpu | Device::Xnnpack | Device::Openvino) {
            return Ok(Judgement::Beside(format!("the model runs on {}", cell.device)));
        }
        let cores = *facts.cores.as_ref().map_err(Clone::clone)?;
        let threads = cell.threads;
        let given = evidence(
            format!("threads for {cores} cores"),
            "threads",
            f64::from(threads),
            Unit::Count,
        );
        if threads == cores {
            return Ok(Judgement::Fine(given));
        }
        let busy = facts.metric("cpu.process.cores").filter(|busy| *busy > 0.0);
        let mut numbers =
            vec![given, evidence("physical cores", "cores", f64::from(cores), Unit::Count)];
        if let Some(busy) = busy {
            let text = "cores busy on average";
            numbers.push(evidence(text, "cpu.process.cores", busy, Unit::Count));
        }
        let proof = change(Change { threads: Some(cores), ..Change::default() });
        if threads > cores {
            let high = f64::from(threads) / f64::from(cores);
            let basis = "at most the share by which threads outnumber cores";
            return Ok(advise(
                format!("use {cores} threads instead of {threads}"),
                numbers,
                gain(Goal::Latency, 1.0, high, basis),
                proof,
                Some("an engine that waits without spinning loses little with too many threads"),
            ));
        }
        let share = parallel_share(threads, busy);
        let high = amdahl(share, f64::from(cores)) / amdahl(share, f64::from(threads));
        if high < WORTH_IT {
            let text = format!("gain of {cores} threads over {threads}");
            return Ok(Judgement::Fine(evidence(text, "threads.gain", high - 1.0, Unit::Ratio)));
        }
        let basis = match threads {
            1 => {
                "at most perfect scaling over the cores; one thread does not show what runs in parallel"
            }
            _ => "the share that runs in parallel, from the cores that were busy (Amdahl)",
        };
        Ok(advise(
            format!("use {cores} threads instead of {threads}"),
            numbers,
            gain(Goal::Latency, 1.0, high, basis),
            proof,
            Some("the other cores are then not free for other work"),
        ))
    }
}

/// The share of the work that runs on several cores, from how many were busy; all of it where one thread tells nothing.
fn parallel_share(threads: u32, busy: Option<f64>) -> f64 {
    let threads = f64::from(threads);
    match busy {
        Some(busy) if threads > 1.0 => {
            let busy = busy.clamp(1.0, threads);
            (1.0 - 1.0 / busy) / (1.0 - 1.0 / threads)
        }
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;
    use crate::advice::scene;

    #[test]
    fn idle_cores_are_offered() {
        let mut run = scene::run();
        run.cell.threads = 1;
        let mut facts = scene::facts(&run);
        facts.cores = Ok(4);
        let advice = said::advice(&Threads, &facts);
        assert_eq!(advice.title, "use 4 threads instead of 1");
        said::is_between(&advice, 1.0, 4.0);
    }

    #[test]
    fn what_runs_side_by_side_is_read_from_the_busy_cores() {
        let run = scene::run();
        let mut facts = scene::facts(&run);
        facts.cores = Ok(4);
        // 1.8 of 2 cores were busy: a share of (1 − 1/1.8) ÷ (1 − 1/2) = 8/9, so 1/(1/9 + 2/9) = 3 against 1.8.
        said::is_between(&said::advice(&Threads, &facts), 1.0, 3.0 / 1.8);
    }

    #[test]
    fn more_threads_than_cores_are_taken_back() {
        let mut run = scene::run();
        run.cell.threads = 8;
        let advice = said::advice(&Threads, &scene::facts(&run));
        assert_eq!(advice.title, "use 2 threads instead of 8");
        said::is_between(&advice, 1.0, 4.0);
    }

    #[test]
    fn as_many_threads_as_cores_are_fine() {
        let mut run = scene::run();
        assert_eq!(said::fine(&Threads, &scene::facts(&run)).value, 2.0);
        run.cell.device = Device::Cuda(0);
        assert!(said::beside(&Threads, &scene::facts(&run)).contains("cuda"));
    }

    #[test]
    fn a_machine_that_is_not_here_has_unknown_cores() {
        let run = scene::run();
        let mut facts = scene::facts(&run);
        facts.cores = Err(Missing::because("another machine"));
        assert_eq!(said::missing(&Threads, &facts).why, "another machine");
    }
}
