//! Which processors a worker runs on.

use std::{io, os::unix::process::CommandExt, process::Command};

/// Makes a program start on these processors and no others; where the system does not let it, it runs on all.
#[cfg(target_os = "linux")]
pub(crate) fn on(command: &mut Command, processors: &[u32]) {
    // SAFETY: a set of processors is plain bits; all zero is the empty one.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &processor in processors.iter().filter(|number| **number < libc::CPU_SETSIZE as u32) {
        // SAFETY: the number lies within the set.
        unsafe { libc::CPU_SET(processor as usize, &mut set) };
    }
    let enter = move || -> io::Result<()> {
        // SAFETY: one system call that reads one struct which lives for the call. Being refused costs precision, not the run.
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
        Ok(())
    };
    // SAFETY: the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(enter) };
}

/// Other systems do not offer it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn on(_command: &mut Command, _processors: &[u32]) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_program_runs_where_it_is_told() {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let last = *hardware::parse_cpu_list(list.unwrap()).last().unwrap();
        let mut command = Command::new("cat");
        on(command.arg("/proc/self/status"), &[last]);
        let output = command.output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains(&format!("Cpus_allowed_list:\t{last}\n")), "{text}");
    }
}
