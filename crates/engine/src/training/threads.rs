//! Work that threads share.

use std::{
    sync::{Mutex, PoisonError},
    thread,
};

/// Does every piece; whichever thread is free takes the next one, and the caller's is one of them.
pub(super) fn share<P: Send>(pieces: Vec<P>, threads: usize, work: impl Fn(P) + Sync) {
    let threads = threads.max(1).min(pieces.len());
    if threads <= 1 {
        pieces.into_iter().for_each(work);
        return;
    }
    let pieces = Mutex::new(pieces.into_iter());
    let take = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work_off = || {
        while let Some(piece) = take() {
            work(piece);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // A thread that cannot be had leaves its share to the others.
            if thread::Builder::new().spawn_scoped(scope, work_off).is_err() {
                break;
            }
        }
        work_off();
    });
}
