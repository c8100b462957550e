//! What happened when in the made-up model. A fixture; nobody measured it.

use crate::encoder::{Part, block, embeddings};
use types::{Bytes, Counter, Gpu, Span, SpanKind, Timeline, Track};

/// Whether the work of a timeline runs on a device beside the host.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    Host,
    Device,
}

/// What happened in so many samples of a model with so many blocks.
pub(crate) fn timeline(blocks: usize, samples: u64, on: On) -> Timeline {
    let mut tracks = vec![track("worker", "main"), track("worker", "pool 1")];
    if on == On::Device {
        tracks.push(track("cuda:0", "stream 7"));
    }
    let mut scene = Scene { spans: Vec::new(), now: 1_003, free: 0, on, flow: 100 };
    for sample in 0..samples {
        scene.sample(sample, blocks);
    }
    let end = scene.now.max(scene.free);
    let points = |scale: f64| (0..20).map(move |n| (end * n / 20, scale * (1.0 + n as f64 / 40.0)));
    Timeline {
        began_at: 1_794_809_554_123_456,
        tracks,
        spans: scene.spans,
        counters: vec![
            Counter { name: "memory".into(), unit: "MB".into(), points: points(271.3).collect() },
            Counter { name: "processors".into(), unit: "%".into(), points: points(61.0).collect() },
        ],
        critical_path: Vec::new(),
        laid_out: false,
    }
}

/// A GPU as the driver lists it.
pub(crate) fn gpu() -> Gpu {
    Gpu {
        index: 0,
        name: "NVIDIA H200".into(),
        uuid: "GPU-0".into(),
        memory: Bytes(150_754_820_096),
    }
}

fn track(group: &str, name: &str) -> Track {
    Track { group: group.into(), name: name.into() }
}

struct Scene {
    spans: Vec<Span>,
    now: u64,
    /// When the device has finished what it was given.
    free: u64,
    on: On,
    flow: u64,
}

impl Scene {
    fn sample(&mut self, number: u64, blocks: usize) {
        let step = self.open(&format!("sample {number}"), SpanKind::Step, "");
        let tokenise = self.open("tokenise", SpanKind::Phase, "");
        self.now += 331_119;
        self.close(tokenise);
        let inference = self.open("inference", SpanKind::Phase, "");
        self.part(&embeddings(), "");
        let encoder = self.open("encoder", SpanKind::Module, "encoder");
        for block_index in 0..blocks {
            let path = format!("encoder.layer.{block_index}");
            let module = self.open(&path, SpanKind::Module, &path);
            for part in block() {
                self.part(&part, &path);
            }
            self.close(module);
        }
        self.close(encoder);
        self.now = self.now.max(self.free);
        self.close(inference);
        self.close(step);
        self.now += 1_777;
    }

    fn part(&mut self, part: &Part, around: &str) {
        let Part(name, _, class, nanos, _, inside) = part;
        let path = if around.is_empty() { (*name).to_string() } else { format!("{around}.{name}") };
        let module = self.open(&path, SpanKind::Module, &path);
        for part in inside {
            self.part(part, &path);
        }
        if *nanos > 0 {
            for operator in class.split(", ") {
                self.operator(operator, nanos / class.split(", ").count() as u64, &path);
            }
        }
        self.close(module);
    }

    fn operator(&mut self, name: &str, nanos: u64, path: &str) {
        let operator = self.open(name, SpanKind::Operator, path);
        if self.on == On::Host {
            // A helping thread works on the same operator.
            self.push(name, SpanKind::Operator, (1, self.now + 13, nanos / 2), path, None);
            self.now += nanos;
        } else {
            self.now += 2_101;
            self.flow += 1;
            let flow = Some(self.flow);
            self.push("cudaLaunchKernel", SpanKind::Launch, (0, self.now, 3_307), path, flow);
            let start = self.free.max(self.now + 1_559);
            let kernel = format!("void {}_kernel<float, 128>(…)", name.to_lowercase());
            self.push(&kernel, SpanKind::Kernel, (2, start, nanos / 40), path, flow);
            self.free = start + nanos / 40;
            self.now += 3_307 + 1_009;
        }
        self.close(operator);
    }

    fn push(
        &mut self,
        name: &str,
        kind: SpanKind,
        (track, start, length): (u32, u64, u64),
        path: &str,
        flow: Option<u64>,
    ) {
        let (name, path) = (name.to_string(), path.to_string());
        self.spans.push(Span { name, kind, track, start, length, path, flow });
    }

    fn open(&mut self, name: &str, kind: SpanKind, path: &str) -> usize {
        self.push(name, kind, (0, self.now, 0), path, None);
        self.now += 211;
        self.spans.len() - 1
    }

    fn close(&mut self, span: usize) {
        self.spans[span].length = self.now - self.spans[span].start;
    }
}
