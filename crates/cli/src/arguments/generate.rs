//! The arguments of `generate`.

use super::{
    DeviceArgument, EnginesArgument, LimitArguments, ModelArguments, Origin, OutputFile,
    PrecisionsArgument, ResultOutput, Sampling as SampleArguments, StoreArguments, ThreadsArgument,
    Timeout, Tuning, load_is_apart, workload::Seed,
};
use crate::{Exit, Failure};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use types::{Generation, GenerationTest, Rate, Sampling};

const AFTER: &str = "\
pp512 is a prompt of 512 tokens, tg128 are 128 generated tokens, @ d4096 means after 4096 tokens
in the cache: the tests and the names of llama-bench.

Exit codes: 0 measured, 2 usage error, 3 a test could not be measured here, 4 the numbers are not valid

Examples:
  modelmeter generate smollm2-135m
  modelmeter generate model.gguf --engines llamacpp,rten,onnxruntime
  modelmeter generate gpt2 -p 512 -n 128 -d 0,512 -b 1,8
  modelmeter generate ./Llama-3.2-1B -p 128-1024*2 -n 0 --engine torch --device cuda
  modelmeter generate model.gguf --text \"Why is the sky blue?\" -n 64
  modelmeter generate gpt2 -d 1024 --layers --memory
  modelmeter generate model.gguf --output llama-bench > rows.json";

#[derive(Debug, Args)]
#[command(
    after_help = AFTER,
    mut_arg("model", |arg| arg
        .required_unless_present("model_flag")
        .help("Language model: name, hub name, .gguf file or Hugging Face folder")),
    mut_arg("engines", |arg| arg.help(
        format!("Engines: {}, all [default: the first that generates]", crate::candidates::engine_names())
    )),
    mut_arg("precisions", |arg| arg.short(None)),
    mut_arg("device", |arg| arg.short(None)),
    mut_arg("runs", |arg| arg
        .short('r')
        .alias("repetitions")
        .help("Number of samples: prompts, and steps of one token"))
)]
pub(crate) struct Generate {
    #[command(flatten)]
    pub(crate) model: ModelArguments,
    /// Tokens of the prompt; 0 for no prefill: 512, 128,512, 128-1024*2, 128-512+128
    #[arg(
        long = "prompt-tokens",
        short = 'p',
        alias = "n-prompt",
        value_delimiter = ',',
        default_value = "512",
        value_name = "N,…",
        value_parser = parse_counts,
        help_heading = "Workload"
    )]
    pub(crate) prompt: Vec<Counts>,
    /// Tokens to generate; 0 for no decode
    #[arg(
        long = "new-tokens",
        short = 'n',
        aliases = ["n-gen", "max-tokens", "max-new-tokens"],
        value_delimiter = ',',
        default_value = "128",
        value_name = "N,…",
        value_parser = parse_counts,
        help_heading = "Workload"
    )]
    pub(crate) tokens: Vec<Counts>,
    /// Depth: tokens in the cache before
    #[arg(
        long,
        short = 'd',
        alias = "n-depth",
        value_delimiter = ',',
        default_value = "0",
        value_name = "N,…",
        value_parser = parse_counts,
        help_heading = "Workload"
    )]
    pub(crate) depth: Vec<Counts>,
    /// Batch sizes: texts that are generated together
    #[arg(
        long,
        short = 'b',
        aliases = ["batch-size", "batch"],
        value_delimiter = ',',
        default_value = "1",
        value_name = "N,…",
        value_parser = parse_counts,
        help_heading = "Workload"
    )]
    pub(crate) batch_sizes: Vec<Counts>,
    /// Prompt as text, with the tokenizer of the model; its answer is shown
    #[arg(long, value_name = "TEXT", help_heading = "Workload", conflicts_with_all = ["prompt", "depth"])]
    pub(crate) text: Option<String>,
    /// Draw tokens at this temperature instead of the most likely one
    #[arg(long, value_name = "T", value_parser = parse_temperature, help_heading = "Workload")]
    pub(crate) temperature: Option<f64>,
    /// Draw among so many of the most likely tokens
    #[arg(long, value_name = "N", requires = "temperature", help_heading = "Workload")]
    pub(crate) top_k: Option<usize>,
    #[command(flatten)]
    pub(crate) seed: Seed,
    #[command(flatten)]
    pub(crate) origin: Origin,

    #[command(flatten)]
    pub(crate) engines: EnginesArgument,
    #[command(flatten)]
    pub(crate) device: DeviceArgument,
    #[command(flatten)]
    pub(crate) precisions: PrecisionsArgument,
    #[command(flatten)]
    pub(crate) threads: ThreadsArgument,
    #[command(flatten)]
    pub(crate) tuning: Tuning,
    #[command(flatten)]
    pub(crate) limit: LimitArguments,

    #[command(flatten)]
    pub(crate) sampling: SampleArguments,
    #[command(flatten)]
    pub(crate) timeout: Timeout,

    /// Time of a step or a prompt by layer; or only by these kinds or paths: attention,mlp
    #[arg(
        long,
        value_name = "NAME,…",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        value_delimiter = ',',
        help_heading = "Breakdown"
    )]
    pub(crate) layers: Option<Vec<String>>,
    /// Memory of a step or a prompt by graph, allocator and system
    #[arg(long, help_heading = "Breakdown")]
    pub(crate) memory: bool,

    #[command(flatten)]
    pub(crate) result: ResultOutput,
    #[command(flatten)]
    pub(crate) file: OutputFile,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

impl Generate {
    /// How the next token is chosen.
    pub(crate) fn sampling_of_tokens(&self) -> Sampling {
        match self.temperature {
            None => Sampling::Greedy,
            Some(temperature) => {
                Sampling::Seeded { temperature: Rate(temperature), top_k: self.top_k.unwrap_or(0) }
            }
        }
    }
}

/// What is measured of generating, for commands that measure other things too.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct GenerationArguments {
    /// Generating: tokens of the prompt; 0 for no prefill [default: 512]
    #[arg(long = "prompt-tokens", alias = "n-prompt", value_name = "N")]
    pub(crate) prompt: Option<usize>,
    /// Generating: tokens to generate; 0 for no decode [default: 128]
    #[arg(long = "new-tokens", aliases = ["n-gen", "max-tokens", "max-new-tokens"], value_name = "N")]
    pub(crate) tokens: Option<usize>,
    /// Generating: tokens in the cache before [default: 0]
    #[arg(long = "depth", alias = "n-depth", value_name = "N")]
    pub(crate) depth: Option<usize>,
}

impl GenerationArguments {
    /// The first flag that was given, for somebody who does not generate.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let flags = [
            (self.prompt.is_some(), "--prompt-tokens"),
            (self.tokens.is_some(), "--new-tokens"),
            (self.depth.is_some(), "--depth"),
        ];
        flags.into_iter().find(|(given, _)| *given).map(|(_, flag)| flag)
    }

    /// The tests: a prefill and a decode, each unless it has no tokens.
    pub(crate) fn tests(&self) -> Vec<Generation> {
        let depth = self.depth.unwrap_or(0);
        let kinds = [
            (GenerationTest::Prefill, self.prompt.unwrap_or(512)),
            (GenerationTest::Decode, self.tokens.unwrap_or(128)),
        ];
        let test = |(test, tokens)| Generation { test, tokens, depth, sampling: Sampling::Greedy };
        kinds.into_iter().filter(|(_, tokens)| *tokens > 0).map(test).collect()
    }
}

/// What of a model is measured, for commands that measure one thing of it.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Workload")]
pub(crate) struct ModeArguments {
    /// Mode: inference, or generate for a language model that reads and writes token by token
    #[arg(
        long = "modes",
        alias = "mode",
        value_enum,
        default_value = "inference",
        value_name = "MODE"
    )]
    pub(crate) mode: SingleMode,
    #[command(flatten)]
    pub(crate) generation: GenerationArguments,
}

/// A mode of a command that measures one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum SingleMode {
    /// Forward only
    #[default]
    Inference,
    /// A language model reads a prompt and writes token by token
    Generate,
    /// Named here so that who asks for it is told which command has it
    #[value(hide = true)]
    Load,
}

impl ModeArguments {
    /// The tests of generating; none for an inference.
    pub(crate) fn tests(&self) -> Result<Vec<Generation>, Failure> {
        match (self.mode, self.generation.given()) {
            (SingleMode::Inference, None) => Ok(Vec::new()),
            (SingleMode::Inference, Some(flag)) => {
                Err(Failure::new(Exit::Wrong, format!("`{flag}` needs `--modes generate`")))
            }
            (SingleMode::Load, _) => Err(load_is_apart()),
            (SingleMode::Generate, _) => match self.generation.tests() {
                tests if tests.is_empty() => {
                    Err(Failure::new(Exit::Wrong, "no prompt and no token to generate")
                        .hint("ask for at least one: `--prompt-tokens 512 --new-tokens 128`"))
                }
                tests => Ok(tests),
            },
        }
    }
}

/// One number, or the numbers of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Counts(pub(crate) Vec<usize>);

/// Every number that was given, in order.
pub(crate) fn all(counts: &[Counts]) -> Vec<usize> {
    counts.iter().flat_map(|counts| counts.0.iter().copied()).collect()
}

/// The most numbers of a range: more is a slip.
const MOST: usize = 1000;

fn parse_counts(text: &str) -> Result<Counts, String> {
    const FORMS: &str = "write 512, a list 128,512, or a range 128-1024*2 or 128-512+128";
    let wrong = || format!("`{text}` is not a number of tokens; {FORMS}");
    let number = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong());
    let Some((first, rest)) = text.split_once('-') else {
        return Ok(Counts(vec![number(text)?]));
    };
    let (last, step): (&str, (char, usize)) = match rest.find(['*', '+']) {
        Some(place) => {
            let sign = if rest[place..].starts_with('*') { '*' } else { '+' };
            (&rest[..place], (sign, number(&rest[place + 1..])?))
        }
        None => (rest, ('+', 1)),
    };
    let (first, last) = (number(first)?, number(last)?);
    let grows = match step {
        ('*', factor) => factor > 1 && first > 0,
        (_, step) => step > 0,
    };
    if !grows || last < first {
        return Err(format!("the range `{text}` has no end; {FORMS}"));
    }
    let next = |at: &usize| match step {
        ('*', factor) => at.checked_mul(factor),
        (_, step) => at.checked_add(step),
    };
    let numbers = std::iter::successors(Some(first), next).take_while(|at| *at <= last);
    let numbers: Vec<usize> = numbers.take(MOST + 1).collect();
    match numbers.len() > MOST {
        true => Err(format!("the range `{text}` has more than {MOST} numbers")),
        false => Ok(Counts(numbers)),
    }
}

fn parse_temperature(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is not a temperature"))?;
    let usable = number.is_finite() && number > 0.0;
    usable.then_some(number).ok_or_else(|| {
        "a temperature is above 0; without `--temperature` the most likely token is taken".into()
    })
}

/// Whether rows as llama-bench writes them were asked for, and where: `-` is standard output.
pub(crate) fn llama_bench(path: Option<&std::path::Path>) -> Option<PathBuf> {
    let name = path?.to_string_lossy().into_owned();
    match name.as_str() {
        "llama-bench" => Some("-".into()),
        name => name.ends_with(".llama-bench.json").then(|| PathBuf::from(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ranges_are_those_of_llama_bench() {
        let counts = |text| parse_counts(text).map(|counts| counts.0);
        assert_eq!(counts("512"), Ok(vec![512]));
        assert_eq!(counts("128-1024*2"), Ok(vec![128, 256, 512, 1024]));
        assert_eq!(counts("0-300+100"), Ok(vec![0, 100, 200, 300]));
        assert_eq!(counts("3-5"), Ok(vec![3, 4, 5]));
        for wrong in ["", "x", "5-3", "1-5*1", "0-5*2", "1-5+0", "1-", "-5", "0-100000"] {
            assert!(counts(wrong).is_err(), "{wrong}");
        }
    }
}
