//! A worker must never outlive or outrank its parent.

use crate::network;

/// The variable that tells an engine's program how many bytes of its device's own memory it may use.
pub const DEVICE_MEMORY: &str = "MODELMETER_DEVICE_MEMORY";

/// Makes this process die with its parent, be the first to go when memory runs out, and leave the network before it opens
/// a model.
///
/// The parent holds the results of other cells; the worker can be started again. Where the system has no such
/// knobs this does nothing: the worker still ends when the protocol's stream closes. Only for a process that is a worker
/// and nothing else.
pub fn become_expendable() {
    network::this_is_a_worker();
    #[cfg(target_os = "linux")]
    {
        // SAFETY: prctl with PR_SET_PDEATHSIG takes a signal number and touches no memory of ours.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        // Raising one's own badness needs no privilege; a refusal changes nothing but the order of killing.
        let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    }
}
