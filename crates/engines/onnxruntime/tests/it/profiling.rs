//! Where the time goes.

use crate::{load, models, tensor};
use types::Elements;

#[test]
fn a_profile_names_the_nodes_of_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let model = load(models::write(folder.path(), &models::dense("Neg")));
    let mut session = model.session().unwrap();
    let rows = 20_000;
    session.bind(&[tensor("x", &[rows, 2], Elements::F32(vec![1.0; rows * 2]))]).unwrap();
    let profile = session.node_profiler().unwrap().profile(3, engine::Detail::Times).unwrap();
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
    let profile = session.node_profiler().unwrap().profile(5, engine::Detail::Times).unwrap();
    let calls = |kind: &str| profile.nodes.iter().find(|node| node.kind == kind).unwrap().calls;
    assert_eq!((calls("Loop"), calls("MatMul")), (5, 50));
    let sum: u64 = profile.nodes.iter().map(|node| node.nanos).sum();
    assert!(sum <= profile.total_nanos, "{profile:?}");
}
