//! One recorder a process, also after a fork; the thread that writes regularly; the end.

use crate::{
    cupti, guarded,
    recorder::{Recorder, Wishes, lock},
    system,
};
use std::{
    ptr,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicPtr, Ordering},
    },
    time::Duration,
};

/// How often events and complete records are written: a process that is killed loses no more than two of these.
const PERIOD: Duration = Duration::from_millis(250);

static CURRENT: AtomicPtr<Recorder> = AtomicPtr::new(ptr::null_mut());
/// Whether nothing was asked for, or the process is about to end.
static IS_OVER: AtomicBool = AtomicBool::new(false);
static IS_WATCHED: AtomicBool = AtomicBool::new(false);
/// Held while the thread of ours works, so that the end waits for it.
static AT_WORK: Mutex<()> = Mutex::new(());

/// The recorder of this process; none if nothing was asked for.
pub(crate) fn current() -> Option<&'static Recorder> {
    let known = CURRENT.load(Ordering::Acquire);
    if known.is_null() {
        return begin();
    }
    // SAFETY: a recorder that was put there is never freed.
    Some(unsafe { &*known })
}

/// The recorder, if there is one already.
pub(crate) fn existing() -> Option<&'static Recorder> {
    // SAFETY: a recorder that was put there is never freed.
    unsafe { CURRENT.load(Ordering::Acquire).as_ref() }
}

fn begin() -> Option<&'static Recorder> {
    if IS_OVER.load(Ordering::Relaxed) {
        return None;
    }
    let Some(wishes) = Wishes::read() else {
        IS_OVER.store(true, Ordering::Relaxed);
        return None;
    };
    let mine = Box::into_raw(Box::new(Recorder::new(wishes)));
    let other =
        CURRENT.compare_exchange(ptr::null_mut(), mine, Ordering::AcqRel, Ordering::Acquire);
    let recorder = match other {
        Ok(_) => mine,
        Err(first) => {
            // SAFETY: nobody else has seen it.
            drop(unsafe { Box::from_raw(mine) });
            first
        }
    };
    // SAFETY: a recorder that was put there is never freed.
    let recorder = unsafe { &*recorder };
    if other.is_ok() {
        std::panic::set_hook(Box::new(|_| {}));
        if !IS_WATCHED.swap(true, Ordering::Relaxed) {
            system::in_children(after_fork);
            system::at_exit(at_end);
        }
        system::quiet_thread(move || guarded((), || work(recorder)));
    }
    Some(recorder)
}

/// Writes regularly until the process or its recording ends.
fn work(recorder: &'static Recorder) {
    loop {
        std::thread::sleep(PERIOD);
        let _at_work = lock(&AT_WORK);
        if IS_OVER.load(Ordering::Relaxed) {
            return;
        }
        recorder.flush_events();
        let ends_at = recorder.ends_at.load(Ordering::Relaxed);
        if recorder.is_over.load(Ordering::Relaxed) || (ends_at > 0 && system::now() >= ends_at) {
            cupti::stop(recorder);
            recorder.flush_events();
            return;
        }
        cupti::flush(false);
    }
}

/// A child begins anew: what it inherited belongs to its parent, and the parent's locks may be held for ever.
extern "C" fn after_fork() {
    CURRENT.store(ptr::null_mut(), Ordering::Release);
}

extern "C" fn at_end() {
    guarded((), || {
        let Some(recorder) = existing() else { return };
        // In a child that was forked while the parent worked, the lock may be held by nobody who lives.
        let is_own = recorder.process == std::process::id();
        let at_work = if cupti::is_own() { Some(lock(&AT_WORK)) } else { AT_WORK.try_lock().ok() };
        IS_OVER.store(true, Ordering::Relaxed);
        drop(at_work);
        if is_own {
            cupti::finish(recorder);
            recorder.end();
        }
    });
}
