//! Who has a lease, said so that this machine knows whether that process still lives.

use std::fs;

/// This process: its machine, its number, when it began, and the space that numbers of processes are counted in.
pub(crate) fn of_this_process(hostname: &str) -> String {
    let pid = std::process::id();
    format!("{hostname}:{pid}:{}:{}", began(pid).unwrap_or_default(), space().unwrap_or_default())
}

/// The machine and the number of the process that a name stands for; `None` if it is no name that [`crate::PlanRunner`] gives.
#[must_use]
pub fn machine_and_process(worker: &str) -> Option<(&str, u32)> {
    let mut parts = worker.rsplitn(4, ':').skip(2);
    let pid = parts.next()?.parse().ok()?;
    parts.next().map(|machine| (machine, pid))
}

/// Whether a name is one of this machine's whose process has ended; `false` where nobody can tell.
#[must_use]
pub fn is_dead(worker: &str, hostname: &str) -> bool {
    let mut parts = worker.rsplitn(4, ':');
    let (Some(there), Some(since), Some(pid), Some(host)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let is_here = host == hostname && !there.is_empty() && Some(there) == space().as_deref();
    match pid.parse() {
        Ok(pid) if is_here && !since.is_empty() => began(pid).as_deref() != Some(since),
        _ => false,
    }
}

/// When a process began, in the kernel's own count; `None` if there is none or nobody tells.
fn began(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything; after it the fields are plain.
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let is_ended = matches!(fields.first(), Some(&("Z" | "X")));
    (!is_ended).then(|| fields.get(19).map(|&began| began.to_owned())).flatten()
}

fn space() -> Option<String> {
    let link = fs::read_link("/proc/self/ns/pid").ok()?;
    let text = link.to_string_lossy();
    Some(text.trim_start_matches("pid:[").trim_end_matches(']').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_living_are_not_taken_for_dead_and_the_dead_are_known() {
        let own = of_this_process("here");
        assert!(!is_dead(&own, "here"), "{own}");
        assert!(!is_dead(&own, "elsewhere"));
        assert!(!is_dead("somebody", "here"));
        assert_eq!(machine_and_process(&own), Some(("here", std::process::id())));
        assert_eq!(machine_and_process("rack:7:12:99:4026"), Some(("rack:7", 12)));
        for strange in ["somebody", "a:b", "here:x:1:2", ""] {
            assert_eq!(machine_and_process(strange), None, "{strange}");
        }
        if !cfg!(target_os = "linux") {
            return;
        }
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let name = own.replacen(&std::process::id().to_string(), &child.id().to_string(), 1);
        let name =
            name.replacen(&began(std::process::id()).unwrap(), &began(child.id()).unwrap(), 1);
        assert!(!is_dead(&name, "here"), "{name}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_dead(&name, "here"), "{name}");
    }
}
