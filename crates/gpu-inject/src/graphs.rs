//! Nodes of CUDA graphs: which ranges were open when each was added, and which node it became when the graph was
//! instantiated. That needs CUPTI's one subscription, which is why it is asked for.

use crate::{
    api::Api,
    cupti,
    format::{Event, Kind, put_block, put_difference},
    guarded, nvtx,
    process::current,
    recorder::{Recorder, lock},
    trouble::Trouble,
};
use std::{
    ffi::c_void,
    ptr,
    sync::{
        Mutex,
        atomic::{AtomicPtr, Ordering},
    },
};

const RESOURCES: u32 = 3;
const NODE_CREATED: u32 = 13;
const NODE_CLONED: u32 = 20;

static SUBSCRIBER: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// Nodes that were copied, and are not in the file yet.
#[derive(Default)]
struct Clones {
    bytes: Vec<u8>,
    count: u32,
    node: u64,
    original: u64,
}

static CLONES: Mutex<Clones> =
    Mutex::new(Clones { bytes: Vec::new(), count: 0, node: 0, original: 0 });

/// Hears of every node from now on.
pub(crate) fn subscribe(recorder: &Recorder, api: &Api) {
    let (Some(subscribe), Some(enable), Some(_)) =
        (api.subscribe, api.enable_callback, api.node_number)
    else {
        return recorder.trouble(Trouble::NoGraphs, "cuptiSubscribe is missing");
    };
    let mut subscriber = ptr::null_mut();
    // SAFETY: the place outlives the call, and the callback stays where it is.
    let answer = unsafe { subscribe(&raw mut subscriber, heard, ptr::null_mut()) };
    if answer != 0 {
        return recorder.trouble(Trouble::NoGraphs, &api.say(answer));
    }
    SUBSCRIBER.store(subscriber, Ordering::Relaxed);
    for event in [NODE_CREATED, NODE_CLONED] {
        // SAFETY: the subscriber was given by the call above.
        let answer = unsafe { enable(1, subscriber, RESOURCES, event) };
        if answer != 0 {
            recorder.trouble(Trouble::NoGraphs, &api.say(answer));
        }
    }
}

/// Hears nothing any more, so that another tool may.
pub(crate) fn unsubscribe(api: &Api) {
    let subscriber = SUBSCRIBER.swap(ptr::null_mut(), Ordering::Relaxed);
    if let (false, Some(unsubscribe)) = (subscriber.is_null(), api.unsubscribe) {
        // SAFETY: it was given by CUPTI and is used no more.
        unsafe { unsubscribe(subscriber) };
    }
}

/// The part of CUPTI's `CUpti_ResourceData` that leads to the graph.
#[repr(C)]
struct Resource {
    context: *mut c_void,
    handle: *mut c_void,
    graph: *const Graph,
}

/// The beginning of CUPTI's `CUpti_GraphData`.
#[repr(C)]
struct Graph {
    graph: *mut c_void,
    original_graph: *mut c_void,
    node: *mut c_void,
    original_node: *mut c_void,
}

extern "C" fn heard(_: *mut c_void, domain: u32, event: u32, data: *const c_void) {
    if domain == RESOURCES && !data.is_null() {
        // SAFETY: for this domain CUPTI passes such data.
        guarded((), || unsafe { node(event, data.cast()) });
    }
}

unsafe fn node(event: u32, data: *const Resource) {
    let (Some(api), Some(recorder)) = (cupti::api(), current()) else { return };
    // SAFETY: for events of nodes the descriptor is the graph's.
    let Some(graph) = (unsafe { (*data).graph.as_ref() }) else { return };
    // SAFETY: nodes that CUPTI names exist during the callback.
    let number = |node: *mut c_void| unsafe {
        let mut number = 0;
        let known = !node.is_null() && api.node_number?(node, &raw mut number) == 0;
        known.then_some(number)
    };
    match event {
        NODE_CREATED => {
            if let Some(number) = number(graph.node) {
                nvtx::note(recorder, Event::Node, &[number]);
            }
        }
        NODE_CLONED => {
            let (Some(node), Some(original)) = (number(graph.node), number(graph.original_node))
            else {
                return;
            };
            let mut clones = lock(&CLONES);
            let before = (clones.node, clones.original);
            put_difference(&mut clones.bytes, node, before.0);
            put_difference(&mut clones.bytes, original, before.1);
            (clones.node, clones.original) = (node, original);
            clones.count += 1;
        }
        _ => {}
    }
}

/// Writes what was heard of copied nodes.
pub(crate) fn write_clones(recorder: &Recorder) {
    let clones = std::mem::take(&mut *lock(&CLONES));
    if clones.count > 0 {
        let mut block = Vec::new();
        put_block(&mut block, Kind::Clones, clones.count, &clones.bytes);
        recorder.write(&mut lock(&recorder.tables), &block);
    }
}
