//! What the library's arena says of itself: in use, reserved, how often it was asked.
//!
//! The function for it came with 1.23. The binding asks for the interface of 1.17, so that older libraries will do, and
//! knows no newer function; the table of functions only ever grows at its end, so a newer one is found by its place.

use crate::runtime::{Runtime, checked};
use engine::Arena;
use ort::{
    AsPointer,
    memory::{Allocator, MemoryInfo},
    session::Session,
};
use std::ffi::{CStr, c_char, c_void};

/// The interface that has the statistics.
const INTERFACE: u32 = 23;

/// Places in the table of functions (onnxruntime_c_api.h).
const GET_KEY_VALUE: usize = 297;
const RELEASE_KEY_VALUE_PAIRS: usize = 300;
const ALLOCATOR_GET_STATS: usize = 319;

type ApiBase = unsafe extern "system" fn() -> *const ort::sys::OrtApiBase;
type GetKeyValue = unsafe extern "system" fn(*const c_void, *const c_char) -> *const c_char;
type Release = unsafe extern "system" fn(*mut c_void);
type GetStats = unsafe extern "system" fn(
    *const ort::sys::OrtAllocator,
    *mut *mut c_void,
) -> ort::sys::OrtStatusPtr;

/// The numbers of an arena, in bytes where they are not counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Statistics {
    /// In use now.
    pub(crate) in_use: u64,
    /// The most that ever was.
    pub(crate) most_in_use: u64,
    /// What the arena holds, in use or kept for later.
    pub(crate) reserved: u64,
    /// How often something was asked of it.
    pub(crate) allocations: u64,
}

/// The same in the words of all engines.
pub(crate) fn arena(runtime: &Runtime, session: &Session) -> Result<Arena, String> {
    of(runtime, session).map(|found| Arena {
        in_use: found.in_use,
        most_in_use: found.most_in_use,
        reserved: found.reserved,
        allocations: found.allocations,
    })
}

/// The statistics of a session's arena on the CPU, or why there are none.
pub(crate) fn of(runtime: &Runtime, session: &Session) -> Result<Statistics, String> {
    let table = table(runtime)?;
    let failed = |error: ort::Error| format!("ONNX Runtime does not show its arena: {error}");
    let allocator = Allocator::new(session, MemoryInfo::default()).map_err(failed)?;
    let mut pairs = std::ptr::null_mut();
    // SAFETY: the table is that of interface 23 or newer, where these places hold functions of these types; the
    // allocator lives, and the pairs are ours to release.
    unsafe {
        let stats = std::mem::transmute::<*const c_void, GetStats>(*table.add(ALLOCATOR_GET_STATS));
        checked(stats(allocator.ptr(), &raw mut pairs)).map_err(failed)?;
        let value = std::mem::transmute::<*const c_void, GetKeyValue>(*table.add(GET_KEY_VALUE));
        let number = |key: &CStr| {
            let text = value(pairs, key.as_ptr());
            let text = (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy());
            text.and_then(|text| text.parse::<u64>().ok())
        };
        let found = (|| {
            Some(Statistics {
                in_use: number(c"InUse")?,
                most_in_use: number(c"MaxInUse")?,
                reserved: number(c"TotalAllocated")?,
                allocations: number(c"NumAllocs")?,
            })
        })();
        let release =
            std::mem::transmute::<*const c_void, Release>(*table.add(RELEASE_KEY_VALUE_PAIRS));
        release(pairs);
        found.ok_or_else(|| "ONNX Runtime has no arena here".to_owned())
    }
}

/// The library's own table of functions, where it is new enough.
fn table(runtime: &Runtime) -> Result<*const *const c_void, String> {
    let old = || {
        "the statistics of ONNX Runtime's arena need version 1.23; this library is older".to_owned()
    };
    // SAFETY: the library is loaded already and stays so; its entry point has this type in every version.
    let base = unsafe {
        let library = libloading::Library::new(&runtime.path).map_err(|error| error.to_string())?;
        let entry =
            library.get::<ApiBase>(b"OrtGetApiBase\0").map_err(|error| error.to_string())?;
        entry()
    };
    if base.is_null() {
        return Err(old());
    }
    // SAFETY: the base lives as long as the library; it gives no table for an interface it does not have.
    let table = unsafe { ((*base).GetApi)(INTERFACE) };
    if table.is_null() { Err(old()) } else { Ok(table.cast()) }
}
