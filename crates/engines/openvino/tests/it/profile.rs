//! Where the time of a small model goes.

use crate::{load, models, tensor};
use engine::EngineErrorKind;
use types::Elements;

#[test]
fn a_profile_names_the_nodes_of_the_file_and_its_parts_are_not_more_than_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let model = load(&models::wide(folder.path()));
    let mut session = model.session().unwrap();
    let elements = Elements::F32(vec![1.0; 64 * models::WIDE]);
    session.bind(&[tensor("x", &[64, models::WIDE], elements)]).unwrap();
    session.infer().unwrap();
    let profile = session.node_profiler().unwrap().profile(5, engine::Detail::Times).unwrap();
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
    let error = session.node_profiler().unwrap().profile(1, engine::Detail::Times).unwrap_err();
    assert_eq!(error.kind, EngineErrorKind::BadInput);
}
