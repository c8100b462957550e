//! The buffers that CUPTI fills: kept for reuse, limited in number.

use crate::recorder::lock;
use std::{
    alloc::{Layout, alloc_zeroed},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

/// Bytes of a buffer. CUPTI has one for each thread that calls CUDA, and writes thousands of records into it.
pub(crate) const SIZE: usize = 1 << 20;
/// Most buffers at once: 128 MB, as much as PyTorch's own profiler takes.
const MOST: u64 = 128;
/// From this version on CUPTI may be refused a buffer; it then counts what it drops. Before, it may crash.
const REFUSABLE: u32 = 27;

/// An address that moves between threads.
struct Buffer(*mut u8);

// SAFETY: it is memory of ours that nobody uses while it is kept here.
unsafe impl Send for Buffer {}

static KEPT: Mutex<Vec<Buffer>> = Mutex::new(Vec::new());
static OUT: AtomicU64 = AtomicU64::new(0);
static REFUSED: AtomicU64 = AtomicU64::new(0);
static MADE: AtomicU64 = AtomicU64::new(0);

/// A buffer of zeros; null if there are too many.
pub(crate) fn give(version: u32) -> *mut u8 {
    let out = OUT.fetch_add(1, Ordering::Relaxed);
    if let Some(Buffer(kept)) = lock(&KEPT).pop() {
        return kept;
    }
    if out >= MOST && version >= REFUSABLE {
        OUT.fetch_sub(1, Ordering::Relaxed);
        REFUSED.fetch_add(1, Ordering::Relaxed);
        return std::ptr::null_mut();
    }
    MADE.fetch_add(1, Ordering::Relaxed);
    let Ok(layout) = Layout::from_size_align(SIZE, 64) else { return std::ptr::null_mut() };
    // SAFETY: the layout has a size.
    unsafe { alloc_zeroed(layout) }
}

/// Takes a buffer back.
///
/// # Safety
/// The buffer is one of ours, nobody uses it any more, and only its first `used` bytes may be other than zero.
pub(crate) unsafe fn take_back(buffer: *mut u8, used: usize) {
    OUT.fetch_sub(1, Ordering::Relaxed);
    // SAFETY: see above; `used` is kept within the buffer.
    unsafe { std::ptr::write_bytes(buffer, 0, used.min(SIZE)) };
    lock(&KEPT).push(Buffer(buffer));
}

/// Buffers refused, made, and still with CUPTI.
pub(crate) fn counts() -> [u64; 3] {
    [REFUSED.load(Ordering::Relaxed), MADE.load(Ordering::Relaxed), OUT.load(Ordering::Relaxed)]
}
