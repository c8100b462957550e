//! Records of one buffer, put into blocks by kind.

use crate::{
    format::{Kind, put, put_block, put_difference},
    strings::Tables,
};

/// The records of one kind, each as differences to the one before.
#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    count: u32,
    time: u64,
    correlation: u64,
    node: u64,
    thread: u64,
}

impl Stream {
    /// Begins a record: when, and for how long.
    fn begin(&mut self, start: u64, end: u64) {
        self.count += 1;
        put_difference(&mut self.bytes, start, self.time);
        put(&mut self.bytes, end.saturating_sub(start));
        self.time = start;
    }

    fn number(&mut self, value: impl Into<u64>) {
        put(&mut self.bytes, value.into());
    }

    fn correlation(&mut self, correlation: u32) {
        let correlation = u64::from(correlation);
        put_difference(&mut self.bytes, correlation, self.correlation);
        self.correlation = correlation;
    }

    fn node(&mut self, node: u64) {
        put_difference(&mut self.bytes, node, self.node);
        self.node = node;
    }
}

/// Where work on a device came from.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Origin {
    pub(crate) correlation: u32,
    /// The graph's node, 0 if it was launched alone.
    pub(crate) node: u64,
}

/// The records of one buffer.
#[derive(Default)]
pub(crate) struct Batch {
    kernels: Stream,
    copies: Stream,
    sets: Stream,
    calls: Stream,
    memory: Stream,
}

impl Batch {
    pub(crate) fn kernel(&mut self, times: [u64; 2], shape: u32, place: u32, origin: Origin) {
        let out = &mut self.kernels;
        out.begin(times[0], times[1]);
        out.number(shape);
        out.number(place);
        out.correlation(origin.correlation);
        out.node(origin.node);
    }

    /// A copy; `kinds` are CUPTI's numbers for the direction and the memory of source and target.
    pub(crate) fn copy(
        &mut self,
        times: [u64; 2],
        bytes: u64,
        kinds: [u8; 3],
        place: u32,
        origin: Origin,
    ) {
        let out = &mut self.copies;
        out.begin(times[0], times[1]);
        out.number(bytes);
        out.bytes.extend_from_slice(&kinds);
        out.number(place);
        out.correlation(origin.correlation);
        out.node(origin.node);
    }

    pub(crate) fn set(&mut self, times: [u64; 2], bytes: u64, place: u32, origin: Origin) {
        let out = &mut self.sets;
        out.begin(times[0], times[1]);
        out.number(bytes);
        out.number(place);
        out.correlation(origin.correlation);
        out.node(origin.node);
    }

    pub(crate) fn call(&mut self, times: [u64; 2], thread: u32, correlation: u32, name: u32) {
        let out = &mut self.calls;
        out.begin(times[0], times[1]);
        let thread = u64::from(thread);
        put_difference(&mut out.bytes, thread, out.thread);
        out.thread = thread;
        out.correlation(correlation);
        out.number(name);
    }

    /// Memory of a device that was taken (1) or given back (2); `kind` is CUPTI's number.
    pub(crate) fn memory(
        &mut self,
        time: u64,
        operation: u8,
        kind: u8,
        bytes: u64,
        device: u32,
        address: u64,
    ) {
        let out = &mut self.memory;
        out.count += 1;
        put_difference(&mut out.bytes, time, out.time);
        out.time = time;
        out.bytes.extend_from_slice(&[operation, kind]);
        out.number(bytes);
        out.number(device);
        out.number(address);
    }

    /// Everything as blocks.
    pub(crate) fn finish(self, out: &mut Vec<u8>) {
        let streams = [
            (Kind::Kernels, self.kernels),
            (Kind::Copies, self.copies),
            (Kind::Sets, self.sets),
            (Kind::Calls, self.calls),
            (Kind::Memory, self.memory),
        ];
        for (kind, stream) in streams {
            if stream.count > 0 {
                put_block(out, kind, stream.count, &stream.bytes);
            }
        }
    }
}

/// The texts, shapes and places that the file does not have yet.
pub(crate) fn put_fresh(tables: &mut Tables, out: &mut Vec<u8>) {
    let fresh = [
        (Kind::Texts, tables.texts.take_fresh()),
        (Kind::Shapes, tables.shapes.take_fresh()),
        (Kind::Places, tables.places.take_fresh()),
    ];
    for (kind, fresh) in fresh {
        if let Some((count, bytes)) = fresh {
            put_block(out, kind, count, &bytes);
        }
    }
}
