//! Counts the memory that a case takes; past a bound there is no more, as on a machine that has none left.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// No case gets more than this, in bytes: what asks for it dies, and the parent sees that.
const MOST: usize = 2 << 30;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator with a count.
pub struct CountingAllocator;

/// Counts `size` more bytes; false where that is too much.
fn take(size: usize) -> bool {
    let live = LIVE.fetch_add(size, Relaxed).saturating_add(size);
    if live > MOST {
        LIVE.fetch_sub(size, Relaxed);
        return false;
    }
    if live > PEAK.load(Relaxed) {
        PEAK.fetch_max(live, Relaxed);
    }
    true
}

// SAFETY: everything is handed to the system's allocator; the count is only arithmetic, and a refusal is a null pointer.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !take(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise is passed on.
        let moved = unsafe { System.realloc(pointer, layout, size) };
        let gone = if moved.is_null() { size } else { layout.size() };
        LIVE.fetch_sub(gone, Relaxed);
        moved
    }
}

/// Measures the most bytes that were alive above those at its begin.
pub(crate) struct Gauge {
    base: usize,
}

impl Gauge {
    pub(crate) fn begin() -> Gauge {
        let base = LIVE.load(Relaxed);
        PEAK.store(base, Relaxed);
        Gauge { base }
    }

    pub(crate) fn peak(&self) -> usize {
        PEAK.load(Relaxed).saturating_sub(self.base)
    }
}
