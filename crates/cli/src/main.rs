//! The `modelmeter` command: arguments in, one file a command.
//!
//! The only crate that reads arguments and environment, prints and exits.

mod arguments;
mod candidates;
mod checkout;
mod command;
mod exit;
mod failure;
mod interrupt;
mod live;
mod output;
mod parent;
mod places;
mod progress;
mod shortage;
mod sinks;
mod terminal;

use arguments::{Arguments, Command};
use exit::Exit;
use failure::Failure;
use sinks::Sinks;
use std::process::ExitCode;

/// The system's allocator; a worker that is asked where its memory goes writes down what it does.
#[global_allocator]
static ALLOCATOR: probe::TrackingAllocator = probe::TrackingAllocator;

fn main() -> ExitCode {
    // A worker is this program again, before anything else could print.
    modelmeter::serve_if_worker();
    parent::end_with_parent();
    // A shell asks what could come next; it reads standard output alone.
    if command::completions::answer() {
        return Exit::Fine.into();
    }
    install_panic_message();
    shortage::explain_refused_memory();
    terminal::outlive_file_limits();
    let arguments = match arguments::parse(std::env::args_os()) {
        Ok(arguments) => arguments,
        Err(refusal) => return exit::after_parsing(&refusal),
    };
    let colour = terminal::wants_colour(arguments.global.color, terminal::Stream::Error);
    live::begin(&arguments.command, &arguments.global);
    let exit = run(&arguments).unwrap_or_else(|failure| {
        output::complain(&failure.render(colour));
        failure.exit
    });
    live::end(exit as i32);
    exit.into()
}

fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let global = &arguments.global;
    match &arguments.command {
        Command::Profile(profile) => command::profile::run(profile, global),
        Command::Generate(generate) => command::generate::run(generate, global),
        Command::Load(load) => command::load::run(load, global),
        Command::Gpu(gpu) => command::gpu::run(gpu, global),
        Command::Compare(compare) => command::compare::run(compare, global),
        Command::Bench(bench) => command::bench::run(bench, global),
        Command::ServeBench(bench) => command::serve_bench::run(bench, global),
        Command::Analyze(analyze) => command::survey::analyze(analyze, global),
        Command::Trend(trend) => command::trend::run(trend, global),
        Command::Watch(watch) => command::watch::run(watch, global),
        Command::Visualize(visualize) => command::visualize::run(visualize, global),
        Command::Report(report) => command::report::run(report, global),
        Command::Recommend(recommend) => command::survey::recommend(recommend, global),
        Command::Predict(predict) => command::predict::run(predict, global),
        Command::Fit(fit) => command::fit::run(fit, global),
        Command::Prune(prune) => command::prune::run(prune, global),
        Command::Quantize(quantize) => command::quantize::run(quantize, global),
        Command::Export(export) => command::export::run(export, global),
        Command::Optimize(optimize) => command::optimize::run(optimize, global),
        Command::Capacity(capacity) => command::capacity::run(capacity, global),
        Command::Advise(advise) => command::advise::run(advise, global),
        Command::Check(check) => command::check::run(check, global),
        Command::Noise(noise) => command::check::noise(noise, global),
        Command::Calibrate(calibrate) => command::calibrate::run(calibrate, global),
        Command::Engines(engines) => command::engines::run(engines, global),
        Command::Models(models) => command::models::run(models, global),
        Command::Devices(devices) => command::devices::run(devices, global),
        Command::Runs(runs) => command::runs::run(runs, global),
        Command::Db(db) => command::db::run(db, global),
        Command::Serve(serve) => command::serve::run(serve, global),
        Command::Host => command::bench::serve(global),
        Command::Completions(completions) => command::completions::run(completions),
        Command::Man(man) => command::man::run(man),
        Command::Schema(schema) => command::schema::run(schema),
    }
}

/// A panic is our bug; people see one sentence, and the details when they ask.
fn install_panic_message() {
    let details = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // A library over a file that it cannot read: whoever called it says so.
        if types::is_caught() {
            return;
        }
        if let Some(failure) = panic.payload_as_str().and_then(shortage::of_panic) {
            output::complain(&failure.render(false));
            #[expect(clippy::exit, reason = "nothing can go on without the thread")]
            std::process::exit(failure.exit as i32);
        }
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0") {
            details(panic);
        }
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        output::complain(&format!(
            "error: modelmeter has a bug (at {place}); stored runs are safe\nhint: run again with `RUST_BACKTRACE=1` \
             and report what it prints\n"
        ));
        #[expect(clippy::exit, reason = "the documented status of our own bugs")]
        std::process::exit(Exit::Bug as i32);
    }));
}
