//! Where the time goes.

use crate::{load, models, tensor};
use engine::Detail;
use types::{Elements, Span, SpanKind};

#[test]
fn a_profile_names_the_nodes_of_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let model = load(models::write(folder.path(), &models::dense("Neg")));
    let mut session = model.session().unwrap();
    let rows = 20_000;
    session.bind(&[tensor("x", &[rows, 2], Elements::F32(vec![1.0; rows * 2]))]).unwrap();
    let profile = session.node_profiler().unwrap().profile(3, Detail::Times).unwrap();
    assert_eq!(profile.runs, 3);
    let paths: Vec<&str> = profile.nodes.iter().map(|node| node.path.as_str()).collect();
    assert_eq!(paths, ["encoder.dense.Neg", "encoder.dense.MatMul", "encoder.dense.Relu"]);
    assert!(profile.nodes.iter().all(|node| node.calls == 3), "{profile:?}");
    assert_eq!(profile.nodes[1].kind, "MatMul");
    let sum: u64 = profile.nodes.iter().map(|node| node.nanos).sum();
    assert!(0 < sum && sum <= profile.total_nanos, "{profile:?}");
}

#[test]
fn the_time_of_a_loop_is_not_counted_twice() {
    let folder = tempfile::tempdir().unwrap();
    let model = load(models::write(folder.path(), &models::looping()));
    let mut session = model.session().unwrap();
    session.bind(&[tensor("x", &[64, 64], Elements::F32(vec![0.01; 64 * 64]))]).unwrap();
    let profile = session.node_profiler().unwrap().profile(5, Detail::Times).unwrap();
    let calls = |kind: &str| profile.nodes.iter().find(|node| node.kind == kind).unwrap().calls;
    assert_eq!((calls("Loop"), calls("MatMul")), (5, 50));
    let sum: u64 = profile.nodes.iter().map(|node| node.nanos).sum();
    assert!(sum <= profile.total_nanos, "{profile:?}");
}

#[test]
fn the_timeline_of_a_transformer_has_every_call_with_its_module() {
    let folder = tempfile::tempdir().unwrap();
    let (onnx, inputs) = models::encoder(folder.path());
    let graph = graph::Model::read(&onnx).unwrap().graph;
    let modules: Vec<String> =
        graph.nodes.iter().map(|node| graph::module_path(&node.name, &node.op_type)).collect();
    let model = load(onnx);
    let mut session = model.session().unwrap();
    session.bind(&inputs).unwrap();
    let profile = session.node_profiler().unwrap().profile(4, Detail::Timeline).unwrap();
    let calls: u64 = profile.nodes.iter().map(|node| node.calls).sum();
    let timeline = profile.timeline.unwrap();
    assert!(!timeline.laid_out);
    let operators: Vec<&Span> =
        timeline.spans.iter().filter(|span| span.kind == SpanKind::Operator).collect();
    assert_eq!(operators.len() as u64, calls);
    for span in &operators {
        assert!(span.path.is_empty() || modules.contains(&span.path), "{span:?}");
    }
    // A fusion may leave a node without a name that says a module, but not many.
    let named = operators.iter().filter(|span| !span.path.is_empty()).count();
    assert!(named * 10 > operators.len() * 7, "{named} of {}", operators.len());
    // The library's clock and ours are of one mind about how long a run takes.
    let told: u64 = timeline
        .spans
        .iter()
        .filter(|span| span.kind == SpanKind::Phase)
        .map(|span| span.length)
        .sum();
    assert!(told <= profile.total_nanos + 4 * 1000, "{told} of {}", profile.total_nanos);
}
