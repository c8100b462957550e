//! The arguments of `prune`, `quantize` and `optimize`.

use super::{Origin, Tuning, Workload, parse_time};
use clap::{Args, ValueEnum};
use modelmeter::{Device, Precision};
use std::{path::PathBuf, time::Duration};

/// How weights are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodArgument {
    /// The smallest numbers of each weight become zero
    Magnitude,
    /// The smallest numbers of all weights together become zero
    GlobalMagnitude,
    /// Heads and neurons are cut away: the model computes less
    Structured,
    /// All but the n largest of every m become zero
    #[value(name = "n-m")]
    NM,
    /// Any numbers become zero
    Random,
}

/// What is pruned too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AlsoArgument {
    /// Tables that are looked up
    Embeddings,
    /// Scales and shifts of norms
    Norms,
}

/// In how many steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScheduleArgument {
    /// All at once
    OneShot,
    /// More and more, looking at the activations after each step
    Gradual,
}

/// What shall become small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TargetArgument {
    /// The time of an inference
    Latency,
    /// The largest memory of the process
    Memory,
    /// Bytes on disk
    Size,
}

/// Where a changed model goes, and what is told of it.
#[derive(Debug, Clone, Args)]
pub(crate) struct PlaceArguments {
    /// The folder to write the changed model into
    #[arg(long, short, value_name = "DIR", help_heading = "Where to")]
    pub(crate) output: PathBuf,
    /// Replace the folder if it exists
    #[arg(long, help_heading = "Where to")]
    pub(crate) force: bool,
    /// Write the proof as Markdown; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Where to")]
    pub(crate) markdown: Option<PathBuf>,
    /// Tell sizes only: no times, no answers compared
    #[arg(long, help_heading = "The proof")]
    pub(crate) no_proof: bool,
}

/// How a change is proved.
#[derive(Debug, Clone, Args)]
pub(crate) struct ProofArguments {
    /// The engines to prove it on [default: all that run graphs here]
    #[arg(
        long,
        short,
        alias = "engine",
        value_delimiter = ',',
        value_name = "ENGINE,…",
        help_heading = "The proof"
    )]
    pub(crate) engines: Vec<String>,
    /// The device: auto, cpu, cuda, cuda:1, rocm, mps, openvino
    #[arg(long, short, default_value = "auto", value_name = "DEVICE", help_heading = "The proof")]
    pub(crate) device: Device,
    /// Fresh processes for each side
    #[arg(long, default_value_t = 4, value_name = "N", help_heading = "The proof")]
    pub(crate) processes: u32,
    /// How long a turn lasts at least
    #[arg(long, default_value = "400ms", value_name = "TIME", value_parser = parse_time, help_heading = "The proof")]
    pub(crate) turn: Duration,
    /// The longest a worker may stay silent
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_time, help_heading = "The proof")]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) workload: Workload,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
    #[command(flatten)]
    pub(crate) origin: Origin,
    /// Write the proof as JSON; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Where to")]
    pub(crate) json: Option<PathBuf>,
    /// Do not store the runs
    #[arg(long, help_heading = "Where to")]
    pub(crate) no_store: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The pruned model is written as a folder: `onnx/model.onnx` for engines, `config.json` and `model.safetensors` for\ntransformers, the tokenizer as it was. Then it competes with the model before, in turns, and the page says whether it is\nfaster, how far its answers moved, and if it did not help, why and what would. How: docs/OPTIMISE.md\n\nExit codes: 0 pruned (faster or not: the page says it), 2 usage error, 3 not supported on this machine, 4 pruned, but no engine's times tell whether it is faster\n\nExamples:\n  modelmeter prune bert-base-uncased --method structured --sparsity 0.3 -o bert-small\n  modelmeter prune ./all-MiniLM-L6-v2 --method magnitude --sparsity 0.5 -o sparse --text-file sentences.txt\n  modelmeter prune gpt2 --method n-m --pattern 2:4 --exclude '*c_proj*' -o gpt2-2-4 --no-proof\n  modelmeter prune ./all-MiniLM-L6-v2 --sparsity 0.6 --schedule gradual --steps 4 --calibrate sentences.txt -o gradual\n  modelmeter prune exported.onnx --method structured --sparsity 0.2 -o small --engines onnxruntime"
)]
pub(crate) struct Prune {
    /// A name (see `modelmeter models`), a hub name, an .onnx file, a Hugging Face folder or a .toml description
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,

    /// How weights are chosen
    #[arg(
        long,
        short,
        value_enum,
        default_value = "magnitude",
        value_name = "METHOD",
        help_heading = "What to prune"
    )]
    pub(crate) method: MethodArgument,
    /// The share that goes, at least 0 and below 1 [default: 0.5; n-m: what the pattern says]
    #[arg(
        long,
        short,
        value_name = "SHARE",
        allow_negative_numbers = true,
        help_heading = "What to prune"
    )]
    pub(crate) sparsity: Option<f64>,
    /// n-m: keep n of every m
    #[arg(long, value_name = "N:M", value_parser = parse_pattern, help_heading = "What to prune")]
    pub(crate) pattern: Option<(usize, usize)>,
    /// Only weights and modules that match: `encoder.layer.0`, `*query*`; may be repeated
    #[arg(long, value_name = "GLOB", num_args = 1.., help_heading = "What to prune")]
    pub(crate) layers: Vec<String>,
    /// No weights and modules that match; may be repeated
    #[arg(long, value_name = "GLOB", num_args = 1.., help_heading = "What to prune")]
    pub(crate) exclude: Vec<String>,
    /// Prune these too
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "WHAT,…",
        help_heading = "What to prune"
    )]
    pub(crate) also: Vec<AlsoArgument>,
    /// In how many steps
    #[arg(
        long,
        value_enum,
        default_value = "one-shot",
        value_name = "SCHEDULE",
        help_heading = "What to prune"
    )]
    pub(crate) schedule: ScheduleArgument,
    /// Steps of a gradual schedule
    #[arg(long, default_value_t = 4, value_name = "N", help_heading = "What to prune")]
    pub(crate) steps: u32,
    /// Weigh in the activations on the lines of this file
    #[arg(long, value_name = "FILE", help_heading = "What to prune")]
    pub(crate) calibrate: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) place: PlaceArguments,
    #[command(flatten)]
    pub(crate) proof: ProofArguments,
}

#[derive(Debug, Args)]
#[command(
    after_help = "int8 rounds weights once and activations at every run (dynamic), or by ranges seen on the texts of --calibrate (static);\n--weights-only keeps weights as bytes and computes with floats: smaller, not faster. fp16 and bf16 keep a folder for\ntransformers too. The proof is the one of `prune`. How: docs/OPTIMISE.md\n\nExit codes: 0 quantised (faster or not: the page says it), 2 usage error, 3 not supported on this machine, 4 quantised, but no engine's times tell whether it is faster\n\nExamples:\n  modelmeter quantize bert-base-uncased --to int8 --per-channel -o bert-int8\n  modelmeter quantize ./all-MiniLM-L6-v2 --to int8 --calibrate sentences.txt -o minilm-static\n  modelmeter quantize gpt2 --to int8 --weights-only -o gpt2-w8 --engines onnxruntime\n  modelmeter quantize bert-base-uncased --to bf16 -o bert-bf16"
)]
pub(crate) struct Quantize {
    /// A name (see `modelmeter models`), a hub name, an .onnx file, a Hugging Face folder or a .toml description
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,

    /// The new number format: int8, fp16, bf16
    #[arg(long, value_name = "PRECISION", help_heading = "What to do")]
    pub(crate) to: Precision,
    /// int8: a scale for each column of a weight instead of one for all of it
    #[arg(long, help_heading = "What to do")]
    pub(crate) per_channel: bool,
    /// int8: keep weights as bytes, compute with floats
    #[arg(long, help_heading = "What to do")]
    pub(crate) weights_only: bool,
    /// int8: fix the ranges of activations by the lines of this file
    #[arg(long, value_name = "FILE", help_heading = "What to do")]
    pub(crate) calibrate: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) place: PlaceArguments,
    #[command(flatten)]
    pub(crate) proof: ProofArguments,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Tries fp16, bf16, int8 (dynamic, weights only, with --calibrate static) and structured pruning of 10, 20 and 30 %, then\nthe cuts that leave the answers where they are together with the best int8, each in a duel with the model as it is. What moves the answers too far is dropped; of the rest the one that is best for sure is kept: by the lower end\nof its interval. The drift is one minus the smallest cosine of any output. How: docs/OPTIMISE.md\n\nExit codes: 0 searched (the page says whether anything helped), 2 usage error, 3 not supported on this machine, 4 cannot tell, and nothing was written\n\nExamples:\n  modelmeter optimize bert-base-uncased --target latency --max-drift 0.01 -o best\n  modelmeter optimize ./all-MiniLM-L6-v2 --target size --text-file sentences.txt -o smallest\n  modelmeter optimize ./all-MiniLM-L6-v2 --calibrate sentences.txt --max-drift 0.05 -o best\n  modelmeter optimize gpt2 --target memory --engine onnxruntime --json - | jq .best.command"
)]
pub(crate) struct Optimize {
    /// A name (see `modelmeter models`), a hub name, an .onnx file, a Hugging Face folder or a .toml description
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,

    /// What shall become small
    #[arg(
        long,
        value_enum,
        default_value = "latency",
        value_name = "WHAT",
        help_heading = "What to do"
    )]
    pub(crate) target: TargetArgument,
    /// How far the answers may move: one minus the smallest cosine of any output
    #[arg(long, default_value_t = 0.01, value_name = "DRIFT", help_heading = "What to do")]
    pub(crate) max_drift: f64,
    /// Weigh in the activations on the lines of this file, and try int8 with ranges fixed by them
    #[arg(long, value_name = "FILE", help_heading = "What to do")]
    pub(crate) calibrate: Option<PathBuf>,

    /// The folder to write the best into [default: it is only named]
    #[arg(long, short, value_name = "DIR", help_heading = "Where to")]
    pub(crate) output: Option<PathBuf>,
    /// Replace the folder if it exists
    #[arg(long, help_heading = "Where to")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) proof: ProofArguments,
}

fn parse_pattern(text: &str) -> Result<(usize, usize), String> {
    let numbers = text.split_once(':').and_then(|(n, m)| Some((n.parse().ok()?, m.parse().ok()?)));
    numbers.ok_or_else(|| format!("`{text}` is no pattern; write n:m, such as 2:4"))
}
