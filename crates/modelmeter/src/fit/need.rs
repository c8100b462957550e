//! What would be enough, where nothing fits: seen without a limit, then tried under one.

use super::{Explored, is_stopped};
use crate::{Error, largest, worker::present_memory};
use types::{Bytes, Device, Event, Remark, RemarkCode, SmallestNeed};

/// So many limits are tried, each a quarter larger than the one before: whoever holds the worker may count more than
/// what is resident.
const MOST_LIMITS: usize = 6;
const MEBIBYTE: u64 = 1 << 20;

/// The least that any way took, and a limit under which it runs; remarks say what failed without a limit too.
pub(super) fn smallest(
    explored: &[Explored],
    remarks: &mut Vec<Remark>,
    sink: &mut dyn FnMut(Event),
) -> Result<Option<SmallestNeed>, Error> {
    let mut least: Option<(SmallestNeed, &Explored)> = None;
    // What is resident says nothing of a device's own memory.
    let on_processors = |one: &&Explored| one.device.bounded_by() == Some(Device::Cpu);
    for one in explored.iter().filter(on_processors) {
        let mut free = one.profiler.clone();
        (free.memory_limit, free.limit_by) = (None, None);
        let name = format!("{} {}", one.way.engine, one.way.precision);
        let mut hear = |event: Event| sink(event.labelled(&format!("{name}, without a limit")));
        let tried = match largest::rehearse(&free, one.least, &|_| false, &mut hear) {
            Ok(tried) => tried,
            Err(Error::Meter(error)) => {
                remarks.push(Remark::new(
                    RemarkCode::FailsWithoutLimit,
                    format!("{name} fails without a limit too: {error}"),
                ));
                continue;
            }
            Err(error) => return Err(error),
        };
        let Some(peak) = tried.peak.filter(|_| tried.refused.is_none()) else { continue };
        if least.as_ref().is_none_or(|(known, _)| peak < known.peak) {
            let (engine, precision) = (one.way.engine.clone(), one.way.precision);
            let need = SmallestNeed { engine, precision, batch: one.least, peak, enough: None };
            least = Some((need, one));
        }
    }
    let Some((mut need, one)) = least else { return Ok(None) };
    need.enough = enough(&need, one, sink)?;
    Ok(Some(need))
}

/// A limit under which it was seen to run, the smallest that was tried.
fn enough(
    need: &SmallestNeed,
    one: &Explored,
    sink: &mut dyn FnMut(Event),
) -> Result<Option<Bytes>, Error> {
    let most = present_memory(one.device);
    // The same run takes a little more another time.
    let mut limit = (need.peak.0 + need.peak.0 / 10).div_ceil(MEBIBYTE) * MEBIBYTE;
    for _ in 0..MOST_LIMITS {
        if most.is_some_and(|most| limit > most.0) {
            break;
        }
        let profiler = one.profiler.clone().memory_limit(Bytes(limit));
        let label = format!("under {} MiB", limit / MEBIBYTE);
        let mut hear = |event: Event| sink(event.labelled(&label));
        let tried = largest::rehearse(&profiler, need.batch, &is_stopped, &mut hear)?;
        if tried.refused.is_none() {
            return Ok(Some(Bytes(limit)));
        }
        limit = (limit + limit / 4).div_ceil(MEBIBYTE) * MEBIBYTE;
    }
    Ok(None)
}
