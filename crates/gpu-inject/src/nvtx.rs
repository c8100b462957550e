//! NVTX ranges, by handlers of our own: they work without a GPU, and CUPTI's crash in some versions.

use crate::{
    cupti,
    format::{Event, MODULE_MARK},
    guarded,
    process::current,
    recorder::{Recorder, ThreadEvents, lock},
    system,
};
use std::{
    cell::RefCell,
    collections::HashMap,
    ffi::{CStr, c_char, c_void},
    hash::{BuildHasherDefault, DefaultHasher},
    ptr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

/// NVTX's function that hands out its tables.
pub(crate) type ExportTable = unsafe extern "C" fn(u32) -> *const c_void;

/// The table of callbacks, and its modules.
const CALLBACKS: u32 = 1;
const CORE: u32 = 1;
const CORE2: u32 = 5;
/// What `push` and `pop` return when the depth is not told.
const UNTOLD: i32 = -2;
/// Texts that a thread remembers the numbers of.
const REMEMBERED: usize = 4096;
/// Longest name of a range, in bytes.
const LONGEST: usize = 1024;

#[repr(C)]
struct Callbacks {
    size: usize,
    module: Option<unsafe extern "C" fn(u32, *mut *mut *mut *mut c_void, *mut u32) -> i32>,
}

/// The beginning of `nvtxEventAttributes_t`, as in every version of NVTX 3.
#[repr(C)]
struct Attributes {
    version: u16,
    size: u16,
    category: u32,
    colour_kind: i32,
    colour: u32,
    payload_kind: i32,
    reserved: i32,
    payload: u64,
    message_kind: i32,
    message: *const c_void,
}

const BYTES: i32 = 1;
const WIDE: i32 = 2;
const REGISTERED: i32 = 3;

/// What one thread knows.
struct Mine {
    recorder: *const Recorder,
    events: Arc<ThreadEvents>,
    numbers: HashMap<Vec<u8>, u32, BuildHasherDefault<DefaultHasher>>,
    /// Ranges that are open on this thread, all domains together.
    depth: u32,
}

thread_local! {
    static MINE: RefCell<Option<Mine>> = const { RefCell::new(None) };
}

static NEXT_RANGE: AtomicU64 = AtomicU64::new(1);
/// Texts of domains and registered strings; their handles are indices into it, from 1.
static HANDLES: Mutex<Vec<&'static [u8]>> = Mutex::new(Vec::new());
/// Handles beyond this one are all the same: a program that registers without end must not fill the memory.
const MOST_HANDLES: usize = 1 << 16;

/// Runs something with what this thread knows; nothing while the thread ends, or inside itself.
fn with_mine<T>(recorder: &Recorder, work: impl FnOnce(&mut Mine) -> T) -> Option<T> {
    let run = |mine: &RefCell<Option<Mine>>| {
        let mut mine = mine.try_borrow_mut().ok()?;
        // After a fork, what the thread knew belongs to the parent.
        let is_known = mine.as_ref().is_some_and(|mine| ptr::eq(mine.recorder, recorder));
        if !is_known {
            *mine = Some(Mine {
                recorder,
                events: recorder.thread(),
                numbers: HashMap::default(),
                depth: 0,
            });
        }
        mine.as_mut().map(work)
    };
    MINE.try_with(run).ok().flatten()
}

impl Mine {
    /// The number of a text.
    fn text(&mut self, recorder: &Recorder, text: &[u8]) -> u32 {
        let text = &text[..text.len().min(LONGEST)];
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = lock(&recorder.tables).text(text);
        if self.numbers.len() < REMEMBERED {
            self.numbers.insert(text.to_owned(), number);
        }
        number
    }
}

/// Notes an event of this thread.
pub(crate) fn note(recorder: &Recorder, event: Event, numbers: &[u64]) {
    note_at(recorder, event, system::now(), numbers);
}

/// Notes an event of this thread at a moment.
pub(crate) fn note_at(recorder: &Recorder, event: Event, time: u64, numbers: &[u64]) {
    if recorder.is_on.load(Ordering::Relaxed) {
        with_mine(recorder, |mine| recorder.event(&mine.events, event, time, numbers));
    }
}

/// A name without the mark of a module's path.
pub(crate) fn plain_name(name: &[u8]) -> &[u8] {
    name.strip_prefix(&[MODULE_MARK]).unwrap_or(name)
}

fn push(domain: u64, name: &[u8]) {
    let Some(recorder) = current() else { return };
    if recorder.is_over.load(Ordering::Relaxed) {
        return;
    }
    with_mine(recorder, |mine| {
        let text = mine.text(recorder, name);
        mine.depth += 1;
        if mine.depth == 1 {
            match recorder.step_begins(text, name) {
                Some(true) => {
                    recorder.begin();
                    if let Some(length) = recorder.wishes.length {
                        let end = system::now().saturating_add(length);
                        recorder.ends_at.store(end, Ordering::Relaxed);
                    }
                    cupti::start(recorder);
                }
                Some(false) => cupti::stop(recorder),
                None => {}
            }
        }
        if recorder.is_on.load(Ordering::Relaxed) {
            let numbers = [domain_text(mine, recorder, domain), u64::from(text)];
            recorder.event(&mine.events, Event::Push, system::now(), &numbers);
        }
    });
}

fn pop(domain: u64) {
    let Some(recorder) = current() else { return };
    if recorder.is_over.load(Ordering::Relaxed) {
        return;
    }
    with_mine(recorder, |mine| {
        mine.depth = mine.depth.saturating_sub(1);
        if recorder.is_on.load(Ordering::Relaxed) {
            let numbers = [domain_text(mine, recorder, domain)];
            recorder.event(&mine.events, Event::Pop, system::now(), &numbers);
        }
    });
}

fn range_start(domain: u64, name: &[u8]) -> u64 {
    let number = NEXT_RANGE.fetch_add(1, Ordering::Relaxed);
    two_texts(Event::Start, domain, name, Some(number));
    number
}

fn range_stop(number: u64) {
    if let Some(recorder) = current() {
        note(recorder, Event::Stop, &[number]);
    }
}

fn two_texts(event: Event, domain: u64, name: &[u8], number: Option<u64>) {
    let Some(recorder) = current() else { return };
    if !recorder.is_on.load(Ordering::Relaxed) {
        return;
    }
    with_mine(recorder, |mine| {
        let (domain, text) = (domain_text(mine, recorder, domain), mine.text(recorder, name));
        let numbers = [domain, u64::from(text), number.unwrap_or(0)];
        let count = 2 + usize::from(number.is_some());
        recorder.event(&mine.events, event, system::now(), &numbers[..count]);
    });
}

/// The text of a domain's name; 0 for the default one.
fn domain_text(mine: &mut Mine, recorder: &Recorder, domain: u64) -> u64 {
    match of_handle(domain) {
        Some(name) => u64::from(mine.text(recorder, name)),
        None => 0,
    }
}

fn handle(text: &[u8]) -> u64 {
    let mut handles = lock(&HANDLES);
    if handles.len() >= MOST_HANDLES {
        return MOST_HANDLES as u64;
    }
    let text = text[..text.len().min(LONGEST)].to_vec();
    handles.push(text.leak());
    handles.len() as u64
}

fn of_handle(handle: u64) -> Option<&'static [u8]> {
    let at = usize::try_from(handle).ok()?.checked_sub(1)?;
    lock(&HANDLES).get(at).copied()
}

/// A text of bytes that ends in zero.
unsafe fn bytes<'a>(text: *const c_char) -> &'a [u8] {
    // SAFETY: NVTX's callers pass such texts or null.
    if text.is_null() { b"" } else { unsafe { CStr::from_ptr(text) }.to_bytes() }
}

/// A text of wide characters that ends in zero; they have 32 bits on this system.
unsafe fn wide(text: *const u32) -> Vec<u8> {
    let mut out = String::new();
    let mut at = text;
    // SAFETY: NVTX's callers pass such texts or null.
    unsafe {
        while !at.is_null() && *at != 0 && out.len() < LONGEST {
            out.push(char::from_u32(*at).unwrap_or('\u{fffd}'));
            at = at.add(1);
        }
    }
    out.into_bytes()
}

/// The message of attributes.
unsafe fn message<T>(attributes: *const Attributes, work: impl FnOnce(&[u8]) -> T) -> T {
    // SAFETY: NVTX's callers pass attributes or null, and say how large they are.
    let Some(attributes) = (unsafe { attributes.as_ref() }) else { return work(b"") };
    if usize::from(attributes.size) < std::mem::size_of::<Attributes>() {
        return work(b"");
    }
    match attributes.message_kind {
        // SAFETY: the kind says what the message points to.
        BYTES => work(unsafe { bytes(attributes.message.cast()) }),
        // SAFETY: as above.
        WIDE => work(&unsafe { wide(attributes.message.cast()) }),
        REGISTERED => work(of_handle(attributes.message as u64).unwrap_or_default()),
        _ => work(b""),
    }
}

extern "C" fn mark_ex(attributes: *const Attributes) {
    domain_mark_ex(0, attributes);
}
extern "C" fn mark_a(text: *const c_char) {
    // SAFETY: NVTX passes the program's text.
    guarded((), || two_texts(Event::Mark, 0, unsafe { bytes(text) }, None));
}
extern "C" fn mark_w(text: *const u32) {
    // SAFETY: as above.
    guarded((), || two_texts(Event::Mark, 0, &unsafe { wide(text) }, None));
}
extern "C" fn start_ex(attributes: *const Attributes) -> u64 {
    domain_start_ex(0, attributes)
}
extern "C" fn start_a(text: *const c_char) -> u64 {
    // SAFETY: as above.
    guarded(0, || range_start(0, unsafe { bytes(text) }))
}
extern "C" fn start_w(text: *const u32) -> u64 {
    // SAFETY: as above.
    guarded(0, || range_start(0, &unsafe { wide(text) }))
}
extern "C" fn stop(number: u64) {
    guarded((), || range_stop(number));
}
extern "C" fn push_ex(attributes: *const Attributes) -> i32 {
    domain_push_ex(0, attributes)
}
extern "C" fn push_a(text: *const c_char) -> i32 {
    // SAFETY: as above.
    guarded((), || push(0, unsafe { bytes(text) }));
    UNTOLD
}
extern "C" fn push_w(text: *const u32) -> i32 {
    // SAFETY: as above.
    guarded((), || push(0, &unsafe { wide(text) }));
    UNTOLD
}
extern "C" fn pop_default() -> i32 {
    domain_pop(0)
}
extern "C" fn domain_mark_ex(domain: u64, attributes: *const Attributes) {
    // SAFETY: NVTX passes the program's attributes.
    guarded((), || unsafe {
        message(attributes, |text| two_texts(Event::Mark, domain, text, None));
    });
}
extern "C" fn domain_start_ex(domain: u64, attributes: *const Attributes) -> u64 {
    // SAFETY: as above.
    guarded(0, || unsafe { message(attributes, |text| range_start(domain, text)) })
}
extern "C" fn domain_stop(_: u64, number: u64) {
    guarded((), || range_stop(number));
}
extern "C" fn domain_push_ex(domain: u64, attributes: *const Attributes) -> i32 {
    // SAFETY: as above.
    guarded((), || unsafe { message(attributes, |text| push(domain, text)) });
    UNTOLD
}
extern "C" fn domain_pop(domain: u64) -> i32 {
    guarded((), || pop(domain));
    UNTOLD
}
extern "C" fn register_a(_: u64, text: *const c_char) -> u64 {
    // SAFETY: as above.
    guarded(0, || handle(unsafe { bytes(text) }))
}
extern "C" fn register_w(_: u64, text: *const u32) -> u64 {
    // SAFETY: as above.
    guarded(0, || handle(&unsafe { wide(text) }))
}
extern "C" fn create_a(text: *const c_char) -> u64 {
    register_a(0, text)
}
extern "C" fn create_w(text: *const u32) -> u64 {
    register_w(0, text)
}

/// Puts our functions into NVTX's tables.
///
/// # Safety
/// The argument is NVTX's own function or none.
pub(crate) unsafe fn attach(table: Option<ExportTable>) -> i32 {
    let (Some(table), Some(_)) = (table, current()) else { return 0 };
    // SAFETY: NVTX hands out its table of callbacks for this number, or null.
    let callbacks = unsafe { table(CALLBACKS).cast::<Callbacks>().as_ref() };
    let Some(module) = callbacks
        .filter(|table| table.size >= std::mem::size_of::<Callbacks>())
        .and_then(|table| table.module)
    else {
        return 0;
    };
    macro_rules! functions {
        ($($at:literal => $function:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
            [$(($at, {
                let function: extern "C" fn($($argument),*) $(-> $result)? = $function;
                // NVTX calls it with the types that it declares.
                function as *const () as *mut c_void
            })),*]
        };
    }
    let core = functions! {
        1 => mark_ex: fn(*const Attributes);
        2 => mark_a: fn(*const c_char);
        3 => mark_w: fn(*const u32);
        4 => start_ex: fn(*const Attributes) -> u64;
        5 => start_a: fn(*const c_char) -> u64;
        6 => start_w: fn(*const u32) -> u64;
        7 => stop: fn(u64);
        8 => push_ex: fn(*const Attributes) -> i32;
        9 => push_a: fn(*const c_char) -> i32;
        10 => push_w: fn(*const u32) -> i32;
        11 => pop_default: fn() -> i32;
    };
    let core2 = functions! {
        1 => domain_mark_ex: fn(u64, *const Attributes);
        2 => domain_start_ex: fn(u64, *const Attributes) -> u64;
        3 => domain_stop: fn(u64, u64);
        4 => domain_push_ex: fn(u64, *const Attributes) -> i32;
        5 => domain_pop: fn(u64) -> i32;
        10 => register_a: fn(u64, *const c_char) -> u64;
        11 => register_w: fn(u64, *const u32) -> u64;
        12 => create_a: fn(*const c_char) -> u64;
        13 => create_w: fn(*const u32) -> u64;
    };
    // SAFETY: NVTX's own function, and tables of its own.
    unsafe {
        fill(module, CORE, &core);
        fill(module, CORE2, &core2);
    }
    1
}

unsafe fn fill(
    module: unsafe extern "C" fn(u32, *mut *mut *mut *mut c_void, *mut u32) -> i32,
    which: u32,
    functions: &[(usize, *mut c_void)],
) {
    let (mut table, mut size): (*mut *mut *mut c_void, u32) = (ptr::null_mut(), 0);
    // SAFETY: places for both outlive the call.
    let is_there = unsafe { module(which, &raw mut table, &raw mut size) } != 0;
    if !is_there || table.is_null() {
        return;
    }
    for (at, function) in functions.iter().filter(|(at, _)| *at < size as usize) {
        // SAFETY: the table has `size` entries; each is null or the place of a function's address.
        unsafe {
            let place = *table.add(*at);
            if !place.is_null() {
                *place = *function;
            }
        }
    }
}
