//! A global allocator that can write down every allocation and free of its process.
//!
//! Off, it costs one relaxed load and a branch that is always predicted. On, an event takes a place in a buffer of its own
//! pages, never from itself; when the buffer is full, events are counted and dropped. A program declares it once:
//!
//! ```ignore
//! #[global_allocator]
//! static ALLOCATOR: probe::TrackingAllocator = probe::TrackingAllocator;
//! ```

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    hint,
    mem::size_of,
    ptr,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
};
use types::{AllocationEvent, Recorded};

/// Says which part of the work runs now; called at every event, so it must be quick and must not allocate.
pub type Mark = fn() -> u64;

/// The system's allocator, watched when asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct TrackingAllocator;

/// Why nothing can be recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrackerError {
    /// The program uses another allocator.
    #[error("this program does not allocate through Modelmeter's tracking allocator")]
    NotInstalled,
    /// Somebody records already.
    #[error("another recording of allocations is active in this process")]
    Busy,
    /// There is no memory for the events.
    #[error("the system has no memory for {0} allocation events")]
    NoMemory(usize),
}

static IS_ON: AtomicBool = AtomicBool::new(false);
static TAPE: Tape = Tape::new();
/// Held by the one recording that goes on.
static TURN: Mutex<()> = Mutex::new(());
static THREADS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    // Constant and without a destructor, so that asking never allocates and works while a thread ends.
    static THREAD: Cell<u32> = const { Cell::new(0) };
}

/// The bytes that were refused last.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

/// The bytes of the last allocation of this process that the system refused; `None` if it refused none.
#[must_use]
pub fn refused_allocation() -> Option<usize> {
    Some(REFUSED.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0)
}

#[cold]
fn refuse(bytes: usize) {
    REFUSED.store(bytes.max(1), Ordering::Relaxed);
}

/// Where events go while a recording is on.
struct Tape {
    events: AtomicPtr<AllocationEvent>,
    room: AtomicUsize,
    next: AtomicUsize,
    /// Threads that are writing an event right now.
    writers: AtomicUsize,
    mark: AtomicPtr<()>,
    /// When the recording began, by the clock that events are read from.
    begin: AtomicU64,
}

impl Tape {
    const fn new() -> Tape {
        Tape {
            events: AtomicPtr::new(ptr::null_mut()),
            room: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
            writers: AtomicUsize::new(0),
            mark: AtomicPtr::new(ptr::null_mut()),
            begin: AtomicU64::new(0),
        }
    }

    #[cold]
    fn write(&self, address: *mut u8, bytes: i64) {
        self.writers.fetch_add(1, Ordering::SeqCst);
        // Asked again under the count: whoever stops the recording waits for those that were counted.
        if IS_ON.load(Ordering::SeqCst) {
            self.put(address, bytes);
        }
        self.writers.fetch_sub(1, Ordering::SeqCst);
    }

    fn put(&self, address: *mut u8, bytes: i64) {
        // SAFETY: `start` stores a `Mark` here before the recording is on, and nothing else ever does.
        let mark =
            unsafe { std::mem::transmute::<*mut (), Mark>(self.mark.load(Ordering::Relaxed)) };
        let mark = mark();
        let thread = THREAD.try_with(number).unwrap_or(0);
        // The place is taken and the clock read together, so that times hardly ever fall.
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        if at >= self.room.load(Ordering::Relaxed) {
            return;
        }
        let nanos = now().saturating_sub(self.begin.load(Ordering::Relaxed));
        let event = AllocationEvent { at: nanos, address: address as u64, bytes, mark, thread };
        // SAFETY: `at` is below the room of the mapping, and the counter gave it to nobody else.
        unsafe { self.events.load(Ordering::Relaxed).add(at).write(event) };
    }
}

fn number(thread: &Cell<u32>) -> u32 {
    if thread.get() == 0 {
        thread.set(THREADS.fetch_add(1, Ordering::Relaxed) + 1);
    }
    thread.get()
}

/// Nanoseconds of the monotonic clock.
fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes one timespec into the place we give it.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

fn signed(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

// SAFETY: every call is the system allocator's own; events only look at addresses and sizes.
unsafe impl GlobalAlloc for TrackingAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the one `System` asks for.
        let address = unsafe { System.alloc(layout) };
        if address.is_null() {
            refuse(layout.size());
        } else if IS_ON.load(Ordering::Relaxed) {
            TAPE.write(address, signed(layout.size()));
        }
        address
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let address = unsafe { System.alloc_zeroed(layout) };
        if address.is_null() {
            refuse(layout.size());
        } else if IS_ON.load(Ordering::Relaxed) {
            TAPE.write(address, signed(layout.size()));
        }
        address
    }

    #[inline]
    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        // Before it is freed: afterwards another thread may have got the same address.
        if IS_ON.load(Ordering::Relaxed) {
            TAPE.write(address, -signed(layout.size()));
        }
        // SAFETY: as above.
        unsafe { System.dealloc(address, layout) };
    }

    #[inline]
    unsafe fn realloc(&self, address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // A free and an allocation, in this order for the same reason; a block that grows in place is both as well.
        let is_on = IS_ON.load(Ordering::Relaxed);
        if is_on {
            TAPE.write(address, -signed(layout.size()));
        }
        // SAFETY: as above.
        let moved = unsafe { System.realloc(address, layout, size) };
        if moved.is_null() {
            refuse(size);
        }
        if is_on {
            let (block, bytes) =
                if moved.is_null() { (address, layout.size()) } else { (moved, size) };
            TAPE.write(block, signed(bytes));
        }
        moved
    }
}

/// A recording that is going on; the only one of this process.
pub struct Recording {
    bytes: usize,
    _turn: MutexGuard<'static, ()>,
}

impl Recording {
    /// Begins to write down every allocation and free of this process, at most `room` of them.
    ///
    /// # Errors
    /// When this program has another allocator, records already, or there is no memory for the events.
    pub fn start(room: usize, mark: Mark) -> Result<Recording, TrackerError> {
        let turn = TURN.try_lock().map_err(|_| TrackerError::Busy)?;
        let room = room.max(1);
        let bytes = room.saturating_mul(size_of::<AllocationEvent>());
        let events = map(bytes).ok_or(TrackerError::NoMemory(room))?;
        TAPE.events.store(events.cast(), Ordering::Relaxed);
        TAPE.room.store(room, Ordering::Relaxed);
        TAPE.next.store(0, Ordering::Relaxed);
        TAPE.mark.store(mark as *mut (), Ordering::Relaxed);
        TAPE.begin.store(now(), Ordering::Relaxed);
        let recording = Recording { bytes, _turn: turn };
        IS_ON.store(true, Ordering::SeqCst);
        drop(hint::black_box(Box::new(0u8)));
        if TAPE.next.load(Ordering::Relaxed) == 0 {
            return Err(TrackerError::NotInstalled);
        }
        Ok(recording)
    }

    /// How many events there were so far, those that did not fit included.
    #[must_use]
    pub fn count(&self) -> u64 {
        TAPE.next.load(Ordering::Relaxed) as u64
    }

    /// Ends the recording and gives back what happened.
    #[must_use]
    pub fn stop(self) -> Recorded {
        quiet();
        let (count, room) = (TAPE.next.load(Ordering::Relaxed), TAPE.room.load(Ordering::Relaxed));
        let kept = count.min(room);
        // SAFETY: the recording is off and no writer is left; the first `kept` places of the mapping were written.
        let mut events = unsafe {
            std::slice::from_raw_parts(TAPE.events.load(Ordering::Relaxed), kept).to_vec()
        };
        // Two threads may read the clock in another order than they took their places; the places are right.
        let mut latest = 0;
        for event in &mut events {
            latest = event.at.max(latest);
            event.at = latest;
        }
        Recorded { events, dropped: (count - kept) as u64 }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        quiet();
        let events = TAPE.events.swap(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: `start` mapped exactly this, and nobody writes into it any more.
        unsafe { libc::munmap(events.cast(), self.bytes) };
    }
}

/// Turns the recording off and waits for those that are writing an event.
fn quiet() {
    IS_ON.store(false, Ordering::SeqCst);
    while TAPE.writers.load(Ordering::SeqCst) > 0 {
        hint::spin_loop();
    }
}

/// Fresh pages of our own; they take memory only once they are written to.
fn map(bytes: usize) -> Option<*mut libc::c_void> {
    // SAFETY: an anonymous private mapping at a place of the kernel's choice touches no memory of ours.
    let pages = unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0)
    };
    (pages != libc::MAP_FAILED).then_some(pages)
}
