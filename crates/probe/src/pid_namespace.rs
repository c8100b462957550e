//! Whether process ids mean here what they mean to the kernel's drivers.

use std::fs;

/// The kernel's fixed number of its first namespace of process ids (`PROC_PID_INIT_INO`).
const FIRST: &str = "pid:[4026531836]";

/// False inside most containers: a driver then tells ids of the host, or none.
pub(crate) fn is_hosts_own() -> bool {
    if !cfg!(target_os = "linux") {
        return true;
    }
    fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link.as_os_str() == FIRST)
}
