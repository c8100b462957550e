//! Reading the kernel's text files: one reason a failure, and the parsers several probes share.

use std::{collections::BTreeMap, fs, io, path::Path};

/// A file's text, or a sentence that says why not.
pub(crate) fn read_text(path: impl AsRef<Path>) -> Result<String, String> {
    let path = path.as_ref();
    fs::read_to_string(path).map_err(|error| {
        let why = match error.kind() {
            io::ErrorKind::NotFound => "not found".to_owned(),
            io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
            _ => error.to_string(),
        };
        format!("could not read `{}`: {why}", path.display())
    })
}

/// A file that holds one number.
pub(crate) fn read_number(path: impl AsRef<Path>) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Why a process cannot be seen; the same sentence in every probe.
pub(crate) fn require_process(pid: u32) -> Result<(), String> {
    crate::socket::require_linux()?;
    if Path::new(&format!("/proc/{pid}")).exists() {
        Ok(())
    } else {
        Err(format!("process {pid} is not running"))
    }
}

/// The counters of one processor, or of all together, in ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ticks {
    pub(crate) busy: u64,
    pub(crate) idle: u64,
    pub(crate) steal: u64,
}

impl Ticks {
    /// The ticks since `earlier`; a processor's counters may step back a little when it sleeps deeply.
    pub(crate) fn since(self, earlier: Ticks) -> Ticks {
        Ticks {
            busy: self.busy.saturating_sub(earlier.busy),
            idle: self.idle.saturating_sub(earlier.idle),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }

    pub(crate) fn total(self) -> u64 {
        self.busy + self.idle + self.steal
    }

    /// A part of the whole; `None` if no tick has passed.
    pub(crate) fn share(self, part: u64) -> Option<f64> {
        (self.total() > 0).then(|| part as f64 / self.total() as f64)
    }
}

/// The first lines of `/proc/stat`: all processors together, and each by its number.
pub(crate) fn parse_machine_ticks(text: &str) -> Option<(Ticks, BTreeMap<u32, Ticks>)> {
    let mut machine = None;
    let mut cores = BTreeMap::new();
    for line in text.lines() {
        let mut fields = line.split_whitespace();
        let Some(name) = fields.next().and_then(|name| name.strip_prefix("cpu")) else { continue };
        let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guest time is already within user.
        let &[user, nice, system, idle, iowait, irq, softirq, steal, ..] = ticks.as_slice() else {
            continue;
        };
        let ticks =
            Ticks { busy: user + nice + system + irq + softirq, idle: idle + iowait, steal };
        if name.is_empty() {
            machine = Some(ticks);
        } else if let Ok(number) = name.parse() {
            cores.insert(number, ticks);
        }
    }
    Some((machine?, cores))
}

/// What `/proc/PID/stat` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    pub(crate) minor_faults: u64,
    pub(crate) major_faults: u64,
    /// User and system time in ticks.
    pub(crate) ticks: u64,
}

/// What a live process has counted; `None` once it has ended, even while its parent has not yet asked for its status.
pub(crate) fn process_stat(pid: u32) -> Option<ProcessStat> {
    parse_process_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads `/proc/PID/stat`; the process's name stands in parentheses and may itself hold spaces and parentheses.
/// The processes that a process has started and that still run, and theirs.
pub(crate) fn descendants(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut at = 0;
    while let Some(&pid) = found.get(at) {
        at += 1;
        let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
        for thread in threads.flatten() {
            let text = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            found.extend(text.split_whitespace().filter_map(|id| id.parse::<u32>().ok()));
        }
    }
    found.split_off(1)
}

fn parse_process_stat(text: &str) -> Option<ProcessStat> {
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    if matches!(fields.first(), Some(&("Z" | "X"))) {
        return None;
    }
    // The first field here is the third of the line, the state.
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(ProcessStat {
        minor_faults: field(10)?,
        major_faults: field(12)?,
        ticks: field(14)? + field(15)?,
    })
}

/// A number behind a key in `/proc/PID/status`, `/proc/PID/io`, `smaps_rollup` or `cpu.stat`: `VmRSS:  12 kB`.
pub(crate) fn field(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let rest = line.strip_prefix(key)?;
        let rest = rest.strip_prefix(':').or_else(|| rest.strip_prefix(' '))?;
        rest.split_whitespace().next()?.parse().ok()
    })
}

/// The same for the files that count in units of 1024 bytes.
pub(crate) fn field_in_bytes(text: &str, key: &str) -> Option<u64> {
    field(text, key).map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn processes_that_a_process_started_are_found_until_they_end() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(descendants(std::process::id()).contains(&child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!descendants(std::process::id()).contains(&child.id()));
    }

    #[test]
    fn a_name_with_spaces_and_parentheses_does_not_shift_the_fields() {
        let text = "6546 (a (b) c) d) R 6544 6544 4019 0 -1 4194304 99 7 3 0 40 2 0 0 20 0 1 0 85631 3133440 414";
        let stat = parse_process_stat(text).unwrap();
        assert_eq!(stat, ProcessStat { minor_faults: 99, major_faults: 3, ticks: 42 });
        assert_eq!(parse_process_stat("6546 (cat"), None);
        assert_eq!(parse_process_stat(&text.replace(") R", ") Z")), None, "a dead one");
    }

    #[test]
    fn the_machines_ticks_are_split_into_busy_idle_and_stolen() {
        let text = "cpu  16539 0 3980 148654 1455 0 157 463 0 0\ncpu0 3935 0 1007 80033 298 0 66 260 0 0\n\
            cpu1 12603 0 2973 68620 1156 0 90 203 0 0\nintr 12 0\n";
        let (machine, cores) = parse_machine_ticks(text).unwrap();
        assert_eq!(machine, Ticks { busy: 20676, idle: 150109, steal: 463 });
        assert_eq!(cores.keys().copied().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(cores[&1].steal, 203);
        assert!(parse_machine_ticks("intr 1\n").is_none());
    }

    #[test]
    fn ticks_that_step_back_are_not_a_wrap() {
        let earlier = Ticks { busy: 10, idle: 10, steal: 0 };
        let later = Ticks { busy: 12, idle: 9, steal: 0 };
        assert_eq!(later.since(earlier), Ticks { busy: 2, idle: 0, steal: 0 });
        assert_eq!(Ticks::default().share(0), None);
    }

    #[test]
    fn keys_are_matched_whole() {
        let text = "VmHWM:\t  108 kB\nVmRSS:\t   64 kB\nVmRSSx: 1 kB\nnr_throttled 7\n";
        assert_eq!(field_in_bytes(text, "VmRSS"), Some(64 * 1024));
        assert_eq!(field(text, "nr_throttled"), Some(7));
        assert_eq!(field(text, "VmR"), None);
    }

    #[test]
    fn a_failure_names_the_file_and_the_reason() {
        let why = read_text("/no/such/file").unwrap_err();
        assert_eq!(why, "could not read `/no/such/file`: not found");
    }
}
