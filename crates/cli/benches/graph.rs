//! Building and analysing BERT-base: time, and memory against the size of its weights.
//!
//! `cargo bench -p modelmeter-cli --bench graph`
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints and may panic")]

use std::time::Instant;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let request = models::Request {
        offline: true,
        ..models::Request::new("bert-base-uncased", folder.path())
    };
    println!("| what | time | peak resident memory |\n| --- | --- | --- |");
    step("start", || ());
    let resolved = step("build the graph and write its random weights", || {
        models::resolve(&request, &mut |_| {}).unwrap()
    });
    let resolved_again =
        step("resolve it again, prepared", || models::resolve(&request, &mut |_| {}).unwrap());
    assert_eq!(resolved.info.fingerprint, resolved_again.info.fingerprint);
    let inputs = resolved.inputs(4, Some(128), &[]).unwrap();
    let dims: Vec<(String, Vec<usize>)> =
        inputs.into_iter().map(|input| (input.name, input.dims)).collect();
    let analysis =
        step("infer shapes, count work and lifetimes", || graph::analyse(&resolved.model, &dims));
    step("read the written file", || graph::Model::read(&resolved.onnx).unwrap());
    println!(
        "\n{} parameters, {} bytes of weights, {} FLOP, coverage {}",
        analysis.parameters,
        analysis.weight_bytes.0,
        analysis.work.flops.0,
        analysis.work.coverage.0
    );
}

fn step<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let value = work();
    let elapsed = started.elapsed();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("| {what} | {:.1} ms | {} |", elapsed.as_secs_f64() * 1e3, peak.unwrap_or("?").trim());
    value
}
