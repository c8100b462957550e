//! How many threads an engine is given unless told otherwise.

use crate::{cgroup, cpu_list::parse_cpu_list, processor::Topology};
use std::{fs, path::Path};

/// Physical cores this process may run on, no more than the control group pays for; at least 1.
///
/// Two threads of one core share its vector units, so a matrix product gains nothing from the second.
#[must_use]
pub fn default_threads() -> u32 {
    let root = Path::new("/");
    let cores = match &allowed_processors() {
        Some(processors) => {
            Topology::read(root).cores_among(processors).unwrap_or(processors.len() as u32)
        }
        None => std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
    };
    capped(cores, cgroup::limits(std::process::id()).cpus)
}

/// The processors that everyone who takes turns shall run on in this round, with so many threads each; `None` if they may
/// have all of them, or the system does not tell which there are.
///
/// Those who alternate never compete, and on the same processors they share whatever those are worth: a processor
/// whose core another machine uses too is slower for as long as that lasts. Rounds go round the machine.
#[must_use]
pub fn shared_processors(threads: u32, round: u32) -> Option<Vec<u32>> {
    let allowed = allowed_processors()?;
    let spread = Topology::read(Path::new("/")).spread(&allowed);
    chosen(&spread, threads as usize, round as usize)
}

fn chosen(spread: &[u32], threads: usize, round: usize) -> Option<Vec<u32>> {
    if threads == 0 || threads >= spread.len() {
        return None;
    }
    let start = (round * threads) % spread.len();
    Some((0..threads).map(|at| spread[(start + at) % spread.len()]).collect())
}

/// The processors this process may run on, where the system tells.
pub(crate) fn allowed_processors() -> Option<Vec<u32>> {
    fs::read_to_string("/proc/self/status").ok().and_then(|text| allowed(&text))
}

/// The processors in the mask of a process.
fn allowed(status: &str) -> Option<Vec<u32>> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let processors = parse_cpu_list(list);
    (!processors.is_empty()).then_some(processors)
}

/// A quota of 1.5 processors feeds two threads, not one.
fn capped(cores: u32, quota: Option<f64>) -> u32 {
    let quota = quota.map_or(u32::MAX, |cpus| cpus.ceil() as u32);
    cores.min(quota).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_rounded_up_and_never_reaches_zero() {
        assert_eq!(capped(8, Some(1.5)), 2);
        assert_eq!(capped(8, Some(0.1)), 1);
        assert_eq!(capped(8, None), 8);
        assert_eq!(capped(0, None), 1);
    }

    #[test]
    fn rounds_go_round_the_processors() {
        let spread = [0, 2, 4, 1, 3];
        assert_eq!(chosen(&spread, 2, 0), Some(vec![0, 2]));
        assert_eq!(chosen(&spread, 2, 1), Some(vec![4, 1]));
        assert_eq!(chosen(&spread, 2, 2), Some(vec![3, 0]));
        assert_eq!(chosen(&spread, 5, 0), None, "all of them is no choice");
        assert_eq!(chosen(&spread, 0, 0), None);
    }

    #[test]
    fn the_affinity_mask_is_read_from_the_status() {
        let status = "Name:\tx\nCpus_allowed:\t5\nCpus_allowed_list:\t0,2\n";
        assert_eq!(allowed(status), Some(vec![0, 2]));
        assert_eq!(allowed("Name:\tx\n"), None);
    }
}
