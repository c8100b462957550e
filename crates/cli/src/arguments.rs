//! Arguments, help and examples; nothing here does anything.
//!
//! Options that several commands have are defined once, in the groups `model`, `workload`, `engine`, `sampling`,
//! `store` and `result_output`. A command flattens the groups that it has and changes a default or a help text with `mut_arg`.
//! `command::measurement` applies the groups to a measurement.

mod advise;
mod bench;
mod calibrate;
mod capacity;
mod check;
mod compare;
mod db;
mod engine;
mod export;
mod fit;
mod generate;
mod gpu;
mod groups;
mod habits;
mod limit;
#[cfg(test)]
mod lines;
mod lists;
mod load;
mod model;
mod optimise;
mod predict;
mod profile;
mod report;
mod result_output;
mod runs;
mod sampling;
mod serve;
mod serve_bench;
mod server;
mod since;
mod store;
mod survey;
mod training;
mod trend;
mod values;
mod visualize;
mod watch;
mod workload;

pub(crate) use advise::Advise;
pub(crate) use bench::Bench;
pub(crate) use calibrate::Calibrate;
pub(crate) use capacity::CapacityArguments;
pub(crate) use check::{Check, CheckThreshold, Noise};
pub(crate) use compare::{By, Compare, ModeArgument, ModeFilter, load_is_apart};
pub(crate) use db::{Db, DbAction, DbExport, DbImport, DbQuery};
pub(crate) use engine::{
    DeviceArgument, DevicesArgument, EngineArguments, EnginesArgument, PrecisionArgument,
    PrecisionsArgument, ThreadCounts, ThreadsArgument, Tuning,
};
pub(crate) use export::Export;
pub(crate) use fit::Fit;
pub(crate) use generate::{
    Generate, GenerationArguments, ModeArguments, all as all_counts,
    llama_bench as llama_bench_file,
};
pub(crate) use gpu::Gpu;
pub(crate) use habits::{Refusal, parse};
pub(crate) use limit::{LimitArguments, LimitMeans};
pub(crate) use lists::{Completions, Devices, Engines, EnginesAction, Man, Models, Schema};
pub(crate) use load::{LoadArguments, LoadTo, ProgressArgument};
pub(crate) use model::{ModelArguments, Offline, Origin};
pub(crate) use optimise::{
    AlsoArgument, MethodArgument, Optimize, ProofArguments, Prune, Quantize, ScheduleArgument,
    TargetArgument,
};
pub(crate) use predict::{Predict, PredictedMode};
pub(crate) use profile::{IsolationArgument, MemoryArgument, Profile};
pub(crate) use report::Report;
pub(crate) use result_output::{OutputFile, ResultOutput, is_stdout};
pub(crate) use runs::{RunFilter, Runs, RunsAction, RunsDelete, RunsList, RunsShow, RunsTag};
pub(crate) use sampling::{Processes, SampleCounts, Sampling, Timeout, TurnTime, Turns};
pub(crate) use serve::Serve;
pub(crate) use serve_bench::ServeBench;
pub(crate) use server::{Given, ServerArguments};
pub(crate) use store::{NoStore, StoreArguments, Tags};
pub(crate) use survey::{Analyze, Recommend, SurveyArguments};
pub(crate) use training::{LossArgument, OptimizerArgument, TrainingArguments};
pub(crate) use trend::Trend;
pub(crate) use visualize::{FormatArgument, ThemeArgument, Visualize};
pub(crate) use watch::Watch;
pub(crate) use workload::{BatchSize, BatchSizes, Input, Inputs, Seed, Workload};

use crate::terminal::Colour;
use clap::{Arg, ArgAction, Args, Parser, Subcommand};
use std::path::PathBuf;

const AFTER: &str = "\
Exit codes: 0 fine, 1 a gate failed, 2 usage error, 3 not supported on this machine,
4 cannot tell, 70 bug in modelmeter, 130 interrupted

Examples:
  modelmeter profile distilbert-base-uncased
  modelmeter compare distilbert-base-uncased --engines onnxruntime,rten
  modelmeter check model.onnx --threshold latency.p95:100ms
  modelmeter runs list --limit 5";

/// Where options stand that every command has: after the command's own, under the same heading.
const LAST: usize = 1000;

/// Profiles and benchmarks neural models, and says how reliable the numbers are.
#[derive(Debug, Parser)]
#[command(name = "modelmeter", version, disable_help_flag = true, arg = help_flag(), after_help = AFTER)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Python interpreter, or folder of an environment, for torch and installed packages [env: MODELMETER_PYTHON]
    #[arg(long, global = true, value_name = "PATH", help_heading = "Engine", display_order = LAST)]
    pub(crate) python: Option<PathBuf>,
    /// Database: a file, or postgres://USER:PASSWORD@HOST/DATABASE [env: MODELMETER_DB]
    #[arg(long, global = true, value_name = "PATH|URL", help_heading = "Store", display_order = LAST)]
    pub(crate) db: Option<PathBuf>,
    /// Folder for prepared models [env: MODELMETER_CACHE]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub(crate) cache: Option<PathBuf>,
    /// Use of colour
    #[arg(long, alias = "colour", global = true, value_enum, default_value_t = Colour::Auto, value_name = "WHEN", help_heading = "Global options")]
    pub(crate) color: Colour,
    /// No progress and no summary, only errors
    #[arg(long, short, global = true, help_heading = "Global options")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure latency, throughput and memory of one model
    ///
    /// The model runs in a fresh process, is warmed up and sampled until the median is precise. The result says how
    /// reliable the numbers are, and why a run is not valid. How: docs/MEASUREMENT.md
    Profile(Box<Profile>),
    /// Measure how a language model reads a prompt and writes, token by token
    ///
    /// Prefill and decode are measured apart, after as many tokens in the cache as `--depth` says: tokens per second with
    /// their interval, the time to the first token, the growth of a step, and what the cache holds. How:
    /// docs/GENERATION.md
    Generate(Box<Generate>),
    /// Send requests to a served model, and measure how long its users wait
    ///
    /// Requests come by a schedule that does not wait for answers. First token, time between tokens and the whole answer are
    /// counted from that schedule, with the rates that were offered, sent, answered and good. The generator says when it was
    /// late itself. How: docs/LOAD.md
    Load(Box<LoadArguments>),
    /// Record what a program does on NVIDIA GPUs: kernels, copies, idle time by cause
    ///
    /// Any CUDA program, unchanged, with its children and ranks. The driver of the GPU reports every kernel and copy; a
    /// small library in the program writes them down. If something cannot be recorded, the program runs on, and the
    /// result says why. How: docs/GPU.md
    Gpu(Box<Gpu>),
    /// Compare engines, devices, precisions, models or stored runs
    ///
    /// All sides run interleaved, so that drift of the machine affects all of them equally. Their outputs are compared
    /// first; a side with other outputs is not timed. How: docs/MEASUREMENT.md
    Compare(Box<Compare>),
    /// Measure many models and settings by a plan; resumable
    ///
    /// Every combination is a cell, measured by several fresh processes in random order. A cell that crashes, hangs or
    /// runs out of memory is stored with its reason, and the rest continues. Ctrl-C stops after the current cell, a
    /// second Ctrl-C at once; the same command continues later. Plan files: docs/PLANS.md, several machines: docs/FLEET.md
    Bench(Box<Bench>),
    /// Measure in any browser that opens a link: a phone, a laptop with a GPU
    ///
    /// A page is served under a link with a token. The browser that opens it runs the models with WebAssembly, WebGPU or
    /// WebNN, and sends the runs home, where they are stored with the device they ran on. How: docs/BROWSER.md
    ServeBench(Box<ServeBench>),
    /// Measure the peak performance of this machine
    ///
    /// Measures operations per second by precision and bytes per second by cache level and memory. `profile` and
    /// `advise` compare models with these ceilings. How: docs/MEASUREMENT.md
    Calibrate(Calibrate),
    /// Measure the noise floor and drift of this machine
    ///
    /// One model is compared with itself, interleaved. A gate on this machine never reports a change below this noise floor. Every test is stored; from five tests on,
    /// their medians give the drift to expect between stored runs (30% until then).
    Noise(Box<Noise>),
    /// Write a report on stored runs: HTML, Markdown, JSON, CSV, JUnit
    ///
    /// Nothing is measured. Without an output option the report goes to the terminal. Contents: docs/REPORTS.md
    Report(Box<Report>),
    /// Draw charts of stored runs
    ///
    /// Draws throughput, latency, memory, batch scaling, training, roofline and more, as SVG and PNG. Runs are pooled as in `modelmeter analyze`. Nothing is measured. The charts and how to read them: docs/PICTURES.md
    Visualize(Box<Visualize>),
    /// Compare all stored runs: speed-up, best batch size, Pareto front
    ///
    /// The newest valid runs of the same model, machine, device, engine, precision and batch size are pooled, at most 8.
    /// Nothing is measured. Columns and formulas: docs/ANALYSIS.md
    Analyze(Box<Analyze>),
    /// List, show, label and delete stored runs
    Runs(Runs),
    /// Show the history of a metric, and where its level changed
    ///
    /// A history is one cell on one machine; machines are never mixed. Change points are found by a published method,
    /// and autocorrelated noise is accounted for. How: docs/TREND.md
    Trend(Box<Trend>),
    /// List devices and engines, and why some are not available
    Devices(Devices),
    /// List the models that are known by name
    Models(Models),
    /// List engines, or install one
    Engines(Engines),
    /// Recommend device, engine, precision and batch size
    ///
    /// Chooses among stored runs; nothing is measured. Only valid runs of this tool count; `--imported` adds results of other tools. Limits and ties: docs/ANALYSIS.md
    Recommend(Box<Recommend>),
    /// Tell how many replicas a rate of requests takes
    ///
    /// Replicas behind a router are simulated from stored distributions of service times; nothing is measured. The answer
    /// has a 95 % interval. How: docs/LOAD.md
    Capacity(Box<CapacityArguments>),
    /// Predict times that were never measured, with an interval
    ///
    /// Learns from stored runs, or from tables of measured times (`--learn-from`), and answers for a model, engine or hardware
    /// that was not measured, with a 90% interval. What is too far from all that was measured is refused. `--backtest` checks
    /// predictions on times that were held out. Nothing is measured and nothing is stored. How: docs/PREDICTION.md
    Predict(Box<Predict>),
    /// Suggest what makes a model faster or smaller, and prove it
    ///
    /// Measures the model, or takes a stored run, and estimates the gain of each suggestion from the numbers. `--try`
    /// measures whether it is true.
    Advise(Box<Advise>),
    /// Find the best batch size and precision under a memory limit
    ///
    /// Best is the highest throughput. Every try is a fresh worker whose memory is limited by the system: by a control group if possible, otherwise by
    /// RLIMIT_DATA. Short runs find the largest batch size that fits; the best one is measured fully and stored with the
    /// label `fit`. How: docs/FIT.md
    Fit(Box<Fit>),
    /// Check a model against thresholds or a baseline: a gate for CI
    ///
    /// Thresholds and baselines are checked with fresh processes, after a quarter, a half and all of them; the check
    /// stops when everything is decided. `--against` is the most sensitive: both sides run interleaved, so drift of the
    /// machine cancels. How: docs/CI.md
    Check(Box<Check>),
    /// Measure a plan on a schedule, and alert on regressions
    ///
    /// Every cycle measures every cell of the plan, stores the runs and looks for change points in the history
    /// (docs/TREND.md). A regression is reported once: its first run gets the label `alerted:METRIC`. A cycle without a
    /// valid run is an alert too (`kind` is `cannot-tell`). A command gets the alert as JSON on standard input and in
    /// variables MODELMETER_…. Ctrl-C stops after the current cell.
    Watch(Box<Watch>),
    /// Remove weights, heads or neurons, and measure the effect
    ///
    /// The result is a folder: `onnx/model.onnx` for engines, `config.json` and `model.safetensors` for transformers, and
    /// the tokenizer. It is then compared with the original, interleaved: speed, outputs, and why it did or did not
    /// help. How: docs/OPTIMISE.md
    Prune(Box<Prune>),
    /// Convert to int8, fp16 or bf16, and measure the effect
    ///
    /// int8 is dynamic by default; `--calibrate` makes it static, `--weights-only` makes the model smaller but not
    /// faster. fp16 and bf16 also write a folder for transformers. How: docs/OPTIMISE.md
    Quantize(Box<Quantize>),
    /// Search pruning and quantisation for the best model
    ///
    /// Tries fp16, bf16, int8 (dynamic, weights only, static with --calibrate), structured pruning of 10, 20 and 30%, and
    /// combinations, each compared with the original, interleaved. Candidates over the drift limit are dropped; the best
    /// by the lower end of its interval is kept. How: docs/OPTIMISE.md
    Optimize(Box<Optimize>),
    /// Write a model as one ONNX file, and verify its outputs
    ///
    /// Every available engine that takes ONNX files loads the file, and its outputs are compared with the model: with
    /// PyTorch's module if torch is installed, else with the graph before it was written. Weights over 2 GB go to
    /// FILE.onnx.data.
    Export(Box<Export>),
    /// Manage the database: status, queries, export and import
    ///
    /// A database is a file, or a server: postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=require. Set a password in
    /// MODELMETER_DB, not in `--db`, where other users of the machine can see it.
    Db(Db),
    /// Show stored runs and running measurements as a live page
    ///
    /// A page for the browser on this machine: what is measured at this moment, plans, runs, comparisons, histories. It needs
    /// the token of the address that is printed, it can only be read, and it asks nobody but this server. Documents of
    /// `--json` are under /api, numbers for Prometheus under /metrics. How: docs/SERVE.md
    Serve(Serve),
    /// Measure what another machine asks for
    #[command(name = "__host", hide = true)]
    Host,
    /// Print completions for bash, zsh, fish and other shells
    ///
    /// They complete commands, options, models, engines, devices and ids of stored runs.
    Completions(Completions),
    /// Write man pages
    Man(Man),
    /// Print the JSON Schema of a document that `--json` prints
    #[command(hide = true)]
    Schema(Schema),
}

/// The parser's own flag stands alone under a heading of its own, before all others.
fn help_flag() -> Arg {
    let flag = Arg::new("help").long("help").short('h').action(ArgAction::Help).global(true);
    flag.help("Print help; `-h` prints a summary")
        .help_heading("Global options")
        .display_order(LAST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_do_not_contradict_each_other() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn the_seeds_own_flags_work() {
        let words = "modelmeter profile --model gpt2 --num-runs 5 --warmup-runs 2 --output auto --output-dir results";
        let parsed = Arguments::try_parse_from(words.split(' ')).unwrap();
        let Command::Profile(profile) = parsed.command else { panic!("not profile") };
        assert_eq!(profile.model.name(), Some("gpt2"));
        let counts = &profile.sampling.counts;
        assert_eq!((counts.runs, counts.warmup), (Some(5), Some(2)));
    }

    /// Every option stands under a heading, and all headings are on one list.
    #[test]
    fn headings_are_few_and_the_same_everywhere() {
        const HEADINGS: [&str; 17] = [
            "Workload",
            "Engine",
            "Sampling",
            "Output",
            "Store",
            "Gate",
            "Global options",
            "Advice",
            "Breakdown",
            "Comparison",
            "Filter",
            "Objective",
            "Plan",
            "Pruning",
            "Quantisation",
            "Search",
            "Server",
        ];
        let mut command = Arguments::command();
        command.build();
        let mut measuring: Vec<_> =
            command.get_subcommands().filter(|one| !one.is_hide_set()).collect();
        measuring.retain(|one| {
            !["runs", "db", "engines", "completions", "man", "help"].contains(&one.get_name())
        });
        for command in measuring {
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                if ["help", "version"].contains(&arg.get_id().as_str()) {
                    continue;
                }
                let heading = arg.get_help_heading().unwrap_or("none");
                let known =
                    HEADINGS.contains(&heading) || heading == "Trend" || heading == "Prediction";
                assert!(known, "{} {}: {heading}", command.get_name(), arg.get_id());
            }
        }
    }
}
