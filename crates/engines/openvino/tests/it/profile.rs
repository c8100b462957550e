//! Where the time of a small model goes.

use crate::{load, models, tensor};
use engine::{Detail, EngineErrorKind};
use types::{Elements, SpanKind};

#[test]
fn a_profile_names_the_nodes_of_the_file_and_its_parts_are_not_more_than_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let model = load(&models::wide(folder.path()));
    let mut session = model.session().unwrap();
    let elements = Elements::F32(vec![1.0; 64 * models::WIDE]);
    session.bind(&[tensor("x", &[64, models::WIDE], elements)]).unwrap();
    session.infer().unwrap();
    let profile = session.node_profiler().unwrap().profile(5, Detail::Times).unwrap();
    assert_eq!(profile.runs, 5);
    for name in ["encoder.first.MatMul", "encoder.first.Erf", "encoder.second.MatMul"] {
        let node = profile.nodes.iter().find(|node| node.path == name);
        let node = node.unwrap_or_else(|| panic!("no `{name}` in {profile:?}"));
        assert_eq!(node.calls, 5);
        assert!(!node.kind.is_empty());
        assert!(node.nanos > 0, "{profile:?}");
    }
    let sum: u64 = profile.nodes.iter().map(|node| node.nanos).sum();
    assert!(sum <= profile.total_nanos, "{profile:?}");
    // The session goes on as before.
    assert_eq!(session.outputs().unwrap()[0].dims, [64, models::WIDE]);
    session.infer().unwrap();
}

#[test]
fn a_profile_without_inputs_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let model = load(&models::dense(folder.path(), "Identity"));
    let mut session = model.session().unwrap();
    let error = session.node_profiler().unwrap().profile(1, Detail::Times).unwrap_err();
    assert_eq!(error.kind, EngineErrorKind::BadInput);
}

#[test]
fn the_nodes_of_a_transformer_lead_to_modules_and_every_run_of_the_timeline_shows_them() {
    let folder = tempfile::tempdir().unwrap();
    let (onnx, inputs) = models::encoder(folder.path());
    let graph = graph::Model::read(&onnx).unwrap().graph;
    let modules: Vec<String> =
        graph.nodes.iter().map(|node| graph::module_path(&node.name, &node.op_type)).collect();
    let model = load(&onnx);
    let mut session = model.session().unwrap();
    session.bind(&inputs).unwrap();
    let profile = session.node_profiler().unwrap().profile(4, Detail::Timeline).unwrap();
    let products = profile.nodes.iter().filter(|node| node.kind == "FullyConnected");
    for node in products.clone() {
        let module = types::module_of(&node.path, "MatMul", types::Names::Nodes);
        assert!(modules.contains(&module), "`{}` leads to `{module}`", node.path);
    }
    assert!(products.count() >= 8, "{:?}", profile.nodes);
    let timeline = profile.timeline.unwrap();
    assert!(timeline.laid_out);
    let operators = timeline.spans.iter().filter(|span| span.kind == SpanKind::Operator);
    assert_eq!(operators.count(), profile.nodes.len() * 4);
    assert!(profile.remarks.iter().any(|remark| remark.code == types::RemarkCode::MeanTimeline));
}
