//! A pool that keeps every buffer until the end and gives the smallest that is large enough.

use super::plan::Plan;

/// What the pool holds at the end, which is the most it ever does; `None` where a size is unknown.
pub(super) fn held(plan: &Plan<'_>, inside: impl Fn(usize) -> Option<u64>) -> Option<u64> {
    let mut free: Vec<u64> = Vec::new();
    let mut given: Vec<u64> = vec![0; plan.buffers.len()];
    let (mut held, mut bodies) = (0u64, 0u64);
    for index in 0..plan.made.len() {
        for &buffer in &plan.made[index] {
            let bytes = plan.buffers[buffer].bytes?;
            let fitting = free.iter().enumerate().filter(|(_, size)| **size >= bytes);
            let best = fitting.min_by_key(|(_, size)| **size).map(|(at, _)| at);
            given[buffer] = match best {
                Some(at) => free.swap_remove(at),
                None => {
                    held = held.checked_add(bytes)?;
                    bytes
                }
            };
        }
        bodies = bodies.max(inside(index)?);
        free.extend(plan.done[index].iter().map(|&buffer| given[buffer]));
    }
    held.checked_add(bodies)
}
