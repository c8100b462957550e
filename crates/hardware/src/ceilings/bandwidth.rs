//! How fast data comes from memory, over arrays that no cache can hold, and from each level of cache, over arrays that just fit.

use super::sweep::{LINE, Sweep, lines_in_all};
use crate::{
    available_memory, cgroup,
    processor::{CacheLevel, cache_levels, last_level_cache},
    threads::allowed_processors,
};
use std::path::Path;

/// STREAM's rule: each array at least four times all last-level caches together.
const CACHES: u64 = 4;
/// Where the caches are unknown or tiny.
const SMALLEST_ARRAY: u64 = 64 << 20;
/// Both arrays together may take this share of the memory that is free.
const SHARE_OF_MEMORY: u64 = 4;
/// Laps of each pattern through memory, at most and at least.
const MEMORY_LAPS: (u64, u64) = (8, 3);
/// All of them together move about this much; on one thread that takes half a second to a second.
const BUDGET: u64 = 10 << 30;
/// Laps of each pattern through a cache.
const CACHE_LAPS: usize = 32;
/// What a lap goes through in a cache: a fifth of a millisecond near the core, three far from it.
const CACHE_LAP: u64 = 32 << 20;

/// Bytes a second from memory; empty if memory is too small to leave the caches.
pub(super) fn memory_rates(threads: u32) -> Vec<f64> {
    let caches = last_level_cache(Path::new("/")).map_or(0, |bytes| bytes.0);
    let free = [available_memory(), cgroup::limits(std::process::id()).memory];
    let free = free.into_iter().flatten().map(|bytes| bytes.0).min();
    let Some(array) = array_bytes(caches, free) else { return Vec::new() };
    let lines = (array / LINE / u64::from(threads)).max(1) as usize;
    Sweep { read: lines, written: lines, passes: 1, laps: memory_laps(array) }.rates(threads)
}

/// Fewer where the arrays are huge because the caches are.
fn memory_laps(array: u64) -> usize {
    (BUDGET / (array * lines_in_all())).clamp(MEMORY_LAPS.1, MEMORY_LAPS.0) as usize
}

/// The size of one array; `None` if free memory does not allow one that outgrows the caches twice.
fn array_bytes(caches: u64, free: Option<u64>) -> Option<u64> {
    let wanted = (caches * CACHES).max(SMALLEST_ARRAY);
    let allowed = free.map_or(wanted, |free| free / SHARE_OF_MEMORY / 2);
    let array = wanted.min(allowed);
    (array >= caches * 2 && array >= SMALLEST_ARRAY / 4).then_some(array)
}

/// A level of cache and how much of it each thread goes through.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Level {
    pub(super) cache: CacheLevel,
    /// Bytes for each thread; why not, where they would lie in the level before.
    pub(super) bytes: Result<u64, String>,
}

impl Level {
    /// Bytes a second from this level.
    pub(super) fn rates(&self, threads: u32) -> Vec<f64> {
        let Ok(bytes) = self.bytes else { return Vec::new() };
        let read = (bytes / LINE).max(2) as usize;
        let passes = (CACHE_LAP / bytes).max(1) as usize;
        Sweep { read, written: read / 2, passes, laps: CACHE_LAPS }.rates(threads)
    }
}

/// The levels of cache that so many threads of this process use.
pub(super) fn levels(threads: u32) -> Vec<Level> {
    portions(&cache_levels(Path::new("/"), allowed_processors().as_deref()), threads)
}

/// Half of what each thread has of a level, so that code, stacks and neighbours find room beside it.
fn portions(caches: &[CacheLevel], threads: u32) -> Vec<Level> {
    let mut before = 0;
    let mut levels = Vec::new();
    for &cache in caches {
        let share = cache.size.0 / u64::from(threads.div_ceil(cache.instances.max(1)).max(1));
        let bytes = share / 2;
        let bytes = if bytes >= before * 2 {
            Ok(bytes)
        } else {
            Err(format!(
                "its {} KiB for each of {threads} threads are not larger than the level before",
                share >> 10
            ))
        };
        levels.push(Level { cache, bytes });
        before = share;
    }
    levels
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Bytes;

    #[test]
    fn arrays_outgrow_the_caches_or_nothing_is_measured() {
        assert_eq!(array_bytes(36 << 20, Some(24 << 30)), Some(144 << 20));
        assert_eq!(array_bytes(0, None), Some(64 << 20));
        assert_eq!(array_bytes(1 << 30, Some(4 << 30)), None);
    }

    #[test]
    fn huge_arrays_are_gone_through_less_often() {
        assert_eq!(memory_laps(144 << 20), 8);
        assert_eq!(memory_laps(1200 << 20), 3);
    }

    #[test]
    fn each_thread_gets_half_its_share_of_a_level() {
        let level =
            |level, kib: u64, instances| CacheLevel { level, size: Bytes(kib << 10), instances };
        let caches = [level(1, 32, 4), level(2, 1024, 4), level(3, 5632, 1)];
        let bytes = |threads| -> Vec<Option<u64>> {
            portions(&caches, threads).into_iter().map(|level| level.bytes.ok()).collect()
        };
        assert_eq!(bytes(1), [Some(16 << 10), Some(512 << 10), Some(2816 << 10)]);
        // Four threads have 1,408 KiB each of the last level, too little beside 1,024 KiB of their own.
        assert_eq!(bytes(4), [Some(16 << 10), Some(512 << 10), None]);
        // Two threads of one core share what is the core's.
        assert_eq!(bytes(8)[..2], [Some(8 << 10), Some(256 << 10)]);
        let why = portions(&caches, 4).remove(2).bytes.unwrap_err();
        assert!(why.contains("1408 KiB"), "{why}");
    }
}
