//! What happened when, under PyTorch's own profiler.

use crate::{
    conformance::{EXPECTED, small_job},
    worker::{Worker, values},
};
use engine::{Detail, NodeProfile, Reply, Request};
use types::{Span, SpanKind};

fn profile(worker: &mut Worker, count: u64, detail: Detail) -> NodeProfile {
    match worker.ask(&Request::Profile { count, detail }) {
        Reply::Profiled { profile: Some(profile) } => profile,
        other => panic!("{other:?}"),
    }
}

#[test]
fn operators_lie_inside_the_modules_that_run_them() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = Worker::start();
    worker.load(&small_job(folder.path()));
    let profile = profile(&mut worker, 3, Detail::Timeline);
    let timeline = profile.timeline.unwrap();
    assert!(!timeline.laid_out);
    assert_eq!(
        (timeline.tracks[0].group.as_str(), timeline.tracks[0].name.as_str()),
        ("worker", "main")
    );
    let of = |kind: SpanKind| -> Vec<&Span> {
        timeline.spans.iter().filter(|span| span.kind == kind).collect()
    };
    let modules = of(SpanKind::Module);
    // What the profile tells of modules and what the timeline does is the same.
    for node in &profile.nodes {
        let calls = modules.iter().filter(|span| span.path == node.path).count();
        assert_eq!(calls as u64, node.calls, "{}", node.path);
    }
    let products: Vec<&Span> =
        of(SpanKind::Operator).into_iter().filter(|span| span.name == "aten::linear").collect();
    let paths: Vec<&str> = products.iter().map(|span| span.path.as_str()).collect();
    assert_eq!(paths, ["layers.0", "layers.2"].repeat(3));
    for product in products {
        let around = modules.iter().any(|module| {
            module.path == product.path
                && module.start <= product.start
                && product.start + product.length <= module.start + module.length
        });
        assert!(around, "{product:?}");
    }
}

#[test]
fn a_profile_leaves_the_module_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = Worker::start();
    worker.load(&small_job(folder.path()));
    for detail in [Detail::Times, Detail::Timeline, Detail::Times] {
        let profile = profile(&mut worker, 2, detail);
        let calls: Vec<u64> = profile.nodes.iter().map(|node| node.calls).collect();
        assert!(calls.iter().all(|&calls| calls == 2), "wrapped twice: {calls:?}");
        let outputs = worker.outputs(folder.path());
        assert_eq!(values(&outputs, "output"), EXPECTED);
    }
}
