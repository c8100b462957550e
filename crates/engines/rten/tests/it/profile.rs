//! Where the time goes, on small models that the engine really runs.

use crate::{input, request, uncaptured::uncaptured, write_model};
use engine::{Detail, Loader, NodeProfile};
use graph::{Attribute, DataType, GraphBuilder};
use modelmeter_engine_rten::Rten;
use std::{
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};
use types::{Elements, HostTensor, SpanKind};

const RUNS: u64 = 4;

fn profile(onnx: PathBuf, inputs: &[HostTensor], detail: Detail) -> NodeProfile {
    let inputs = inputs.to_vec();
    uncaptured(move || {
        let model = Rten.load(&request(onnx)).unwrap();
        let mut session = model.session().unwrap();
        session.bind(&inputs).unwrap();
        let profile = session.node_profiler().unwrap().profile(RUNS, detail).unwrap();
        assert!(!session.outputs().unwrap().is_empty(), "the last run left its outputs");
        profile
    })
}

fn sum(profile: &NodeProfile) -> u64 {
    profile.nodes.iter().map(|node| node.nanos).sum()
}

/// A transformer encoder of two layers, as `models` builds it.
fn encoder(folder: &Path) -> (PathBuf, Vec<HostTensor>) {
    let description = folder.join("encoder.toml");
    let text = "vocab_size = 60\nd_model = 128\nnum_heads = 4\nnum_layers = 2\nd_ff = 256\n";
    std::fs::write(&description, text).unwrap();
    let name = description.to_str().unwrap();
    let request =
        models::Request { offline: true, ..models::Request::new(name, folder.join("cache")) };
    let resolved = models::resolve(&request, &mut |_| {}).unwrap();
    let specs = resolved.inputs(2, Some(32), &[]).unwrap();
    (resolved.onnx, specs.iter().map(|spec| engine::draw(spec, 7)).collect())
}

#[test]
fn the_nodes_of_a_transformer_lead_to_their_modules_after_fusion() {
    let folder = tempfile::tempdir().unwrap();
    let (onnx, inputs) = encoder(folder.path());
    let graph = graph::Model::read(&onnx).unwrap().graph;
    let profile = profile(onnx, &inputs, Detail::Timeline);
    let modules: Vec<String> =
        graph.nodes.iter().map(|node| graph::module_path(&node.name, &node.op_type)).collect();
    let mut named = 0;
    for node in &profile.nodes {
        assert_eq!(node.calls, RUNS, "{node:?}");
        let module = types::module_of(&node.path, &node.kind, types::Names::Nodes);
        let is_known = module.is_empty() || modules.contains(&module);
        assert!(is_known, "`{}` ({}) leads to `{module}`", node.path, node.kind);
        named += u64::from(!module.is_empty());
    }
    // Masks and positions are made outside all modules.
    assert!(named * 10 > profile.nodes.len() as u64 * 7, "{:?}", profile.nodes);
    let fused = |node: &&engine::NodeTime| node.path.ends_with("/Add") && node.kind != "Add";
    assert!(profile.nodes.iter().any(|node| fused(&node)), "nothing was fused");
    assert!(0 < sum(&profile) && sum(&profile) <= profile.total_nanos, "{profile:?}");

    let timeline = profile.timeline.unwrap();
    assert!(timeline.laid_out);
    let operators = timeline.spans.iter().filter(|span| span.kind == SpanKind::Operator);
    assert_eq!(operators.clone().count(), profile.nodes.len() * RUNS as usize);
    assert!(operators.clone().all(|span| span.path.is_empty() || modules.contains(&span.path)));
}

/// `x` multiplied with itself ten times in a loop, after a branch that is empty on one side.
fn looping(folder: &Path) -> PathBuf {
    let square = [64.into(), 64.into()];
    let mut inner = GraphBuilder::new("then");
    let product = inner.scope("inner", |b| b.node("MatMul", &["sum", "x"], &[]));
    inner.output("then_out", &product, DataType::Float, &square);
    let mut other = GraphBuilder::new("else");
    let same = other.node("Identity", &["sum"], &[]);
    other.output("else_out", &same, DataType::Float, &square);
    let branches = [
        ("then_branch", Attribute::Graph(Box::new(inner.finish()))),
        ("else_branch", Attribute::Graph(Box::new(other.finish()))),
    ];
    let mut body = GraphBuilder::new("body");
    body.input("round", DataType::Int64, &[]);
    let go_on = body.input("go_on", DataType::Bool, &[]);
    body.input("sum", DataType::Float, &square);
    let next = body.scope("body", |b| {
        let next = b.node("If", &[&go_on], &branches);
        b.node("Tanh", &[&next], &[])
    });
    body.output("go_on_out", &go_on, DataType::Bool, &[]);
    body.output("sum_out", &next, DataType::Float, &square);
    let body = Attribute::Graph(Box::new(body.finish()));
    let mut builder = GraphBuilder::new("looping");
    builder.input("x", DataType::Float, &square);
    let rounds = builder.scalar_i64(10);
    let y = builder.scope("repeat", |b| {
        let x = b.node("Neg", &["x"], &[]);
        let y = b.node("Loop", &[&rounds, "", &x], &[("body", body)]);
        b.node("Relu", &[&y], &[])
    });
    builder.output("y", &y, DataType::Float, &square);
    let path = folder.join("looping.onnx");
    builder.finish_model().write(&path).unwrap();
    path
}

#[test]
fn the_time_of_a_loop_and_its_branches_is_not_counted_twice() {
    let folder = tempfile::tempdir().unwrap();
    let elements = Elements::F32(vec![0.01; 64 * 64]);
    let x = HostTensor { name: "x".into(), dims: vec![64, 64], elements };
    let profile = profile(looping(folder.path()), &[x], Detail::Timeline);
    let told: Vec<(&str, u64)> =
        profile.nodes.iter().map(|node| (node.path.as_str(), node.calls)).collect();
    assert_eq!(
        told,
        [
            ("repeat/Neg", RUNS),
            ("repeat/Loop", RUNS),
            ("body/If", 10 * RUNS),
            ("inner/MatMul", 10 * RUNS),
            // What hands the condition on lost its name to a fusion.
            ("/Identity_1", 10 * RUNS),
            ("body/Tanh", 10 * RUNS),
            ("repeat/Relu", RUNS),
        ]
    );
    assert!(sum(&profile) <= profile.total_nanos, "{profile:?}");
    let spans = profile.timeline.unwrap().spans;
    let first = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
    let (outer, branch, product) = (first("Loop"), first("If"), first("MatMul"));
    for (inside, around) in [(branch, outer), (product, branch)] {
        let end = inside.start + inside.length;
        assert!(around.start <= inside.start && end <= around.start + around.length);
    }
}

#[test]
fn nodes_without_names_stay_apart() {
    let folder = tempfile::tempdir().unwrap();
    let onnx = write_model(folder.path(), "Neg");
    let mut model = graph::Model::read(&onnx).unwrap();
    model.graph.nodes.iter_mut().for_each(|node| node.name.clear());
    model.graph.nodes[2].op_type = "Neg".into();
    model.write(&onnx).unwrap();
    let profile = profile(onnx, &input(), Detail::Times);
    let told: Vec<(&str, u64)> =
        profile.nodes.iter().map(|node| (node.path.as_str(), node.calls)).collect();
    assert_eq!(told, [("/Neg_1", RUNS), ("/MatMul_2", RUNS), ("/Neg_3", RUNS)]);
    assert!(profile.timeline.is_none());
}

/// What the child of the test below does.
#[test]
#[ignore = "run by `what_is_printed_after_a_profile_goes_where_it_went_before`"]
fn prints_around_profiles() {
    let folder = tempfile::tempdir().unwrap();
    let model = Rten.load(&request(write_model(folder.path(), "Identity"))).unwrap();
    let mut session = model.session().unwrap();
    let say = |text: &str| writeln!(std::io::stdout(), "{text}").unwrap();
    // Half a line waits in the buffer when the profile begins.
    write!(std::io::stdout(), "before ").unwrap();
    session.bind(&input()).unwrap();
    session.node_profiler().unwrap().profile(2, Detail::Times).unwrap();
    say("after");
    let elements = Elements::F32(vec![1.0; 3]);
    session.bind(&[HostTensor { name: "x".into(), dims: vec![1, 3], elements }]).unwrap();
    session.node_profiler().unwrap().profile(1, Detail::Times).unwrap_err();
    say("after a failure");
}

#[test]
fn what_is_printed_after_a_profile_goes_where_it_went_before() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "profile::prints_around_profiles", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("before after\nafter a failure\n"), "{said}");
    assert!(!said.contains("MatMul") && !said.contains("time:"), "{said}");
}
