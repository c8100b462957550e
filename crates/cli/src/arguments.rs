//! Arguments, help and examples; nothing here does anything.

mod advise;
mod bench;
mod calibrate;
mod check;
mod compare;
mod db;
mod export;
mod fit;
mod limit;
mod optimise;
mod report;
mod runs;
mod since;
mod survey;
mod training;
mod trend;
mod visualize;
mod watch;

pub(crate) use advise::Advise;
pub(crate) use bench::Bench;
pub(crate) use calibrate::Calibrate;
pub(crate) use check::{Check, Noise};
pub(crate) use compare::{By, Compare, Engines, EnginesAction, ModeArgument};
pub(crate) use db::{Db, DbAction, DbExport, DbImport, DbQuery};
pub(crate) use export::Export;
pub(crate) use fit::Fit;
pub(crate) use limit::LimitArguments;
pub(crate) use optimise::{
    AlsoArgument, MethodArgument, Optimize, ProofArguments, Prune, Quantize, ScheduleArgument,
    TargetArgument,
};
pub(crate) use report::Report;
pub(crate) use runs::{RunFilter, Runs, RunsAction, RunsDelete, RunsList, RunsShow, RunsTag};
pub(crate) use survey::{Analyze, Form, Recommend, SurveyArguments};
pub(crate) use training::{LossArgument, OptimizerArgument, TrainingArguments};
pub(crate) use trend::Trend;
pub(crate) use visualize::{FormatArgument, ThemeArgument, Visualize};
pub(crate) use watch::Watch;

use crate::terminal::Colour;
use clap::{Args, Parser, Subcommand, ValueEnum};
use modelmeter::{
    Device, EngineOptions, GivenValues, InputShape, Precision, Profiler,
    types::{GraphOptimisation, PerformanceHint, Threshold, parse_duration},
};
use std::{path::PathBuf, time::Duration};

/// Profiles and benchmarks neural models, and says how sure it is.
#[derive(Debug, Parser)]
#[command(
    name = "modelmeter",
    version,
    after_help = "Examples:\n  modelmeter profile distilbert-base-uncased\n  modelmeter profile model.onnx --batch-size 1 --json result.json\n  modelmeter runs list --limit 5\n\nExit codes: 0 fine, 1 a gate failed, 2 asked wrongly, 3 this machine cannot, 4 cannot tell, 70 our bug, 130 stopped"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// The database: a file, or postgres://USER:PASSWORD@HOST/DATABASE [env: MODELMETER_DB]
    #[arg(long, global = true, value_name = "PATH|URL", help_heading = "Global options")]
    pub(crate) db: Option<PathBuf>,
    /// Where prepared models are kept [env: MODELMETER_CACHE]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Global options")]
    pub(crate) cache: Option<PathBuf>,
    /// The Python whose packages are looked at: an interpreter or an environment's folder [env: MODELMETER_PYTHON]
    #[arg(long, global = true, value_name = "PATH", help_heading = "Global options")]
    pub(crate) python: Option<PathBuf>,
    /// When to colour
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto, value_name = "WHEN", help_heading = "Global options")]
    pub(crate) color: Colour,
    /// No progress, no summary; errors still show
    #[arg(long, short, global = true, help_heading = "Global options")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure one model: latency, throughput, memory, and whether to believe it
    Profile(Box<Profile>),
    /// Let engines, devices, precisions or models compete side by side, or compare stored runs
    Compare(Box<Compare>),
    /// Measure many models systematically: a plan that survives crashes, is resumed and shared
    Bench(Box<Bench>),
    /// Put stored runs beside each other: speed, memory, speed-up, best batch, scaling, Pareto front
    Analyze(Box<Analyze>),
    /// Show how numbers went over commits or dates, and where their level changed
    Trend(Box<Trend>),
    /// Measure a plan on a schedule, and say when a level changes for the worse
    Watch(Box<Watch>),
    /// Draw stored runs: throughput, latency, memory, batch scaling, training, roofline, heat map
    Visualize(Box<Visualize>),
    /// Report on stored runs: one HTML page, Markdown, JSON, CSV, JUnit XML
    Report(Box<Report>),
    /// Say what to run a model on, out of what was measured
    Recommend(Box<Recommend>),
    /// Find the batch and precision with the best throughput under a limit of memory
    Fit(Box<Fit>),
    /// Say what to do about a model or a stored run, with numbers, and prove it
    Advise(Box<Advise>),
    /// Hold a model to limits or against a baseline: a gate for continuous integration
    Check(Box<Check>),
    /// Measure what this machine does to measurements: one thing held against itself, jitter, drift
    Noise(Box<Noise>),
    /// Leave weights, heads or neurons out of a model, and prove whether that helped
    Prune(Box<Prune>),
    /// Turn a model into int8, fp16 or bf16, and prove whether that helped
    Quantize(Box<Quantize>),
    /// Write a model as one ONNX file, load it again, and compare its answers with the model's
    Export(Box<Export>),
    /// Try pruning and quantisation, and keep the best that does not drift too far
    Optimize(Box<Optimize>),
    /// Measure what this machine can do at best: operations a second by precision, bytes a second by cache and memory
    Calibrate(Calibrate),
    /// List the models that are known by name
    Models(Models),
    /// List devices and engines, or why they are not available
    Devices(Devices),
    /// List engines, or install one
    Engines(Engines),
    /// List, show, tag and delete stored runs
    Runs(Runs),
    /// Look after the database: status, questions, exports and imports
    Db(Db),
    /// Measure what another machine asks for
    #[command(name = "__host", hide = true)]
    Host,
    /// Print completions for a shell
    Completions(Completions),
}

/// A part of what is told of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MemoryArgument {
    /// Who allocated how much, layer by layer
    Allocations,
    /// How much was allocated when, and what was live at the peak
    Snapshots,
}

/// Where a measurement happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum IsolationArgument {
    /// In a fresh process
    Process,
    /// In this process, for debugging
    None,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  modelmeter profile distilbert-base-uncased\n  modelmeter profile bert-base-uncased --batch-size 8 --sequence-length 256 --threads 1\n  modelmeter profile ./all-MiniLM-L6-v2 --text \"how fast is this?\"\n  modelmeter profile detector.onnx --input images=1x3x640x640 --duration 1m\n  modelmeter profile gpt2 --runs 50 --json - | jq .latency.median\n  modelmeter profile bert-base-uncased --layers\n  modelmeter profile gpt2 --memory\n  modelmeter profile distilbert-base-uncased --train --optimizer adamw\n  modelmeter profile --model-path models/latest --output-dir results --threshold latency:100ms throughput:1000samples/s\n\nExit codes: 0 measured, 2 usage error, 3 not supported on this machine; with `--threshold` 1 a limit failed, 4 cannot tell"
)]
pub(crate) struct Profile {
    /// A name (see `modelmeter models`), a hub name, an .onnx file, a Hugging Face folder or a .toml description
    /// [default: distilbert-base-uncased]
    #[arg(value_name = "MODEL", conflicts_with_all = ["model_flag", "model_path"])]
    pub(crate) model: Option<String>,
    /// The same as MODEL
    #[arg(
        long = "model",
        value_name = "MODEL",
        hide_short_help = true,
        conflicts_with = "model_path"
    )]
    pub(crate) model_flag: Option<String>,
    /// The same as MODEL, for a file or folder
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub(crate) model_path: Option<String>,

    /// The engine, or `auto`
    #[arg(
        long,
        short,
        default_value = "auto",
        value_name = "ENGINE",
        help_heading = "What to run"
    )]
    pub(crate) engine: String,
    /// The device: auto, cpu, cuda, cuda:1, rocm, mps, openvino
    #[arg(
        long,
        short,
        default_value = "auto",
        value_name = "DEVICE",
        help_heading = "What to run"
    )]
    pub(crate) device: Device,
    /// The number format: fp32, fp16, bf16, int8 [default: the model's own]
    #[arg(long, short, value_name = "PRECISION", help_heading = "What to run")]
    pub(crate) precision: Option<Precision>,
    #[command(flatten)]
    pub(crate) workload: Workload,
    #[command(flatten)]
    pub(crate) limit: LimitArguments,
    #[command(flatten)]
    pub(crate) tuning: Tuning,

    /// Take exactly so many samples
    #[arg(
        long,
        short = 'n',
        alias = "num-runs",
        value_name = "N",
        conflicts_with = "duration",
        help_heading = "How long"
    )]
    pub(crate) runs: Option<u64>,
    /// Warm up for exactly so many runs [default: until it settles]
    #[arg(long, short = 'w', alias = "warmup-runs", value_name = "N", help_heading = "How long")]
    pub(crate) warmup: Option<u64>,
    /// Sample for so long: 10s, 3m [default: 3s to 30s]
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "How long")]
    pub(crate) duration: Option<Duration>,
    /// Stop when the median is known to this share: 1%, 0.01
    #[arg(long, value_name = "SHARE", value_parser = parse_share, help_heading = "How long")]
    pub(crate) target_error: Option<f64>,
    /// The longest the worker may stay silent
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_time, help_heading = "How long")]
    pub(crate) timeout: Duration,
    /// Where the measurement happens
    #[arg(long, value_enum, default_value_t = IsolationArgument::Process, value_name = "WHERE", help_heading = "How long")]
    pub(crate) isolation: IsolationArgument,

    #[command(flatten)]
    pub(crate) origin: Origin,

    /// Train it: every sample is a step of forward, loss, backward and optimiser, each timed apart
    #[arg(long, visible_aliases = ["training", "training-mode"], conflicts_with_all = ["text", "text_file"], help_heading = "Training")]
    pub(crate) train: bool,
    #[command(flatten)]
    pub(crate) training: TrainingArguments,

    /// A limit: latency:100ms, throughput:1000samples/s; fresh processes decide, as in `check`; may be repeated
    #[arg(long, value_name = "METRIC:LIMIT", num_args = 1.., help_heading = "Gate")]
    pub(crate) threshold: Vec<Threshold>,

    /// Show where the time goes, layer by layer; or only these kinds or paths: attention,mlp
    #[arg(
        long,
        value_name = "NAME,…",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        value_delimiter = ',',
        help_heading = "What to look at"
    )]
    pub(crate) layers: Option<Vec<String>>,
    /// Show where the memory goes: by graph, allocator and system; or only these parts of it
    #[arg(
        long,
        value_enum,
        value_name = "PART,…",
        num_args = 0..=1,
        require_equals = true,
        value_delimiter = ',',
        help_heading = "What to look at"
    )]
    pub(crate) memory: Option<Vec<MemoryArgument>>,
    /// Write what happens when: FILE.json opens in Perfetto, FILE.pt.trace.json in TensorBoard; may be repeated
    #[arg(long, value_name = "FILE", help_heading = "What to look at")]
    pub(crate) trace: Vec<PathBuf>,
    /// Draw where the time goes as a flame graph
    #[arg(long, value_name = "FILE.svg", help_heading = "What to look at")]
    pub(crate) flamegraph: Option<PathBuf>,
    /// Write where the time goes for speedscope
    #[arg(long, value_name = "FILE.json", help_heading = "What to look at")]
    pub(crate) speedscope: Option<PathBuf>,

    /// Write the run as JSON; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Where to")]
    pub(crate) json: Option<PathBuf>,
    /// Write the run as CSV; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Where to")]
    pub(crate) csv: Option<PathBuf>,
    /// Put the raw samples into the JSON as well
    #[arg(long, requires = "json", help_heading = "Where to")]
    pub(crate) samples: bool,
    /// Write to this file, in the format of its ending; `auto` makes a name
    #[arg(long, short, value_name = "FILE", help_heading = "Where to")]
    pub(crate) output: Option<PathBuf>,
    /// Write every format into this folder
    #[arg(long, value_name = "DIR", help_heading = "Where to")]
    pub(crate) output_dir: Option<PathBuf>,
    /// Label the stored run; may be repeated
    #[arg(long, value_name = "TAG", conflicts_with = "no_store", help_heading = "Where to")]
    pub(crate) tag: Vec<String>,
    /// Do not store the run
    #[arg(long, help_heading = "Where to")]
    pub(crate) no_store: bool,
}

/// What goes into the model.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Workload {
    /// Samples in one inference [default: 4, or what the file fixes]
    #[arg(long, short, value_name = "N", help_heading = "What to run")]
    pub(crate) batch_size: Option<usize>,
    /// Length of each sample: tokens, samples of sound, frames [default: 128 tokens, or what the text needs]
    #[arg(
        long,
        short = 'l',
        value_name = "N",
        visible_alias = "seq-length",
        help_heading = "What to run"
    )]
    pub(crate) sequence_length: Option<usize>,
    /// Shape or values of an input: x=4x3x224x224, ids=0..255, x=@file.npy
    #[arg(long, value_name = "NAME=WHAT", value_parser = parse_input, help_heading = "What to run")]
    pub(crate) input: Vec<Input>,
    /// Real inputs: inputs.npz, x.npy, x.safetensors, a picture, a folder of pictures, sound.wav
    #[arg(long, value_name = "PATH", help_heading = "What to run")]
    pub(crate) data: Option<PathBuf>,
    /// Tokenise this text in every sample; repeat it for several
    #[arg(long, value_name = "TEXT", conflicts_with = "text_file", help_heading = "What to run")]
    pub(crate) text: Vec<String>,
    /// Tokenise the lines of this file
    #[arg(long, value_name = "FILE", help_heading = "What to run")]
    pub(crate) text_file: Option<PathBuf>,
    /// Threads the engine may use [default: the physical cores]
    #[arg(long, short, value_name = "N", help_heading = "What to run")]
    pub(crate) threads: Option<u32>,
    /// Seed of random weights and inputs
    #[arg(long, default_value_t = 0, value_name = "N", help_heading = "What to run")]
    pub(crate) seed: u64,
}

/// Where a model comes from.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Origin {
    /// Never ask the hub
    #[arg(long, help_heading = "Where from")]
    pub(crate) offline: bool,
    /// Branch, tag or commit on the hub
    #[arg(long, value_name = "REVISION", help_heading = "Where from")]
    pub(crate) revision: Option<String>,
    /// torch: a function of yours that returns a module: file.py:function
    #[arg(long, value_name = "FILE:FUNCTION", value_parser = parse_function, help_heading = "Where from")]
    pub(crate) torch_module: Option<(PathBuf, String)>,
}

/// What engines may be told beyond device, precision and threads.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Tuning {
    /// torch: compile the module first, in this mode
    #[arg(long, value_name = "MODE", num_args = 0..=1, require_equals = true, default_missing_value = "default", help_heading = "Engine options")]
    pub(crate) compile: Option<String>,
    /// onnxruntime: how far the graph may be rewritten: none, basic, extended, all
    #[arg(
        long,
        value_name = "LEVEL",
        alias = "graph-optimisation",
        help_heading = "Engine options"
    )]
    pub(crate) graph_optimization: Option<GraphOptimisation>,
    /// onnxruntime, torch: threads between operators
    #[arg(long, value_name = "N", help_heading = "Engine options")]
    pub(crate) inter_op_threads: Option<u32>,
    /// openvino: what to tune for: latency, throughput
    #[arg(long, value_name = "WHAT", help_heading = "Engine options")]
    pub(crate) hint: Option<PerformanceHint>,
    /// A setting of the execution provider or plugin, by its own name; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = parse_setting, help_heading = "Engine options")]
    pub(crate) settings: Vec<(String, String)>,
    /// torch: let a pickle run its code; only for files you trust
    #[arg(long, help_heading = "Engine options")]
    pub(crate) allow_pickle: bool,
}

impl Tuning {
    pub(crate) fn options(&self) -> EngineOptions {
        EngineOptions {
            graph_optimisation: self.graph_optimization,
            inter_threads: self.inter_op_threads,
            hint: self.hint,
            compile: self.compile.clone(),
            settings: self.settings.iter().cloned().collect(),
            allow_pickle: self.allow_pickle,
        }
    }
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  modelmeter models\n  modelmeter models --category vision\n  modelmeter models --json | jq '.models[].name'"
)]
pub(crate) struct Models {
    /// Only this category: text, generation, vision, audio, multimodal, reference
    #[arg(long, value_name = "CATEGORY")]
    pub(crate) category: Option<String>,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  modelmeter devices\n  modelmeter devices --json")]
pub(crate) struct Devices {
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// What `--input` says of one input.
#[derive(Debug, Clone)]
pub(crate) enum Input {
    Shape(InputShape),
    Values(String, GivenValues),
}

impl Input {
    /// Tells a profiler.
    pub(crate) fn apply(&self, profiler: Profiler) -> Profiler {
        match self {
            Input::Shape(shape) => profiler.input(shape.name.clone(), shape.dims.clone()),
            Input::Values(name, values) => profiler.values(name.clone(), values.clone()),
        }
    }
}

fn parse_input(text: &str) -> Result<Input, String> {
    const FORMS: &str = "write it as x=4x3x224x224, ids=0..255 or x=@file.npy";
    let file = text.split_once("=@").map(|(name, file)| (name, GivenValues::File(file.into())));
    let (name, what) = match file {
        Some((name, GivenValues::File(file))) if file.as_os_str().is_empty() => {
            return Err(format!("the file is missing after `{name}=@`"));
        }
        Some((name, file)) => (name, Ok(file)),
        None => {
            let (name, what) = text.rsplit_once('=').ok_or(FORMS)?;
            (name, Err(what))
        }
    };
    if name.is_empty() {
        return Err("the input's name is missing before `=`".into());
    }
    let name = name.to_owned();
    match what {
        Ok(file) => Ok(Input::Values(name, file)),
        Err(what) if what.contains("..") => {
            Ok(Input::Values(name, GivenValues::Range(what.parse()?)))
        }
        Err(what) => {
            let dim = |dim: &str| {
                dim.trim().parse::<usize>().map_err(|_| format!("`{dim}` is no dimension; {FORMS}"))
            };
            let dims = what.split(['x', ',']).map(dim).collect::<Result<Vec<_>, _>>()?;
            Ok(Input::Shape(InputShape { name, dims }))
        }
    }
}

fn parse_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write it as KEY=VALUE".into()),
    }
}

fn parse_function(text: &str) -> Result<(PathBuf, String), String> {
    match text.rsplit_once(':') {
        Some((file, function)) if !file.is_empty() && !function.is_empty() => {
            Ok((PathBuf::from(file), function.to_owned()))
        }
        _ => Err("write it as file.py:function".into()),
    }
}

fn parse_time(text: &str) -> Result<Duration, String> {
    parse_duration(text)
}

fn parse_share(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number.trim(), 0.01),
        None => (text, 1.0),
    };
    let number: f64 =
        number.parse().map_err(|_| format!("`{text}` is no share; write 1% or 0.01"))?;
    Ok(number * scale)
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
    fn shapes_times_and_shares_are_read() {
        let shape = |text| match parse_input(text).unwrap() {
            Input::Shape(shape) => shape,
            other => panic!("{other:?}"),
        };
        assert_eq!(shape("x=1x2x3").dims, [1, 2, 3]);
        assert_eq!(shape("a=b=4").name, "a=b");
        let is_file = |input| matches!(input, Input::Values(_, GivenValues::File(_)));
        assert!(is_file(parse_input("x=@a=b.npy").unwrap()));
        assert!(matches!(parse_input("x=0..9").unwrap(), Input::Values(_, GivenValues::Range(_))));
        assert!(parse_input("x=9..0").is_err() && parse_input("x=@").is_err());
        assert!(parse_input("x=1xtwo").unwrap_err().contains("two"));
        assert!(parse_input("1x2").is_err());
        assert_eq!(parse_time("1.5s").unwrap(), Duration::from_millis(1500));
        assert_eq!(parse_time("2m").unwrap(), Duration::from_secs(120));
        assert!(parse_time("soon").is_err());
        assert!(parse_time("-1s").is_err());
        assert!((parse_share("2%").unwrap() - 0.02).abs() < 1e-12);
    }

    /// `make seeds` runs them all; here they only have to be understood.
    #[test]
    fn every_command_of_the_seeds_is_understood() {
        let table = include_str!("../../../docs/seeds/commands.tsv");
        let mut understood = 0;
        for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let [_, _, command]: [&str; 3] =
                line.split('\t').collect::<Vec<_>>().try_into().unwrap();
            if command.starts_with("not yet: ") {
                continue;
            }
            let words = command.split(' ');
            match Arguments::try_parse_from(words) {
                Ok(_) => understood += 1,
                Err(error) => {
                    assert_eq!(
                        error.kind(),
                        clap::error::ErrorKind::DisplayHelp,
                        "{command}: {error}"
                    );
                }
            }
        }
        assert!(understood >= 60, "{understood}");
    }

    #[test]
    fn the_seeds_own_flags_work() {
        let parsed = Arguments::try_parse_from([
            "modelmeter",
            "profile",
            "--model",
            "gpt2",
            "--num-runs",
            "5",
            "--warmup-runs",
            "2",
            "--output",
            "auto",
            "--output-dir",
            "results",
        ])
        .unwrap();
        let Command::Profile(profile) = parsed.command else { panic!("not profile") };
        assert_eq!(profile.model_flag.as_deref(), Some("gpt2"));
        assert_eq!((profile.runs, profile.warmup), (Some(5), Some(2)));
    }
}
