//! What CUPTI records: kernels, copies, sets, memory, and the calls that a person would want to see beside them.
//!
//! Records are read by the offsets of their first fields, which are equal in every version from 12.0 to 13.4; CUPTI itself
//! steps from one record to the next.

use crate::{
    api::Api,
    buffers,
    encode::{Batch, Origin},
    format::{Kind, put, put_block},
    graphs, guarded,
    process::current,
    recorder::{Recorder, lock},
    system::{self, Library, RTLD_NOLOAD, RTLD_NOW},
    trouble::Trouble,
};
use std::{
    ffi::{CStr, c_char, c_void},
    ptr,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
};

/// CUPTI's numbers for what can be recorded.
mod kind {
    pub(super) const MEMCPY: u32 = 1;
    pub(super) const MEMSET: u32 = 2;
    pub(super) const KERNEL: u32 = 3;
    pub(super) const DRIVER: u32 = 4;
    pub(super) const RUNTIME: u32 = 5;
    pub(super) const CONCURRENT_KERNEL: u32 = 10;
    pub(super) const MEMCPY2: u32 = 22;
    pub(super) const MEMORY2: u32 = 49;
}

/// Work on the device; without the first there is nothing to show.
const WORK: [u32; 5] =
    [kind::CONCURRENT_KERNEL, kind::MEMCPY, kind::MEMCPY2, kind::MEMSET, kind::MEMORY2];
/// The attribute: buffers come filled with zeros, so CUPTI need not do that in the program's threads.
const ZEROED_BUFFERS: u32 = 5;
/// Threads by the kernel's number, the same that NVTX events have.
const SYSTEM_THREADS: u32 = 1;
/// Also buffers whose records are not complete.
const FORCED: u32 = 1;
const DRIVER_DOMAIN: u32 = 1;
const RUNTIME_DOMAIN: u32 = 2;
/// Calls are numbered from 1; the newest CUPTI has about 850.
const MOST_CALLS: u32 = 1200;
/// What CUPTI answers if another tool is there already, or one that uses it in another way.
const OTHER_TOOL: [i32; 2] = [39, 14];

/// Calls that are recorded: those that start work, copy, wait, capture or instantiate.
const CALLS: [&str; 24] = [
    "cudaLaunchKernel",
    "__cudaLaunchKernel",
    "cudaLaunch_",
    "cudaLaunchCooperativeKernel",
    "cudaGraphLaunch",
    "cudaGraphInstantiate",
    "cudaMemcpy",
    "cudaMemset",
    "cudaMalloc",
    "cudaFree",
    "cudaHostAlloc",
    "cudaThreadSynchronize",
    "cudaDeviceSynchronize",
    "cudaStreamSynchronize",
    "cudaEventSynchronize",
    "cudaStreamBeginCapture",
    "cuLaunch",
    "cuGraphLaunch",
    "cuMemcpy",
    "cuMemset",
    "cuCtxSynchronize",
    "cuStreamSynchronize",
    "cuEventSynchronize",
    "cuModuleLoad",
];

struct Cupti {
    api: Api,
    /// The text of every call that is recorded, by domain and number; 0 for others.
    names: [Vec<u32>; 2],
    process: u32,
}

static CUPTI: OnceLock<Option<Cupti>> = OnceLock::new();
static IS_RECORDING: AtomicBool = AtomicBool::new(false);
/// Switching on and off happens one at a time.
static SWITCH: Mutex<()> = Mutex::new(());
static DROPPED: AtomicU64 = AtomicU64::new(0);
static RELEASED: AtomicBool = AtomicBool::new(false);
/// Who asks for the records, see `modelmeter_gpu_release`.
const RELEASED_TO_PROFILER: &str = "torch.profiler was started by the program";
/// The version of CUPTI, for who hands out buffers.
static VERSION: AtomicU32 = AtomicU32::new(0);

/// CUPTI as this process initialised it; a child of a fork must not touch what it inherited.
fn own() -> Option<&'static Cupti> {
    CUPTI.get()?.as_ref().filter(|cupti| cupti.process == std::process::id())
}

/// Whether this process, and not its parent, initialised CUPTI.
pub(crate) fn is_own() -> bool {
    own().is_some()
}

/// Whether this process records kernels now.
pub(crate) fn is_recording() -> bool {
    is_own() && IS_RECORDING.load(Ordering::Relaxed) && !RELEASED.load(Ordering::Relaxed)
}

/// The functions, for who follows graphs.
pub(crate) fn api() -> Option<&'static Api> {
    own().map(|cupti| &cupti.api)
}

/// The driver initialises itself: find CUPTI and begin.
pub(crate) fn begin() {
    let Some(recorder) = current() else { return };
    // Whoever asked for the records first has registered with CUPTI already; registering would take them away.
    if RELEASED.load(Ordering::Relaxed) {
        recorder.trouble(Trouble::Released, RELEASED_TO_PROFILER);
        return;
    }
    if recorder.is_over.load(Ordering::Relaxed) {
        return;
    }
    let found = CUPTI.get_or_init(|| set_up(recorder));
    if let Some(cupti) = found {
        // Calls from the beginning, also where recording begins later: switched on once CUDA is in use, they are not
        // recorded (seen with CUPTI 13.0).
        switch_calls(recorder, cupti, true);
        if recorder.is_on.load(Ordering::Relaxed) {
            start(recorder);
        }
    }
}

fn set_up(recorder: &Recorder) -> Option<Cupti> {
    let Some((library, path)) = find(recorder) else {
        let tried = recorder.wishes.cupti.join(", ");
        recorder.trouble(Trouble::NoCupti, &tried);
        return None;
    };
    let api = match Api::of(library) {
        Ok(api) => api,
        Err(missing) => {
            recorder.trouble(Trouble::NoSymbol, &missing.to_string_lossy());
            return None;
        }
    };
    let mut version = 0;
    // SAFETY: the number outlives the call.
    unsafe { (api.version)(&raw mut version) };
    VERSION.store(version, Ordering::Relaxed);
    recorder.fact(&format!("cupti={version}\nlibrary={path}\n"));
    // SAFETY: the functions stay where they are, because the library is never unloaded. CUPTI's version of each of these
    // calls takes these arguments.
    let answers = unsafe {
        [
            ("cuptiActivityRegisterTimestampCallback", (api.clock)(timestamp)),
            ("cuptiActivityRegisterCallbacks", (api.register)(request, complete)),
        ]
    };
    for (name, answer) in answers {
        if answer != 0 {
            refuse(recorder, &api, name, answer);
            return None;
        }
    }
    // SAFETY: as above; the value and its size outlive the call.
    unsafe {
        let (mut size, mut yes) = (1_usize, 1_u8);
        api.set.map(|set| set(ZEROED_BUFFERS, &raw mut size, (&raw mut yes).cast()));
        api.thread_kind.map(|set| set(SYSTEM_THREADS));
    }
    let names = names(&api, recorder);
    Some(Cupti { api, names, process: std::process::id() })
}

/// The library that the process has, or the first that can be loaded: never a second one beside a first. If the process has
/// several, one that was named counts.
fn find(recorder: &Recorder) -> Option<(Library, String)> {
    const NAMES: [&str; 3] = ["libcupti.so.13", "libcupti.so.12", "libcupti.so"];
    let named = || recorder.wishes.cupti.iter().map(String::as_str);
    let open = |name: &str, flags| Some((Library::open(name, flags)?, name.to_owned()));
    let loaded = |name| open(name, RTLD_NOW | RTLD_NOLOAD);
    named()
        .find_map(loaded)
        .or_else(|| NAMES.into_iter().find_map(loaded))
        .or_else(|| named().chain(NAMES).find_map(|name| open(name, RTLD_NOW)))
}

fn refuse(recorder: &Recorder, api: &Api, call: &str, answer: i32) {
    let trouble = if OTHER_TOOL.contains(&answer) { Trouble::OtherTool } else { Trouble::Refused };
    recorder.trouble(trouble, &format!("{call}: {}", api.say(answer)));
}

/// The names of calls that are recorded, as texts, by domain and number.
fn names(api: &Api, recorder: &Recorder) -> [Vec<u32>; 2] {
    let Some(call_name) = api.call_name else { return Default::default() };
    let mut tables = lock(&recorder.tables);
    [DRIVER_DOMAIN, RUNTIME_DOMAIN].map(|domain| {
        let mut names = vec![0_u32; MOST_CALLS as usize];
        for (id, name) in names.iter_mut().enumerate().skip(1) {
            let mut text: *const c_char = ptr::null();
            // SAFETY: the pointer outlives the call.
            if unsafe { call_name(domain, id as u32, &raw mut text) } != 0 || text.is_null() {
                continue;
            }
            // SAFETY: CUPTI's texts end in zero and last for ever.
            let text = unsafe { CStr::from_ptr(text) }.to_bytes();
            if is_wanted(text) {
                *name = tables.text(text);
            }
        }
        names
    })
}

fn is_wanted(name: &[u8]) -> bool {
    let parts: [&[u8]; 2] = [b"Node", b"GetAttribute"];
    let has = |part: &&[u8]| name.windows(part.len()).any(|window| window == *part);
    CALLS.iter().any(|call| name.starts_with(call.as_bytes())) && !parts.iter().any(has)
}

/// Begins to record work and calls.
pub(crate) fn start(recorder: &Recorder) {
    let Some(cupti) = own() else { return };
    let _one = lock(&SWITCH);
    if RELEASED.load(Ordering::Relaxed) || IS_RECORDING.swap(true, Ordering::Relaxed) {
        return;
    }
    for (at, kind) in WORK.into_iter().enumerate() {
        // SAFETY: CUPTI takes any number and refuses those it does not know.
        let answer = unsafe { (cupti.api.enable)(kind) };
        if answer != 0 {
            refuse(recorder, &cupti.api, &format!("cuptiActivityEnable({kind})"), answer);
            if at == 0 {
                IS_RECORDING.store(false, Ordering::Relaxed);
                return;
            }
        }
    }
    if recorder.wishes.graphs {
        graphs::subscribe(recorder, &cupti.api);
    }
}

/// Single calls where CUPTI can do that; all of them otherwise, of which only these are kept.
fn switch_calls(recorder: &Recorder, cupti: &Cupti, is_on: bool) {
    let (Some(driver), Some(runtime)) = (cupti.api.driver_call, cupti.api.runtime_call) else {
        let switch = if is_on { cupti.api.enable } else { cupti.api.disable };
        // SAFETY: as in `start`.
        let answers = unsafe { [switch(kind::RUNTIME), switch(kind::DRIVER)] };
        if let Some(answer) = answers.into_iter().find(|answer| *answer != 0) {
            recorder.trouble(Trouble::Calls, &cupti.api.say(answer));
        }
        return;
    };
    let mut refused = None;
    for (switch, names) in [driver, runtime].into_iter().zip(&cupti.names) {
        for (id, _) in names.iter().enumerate().filter(|(_, name)| **name != 0) {
            // SAFETY: the numbers are those that CUPTI itself has a name for.
            let answer = unsafe { switch(id as u32, u8::from(is_on)) };
            refused = refused.or((answer != 0).then_some(answer));
        }
    }
    if let Some(answer) = refused.filter(|_| is_on) {
        recorder.trouble(Trouble::Calls, &cupti.api.say(answer));
    }
}

/// Ends recording: nothing costs the program anything afterwards.
pub(crate) fn stop(recorder: &Recorder) {
    if recorder.is_on.swap(false, Ordering::Relaxed) {
        recorder.window(false);
    }
    recorder.is_over.store(true, Ordering::Relaxed);
    switch_off(recorder);
}

fn switch_off(recorder: &Recorder) {
    let Some(cupti) = own() else { return };
    let _one = lock(&SWITCH);
    if IS_RECORDING.load(Ordering::Relaxed) {
        for kind in WORK {
            // SAFETY: as in `start`.
            unsafe { (cupti.api.disable)(kind) };
        }
        switch_calls(recorder, cupti, false);
        graphs::unsubscribe(&cupti.api);
        // SAFETY: it takes a number.
        unsafe { (cupti.api.flush)(FORCED) };
        IS_RECORDING.store(false, Ordering::Relaxed);
        write_counts(recorder);
    }
}

/// Has complete records written.
pub(crate) fn flush(is_forced: bool) {
    let Some(cupti) = own() else { return };
    if IS_RECORDING.load(Ordering::Relaxed) {
        // SAFETY: it takes a number.
        unsafe { (cupti.api.flush)(if is_forced { FORCED } else { 0 }) };
        if let Some(recorder) = current() {
            graphs::write_clones(recorder);
        }
    }
}

/// The process ends.
pub(crate) fn finish(recorder: &Recorder) {
    let Some(cupti) = own() else { return };
    if !RELEASED.load(Ordering::Relaxed) && !recorder.is_over.load(Ordering::Relaxed) {
        // Also if recording never began: calls are noted from the beginning, so CUPTI has buffers of ours.
        // SAFETY: it takes a number.
        unsafe { (cupti.api.flush)(FORCED) };
    }
    flush(true);
    write_counts(recorder);
}

/// The program's own profiler wants the records.
pub(crate) fn release() {
    let Some(recorder) = current() else { return };
    if RELEASED.swap(true, Ordering::Relaxed) {
        return;
    }
    recorder.trouble(Trouble::Released, RELEASED_TO_PROFILER);
    stop(recorder);
}

fn write_counts(recorder: &Recorder) {
    let [refused, made, out] = buffers::counts();
    let mut content = Vec::new();
    for number in [DROPPED.load(Ordering::Relaxed), refused, made, out] {
        put(&mut content, number);
    }
    let mut block = Vec::new();
    put_block(&mut block, Kind::Counts, 1, &content);
    recorder.write(&mut lock(&recorder.tables), &block);
}

extern "C" fn timestamp() -> u64 {
    system::now()
}

extern "C" fn request(buffer: *mut *mut u8, size: *mut usize, records: *mut usize) {
    let given = guarded(ptr::null_mut(), || buffers::give(VERSION.load(Ordering::Relaxed)));
    // SAFETY: CUPTI passes places for these three.
    unsafe {
        *buffer = given;
        *size = if given.is_null() { 0 } else { buffers::SIZE };
        *records = 0;
    }
}

extern "C" fn complete(_: *mut c_void, _: u32, buffer: *mut u8, _: usize, used: usize) {
    if buffer.is_null() {
        return;
    }
    guarded((), || read(buffer, used));
    // SAFETY: CUPTI returns a buffer that it was given and does not use it any more.
    guarded((), || unsafe { buffers::take_back(buffer, used) });
}

/// Reads what is in a buffer and writes it to the file.
fn read(buffer: *mut u8, used: usize) {
    let (Some(cupti), Some(recorder)) = (own(), current()) else { return };
    let mut tables = lock(&recorder.tables);
    let mut batch = Batch::default();
    let mut record: *mut u8 = ptr::null_mut();
    // SAFETY: CUPTI steps through its own records; the fields that are read lie inside each of them, see above.
    unsafe {
        while (cupti.api.next)(buffer, used, &raw mut record) == 0 && !record.is_null() {
            read_record(Fields(record), cupti, recorder, &mut tables, &mut batch);
        }
    }
    let mut dropped = 0_usize;
    // SAFETY: the number outlives the call; the context is none, as for all records since CUDA 6.
    if let Some(ask) = cupti.api.dropped
        && unsafe { ask(ptr::null_mut(), 0, &raw mut dropped) } == 0
        && dropped > 0
    {
        DROPPED.fetch_add(dropped as u64, Ordering::Relaxed);
    }
    let mut blocks = Vec::new();
    batch.finish(&mut blocks);
    recorder.write(&mut tables, &blocks);
}

/// The fields of a record, by offset.
#[derive(Clone, Copy)]
struct Fields(*const u8);

impl Fields {
    unsafe fn byte(self, at: usize) -> u8 {
        // SAFETY: the caller knows that the record has this field.
        unsafe { self.0.add(at).read() }
    }

    unsafe fn short(self, at: usize) -> u32 {
        // SAFETY: as above; no alignment is assumed.
        u32::from(unsafe { self.0.add(at).cast::<u16>().read_unaligned() })
    }

    unsafe fn word(self, at: usize) -> u32 {
        // SAFETY: as above.
        unsafe { self.0.add(at).cast::<u32>().read_unaligned() }
    }

    unsafe fn long(self, at: usize) -> u64 {
        // SAFETY: as above.
        unsafe { self.0.add(at).cast::<u64>().read_unaligned() }
    }

    /// Start and end.
    unsafe fn times(self, at: usize) -> [u64; 2] {
        // SAFETY: as above.
        unsafe { [self.long(at), self.long(at + 8)] }
    }

    /// A text that ends in zero.
    unsafe fn text<'a>(self, at: usize) -> &'a [u8] {
        // SAFETY: as above; CUPTI keeps the names of kernels as long as its records are read.
        let text = unsafe { self.0.add(at).cast::<*const c_char>().read_unaligned() };
        // SAFETY: as above.
        if text.is_null() { b"" } else { unsafe { CStr::from_ptr(text) }.to_bytes() }
    }
}

/// Reads one record.
///
/// # Safety
/// It is a record of CUPTI.
unsafe fn read_record(
    record: Fields,
    cupti: &Cupti,
    recorder: &Recorder,
    tables: &mut crate::strings::Tables,
    batch: &mut Batch,
) {
    // SAFETY: each kind has these fields at these offsets, in every version.
    unsafe {
        match record.word(0) {
            kind::CONCURRENT_KERNEL | kind::KERNEL => {
                let times = record.times(16);
                let mut shape = [0_u32; 10];
                shape[0] = tables.text(record.text(104));
                // Grid, block, static and dynamic shared memory lie one behind the other.
                for (at, part) in shape[1..9].iter_mut().enumerate() {
                    *part = record.word(52 + 4 * at);
                }
                shape[9] = record.short(6);
                let (shape, place) = (tables.shape(shape), place(record, 40, tables));
                let origin = Origin { correlation: record.word(92), node: record.long(144) };
                begin_countdown(recorder, times[0]);
                batch.kernel(times, shape, place, origin);
            }
            kind::MEMCPY => {
                let place = place(record, 32, tables);
                let kinds = [record.byte(4), record.byte(5), record.byte(6)];
                let origin = Origin { correlation: record.word(44), node: record.long(64) };
                batch.copy(record.times(16), record.long(8), kinds, place, origin);
            }
            kind::MEMCPY2 => {
                let place = place(record, 32, tables);
                let kinds = [record.byte(4), record.byte(5), record.byte(6)];
                let origin = Origin { correlation: record.word(60), node: record.long(72) };
                batch.copy(record.times(16), record.long(8), kinds, place, origin);
            }
            kind::MEMSET => {
                let place = place(record, 32, tables);
                let origin = Origin { correlation: record.word(44), node: record.long(64) };
                batch.set(record.times(16), record.long(8), place, origin);
            }
            domain @ (kind::DRIVER | kind::RUNTIME) => {
                let names = &cupti.names[usize::from(domain == kind::RUNTIME)];
                let name = names.get(record.word(4) as usize).copied().unwrap_or(0);
                // Calls before the window belong to nothing.
                if name != 0 && recorder.has_begun(record.long(16)) {
                    batch.call(record.times(8), record.word(28), record.word(32), name);
                }
            }
            kind::MEMORY2 => {
                let (operation, memory) = (record.word(4) as u8, record.word(8) as u8);
                let (time, bytes) = (record.long(32), record.long(24));
                batch.memory(time, operation, memory, bytes, record.word(52), record.long(16));
            }
            _ => {}
        }
    }
}

/// Device, context and stream, which lie one behind the other.
unsafe fn place(record: Fields, at: usize, tables: &mut crate::strings::Tables) -> u32 {
    // SAFETY: the caller knows where they are.
    tables.place(unsafe { [record.word(at), record.word(at + 4), record.word(at + 8)] })
}

/// Time that was asked for counts from the first kernel.
fn begin_countdown(recorder: &Recorder, start: u64) {
    if let Some(length) = recorder.wishes.length
        && recorder.ends_at.load(Ordering::Relaxed) == 0
    {
        recorder.ends_at.store(start.saturating_add(length).max(1), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::is_wanted;

    #[test]
    fn calls_that_start_copy_or_wait_are_recorded_and_no_others() {
        for name in [
            "cudaLaunchKernel_v7000",
            "cudaLaunchKernelExC_v11060",
            "cuLaunchKernelEx",
            "cudaMemcpyAsync_v3020",
            "cuMemcpyHtoDAsync_v2",
            "cudaStreamSynchronize_v3020",
            "cudaGraphLaunch_v10000",
        ] {
            assert!(is_wanted(name.as_bytes()), "{name}");
        }
        for name in [
            "cudaGetDevice_v3020",
            "cudaGraphMemcpyNodeSetParams_v10000",
            "cudaEventRecord_v3020",
            "cudaPeekAtLastError_v3020",
        ] {
            assert!(!is_wanted(name.as_bytes()), "{name}");
        }
    }
}
