//! What the kernel counts of each thread: time on a processor, and time it was ready and had none.

use std::{collections::BTreeMap, fs, time::Duration};

/// What a thread, or several together, did with their time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Accounts {
    /// On processors.
    pub(crate) spent: Duration,
    /// Ready to run, without a processor.
    pub(crate) waited: Duration,
}

/// The account of each living thread of a process, by the thread's number; `None` if the system keeps none. A thread that
/// ended took its account with it.
pub(crate) fn of_threads(pid: u32) -> Option<BTreeMap<u32, Accounts>> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let each = threads.flatten().filter_map(|thread| {
        let number = thread.file_name().to_str()?.parse().ok()?;
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        let mut fields = text.split_whitespace().map_while(|field| field.parse().ok());
        let (spent, waited) =
            (Duration::from_nanos(fields.next()?), Duration::from_nanos(fields.next()?));
        Some((number, Accounts { spent, waited }))
    });
    let each: BTreeMap<u32, Accounts> = each.collect();
    (!each.is_empty()).then_some(each)
}

/// The accounts of all living threads of a process, added up, in nanoseconds, where a process's own count only ticks.
pub(crate) fn accounts(pid: u32) -> Option<Accounts> {
    let each = of_threads(pid)?;
    Some(Accounts {
        spent: each.values().map(|account| account.spent).sum(),
        waited: each.values().map(|account| account.waited).sum(),
    })
}
