//! What the kernel counts of each thread: time on a processor, and time it was ready and had none.

use std::{fs, time::Duration};

/// The accounts of all living threads of a process, added up. A thread that ended took its account with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Accounts {
    /// On processors.
    pub(crate) spent: Duration,
    /// Ready to run, without a processor.
    pub(crate) waited: Duration,
}

/// The accounts of a process, in nanoseconds, where a process's own count only ticks; `None` if the system keeps none.
pub(crate) fn accounts(pid: u32) -> Option<Accounts> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let each = threads.flatten().filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        let mut fields = text.split_whitespace().map_while(|field| field.parse().ok());
        Some((fields.next()?, fields.next()?))
    });
    let each: Vec<(u64, u64)> = each.collect();
    (!each.is_empty()).then(|| Accounts {
        spent: Duration::from_nanos(each.iter().map(|(spent, _)| spent).sum()),
        waited: Duration::from_nanos(each.iter().map(|(_, waited)| waited).sum()),
    })
}
