//! Prunes a transformer encoder by magnitude and by structure, and says what that did.
//!
//! `cargo run --release -p modelmeter --example model_optimization -- --size small|medium`
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its user")]

use modelmeter::{
    Profiler, Prover, Pruner, PruningConfig, PruningMethod, Session,
    report::{self, Style},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Every measurement runs in a process of its own: this program again, as a worker.
    modelmeter::serve_if_worker();

    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let preset = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--size", "small"] | [] => "encoder-small",
        ["--size", "medium"] => "encoder-medium",
        _ => return Err("usage: model_optimization [--size small|medium]".into()),
    };
    let model = Profiler::new(preset).batch_size(4).sequence_length(64).offline(true);
    let folder = tempfile::tempdir()?;
    let mut session = Session::without_store();

    for (name, config) in [
        ("magnitude", PruningConfig::new(PruningMethod::Magnitude, 0.5)),
        ("structured", PruningConfig::new(PruningMethod::Structured, 0.3)),
    ] {
        eprintln!("pruning {preset} by {name} …");
        let pruner = Pruner::new(config);
        let pruned = pruner.prune(&model, &folder.path().join(name), false, &mut |_| {})?;
        let prover = Prover::new().engines(["rten".into()]);
        let proof = prover.prove(&model, &pruned, &mut session, &mut |_| {})?;
        println!("{}", report::proof_document(&proof).terminal(&Style::default(), Some(80)));
    }
    Ok(())
}
