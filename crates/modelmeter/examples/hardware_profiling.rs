//! The three reference models side by side: one table, one chart.
//!
//! `cargo run --release -p modelmeter --example hardware_profiling`
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its user")]

use modelmeter::{
    BenchmarkSuite, Event, Outcome, Profiler, Session,
    report::{self, Bar, Column, Glyphs, Table},
};

fn main() -> Result<(), modelmeter::Error> {
    // Every measurement runs in a process of its own: this program again, as a worker.
    modelmeter::serve_if_worker();

    let mut suite = BenchmarkSuite::new([
        Profiler::new("small-transformer").batch_size(8),
        Profiler::new("medium-transformer").batch_size(8),
    ]);
    suite.add_model(Profiler::new("feed-forward-baseline").batch_size(8));

    let outcomes = suite.run_in(&mut Session::without_store(), &mut |event| {
        if let Event::CellStarted { cell, .. } = event {
            eprintln!("measuring {} …", cell.model);
        }
    });

    println!("{}", table(&outcomes));
    println!("{}", chart(&outcomes));
    for outcome in outcomes {
        outcome.result?;
    }
    Ok(())
}

fn table(outcomes: &[Outcome]) -> String {
    let mut table = Table::new([
        Column::left("model"),
        Column::right("median"),
        Column::right("p95"),
        Column::right("samples/s"),
        Column::right("peak memory"),
        Column::right("cores busy"),
        Column::left("verdict"),
    ]);
    for outcome in outcomes {
        let Ok(profile) = &outcome.result else { continue };
        let latency = profile.latency();
        table.push([
            outcome.model.clone(),
            report::seconds(latency.median),
            report::seconds(latency.p95),
            profile.throughput().map(report::rate).unwrap_or_default(),
            profile.peak_memory().map(|peak| report::bytes(peak as u64)).unwrap_or_default(),
            profile.metric("cpu.process.cores").map(|c| format!("{c:.2}")).unwrap_or_default(),
            if profile.is_valid() { "valid".into() } else { "invalid".into() },
        ]);
    }
    table.render(Some(100))
}

fn chart(outcomes: &[Outcome]) -> String {
    let bar = |outcome: &Outcome| {
        let profile = outcome.result.as_ref().ok()?;
        let median = profile.latency().median;
        Some(Bar {
            label: outcome.model.clone(),
            value: Some(median),
            text: report::seconds(median),
        })
    };
    let bars: Vec<Bar> = outcomes.iter().filter_map(bar).collect();
    report::bar_chart("median latency of a batch of 8", &bars, 80, Glyphs::Unicode)
}
