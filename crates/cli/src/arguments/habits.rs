//! Habits of the field: options that other tools have, in the words of this one.
//!
//! Options that only have another name elsewhere are hidden aliases where they are defined. Those that stand for other
//! words are rewritten here, after the parser has refused them: so a word is never rewritten that means something, and
//! a value of another option is never taken for an option.

use super::{Arguments, Command, ModelArguments, groups, result_output::apart_from_values};
use crate::{Exit, Failure};
use clap::{
    CommandFactory, Parser,
    error::{ContextKind, ErrorKind},
};
use std::ffi::OsString;

/// An option of other tools and what it stands for: the first that the command understands. `{}` is the option's value.
const HABITS: &[(&str, &[&str])] = &[
    ("--fp32", &["--precision=fp32"]),
    ("--fp16", &["--precision=fp16"]),
    ("--half", &["--precision=fp16"]),
    ("--bf16", &["--precision=bf16"]),
    ("--int8", &["--precision=int8"]),
    ("--cpu", &["--device=cpu"]),
    ("--gpu", &["--device=cuda"]),
    ("--cuda", &["--device=cuda"]),
    ("--no-color", &["--color=never"]),
    ("--no-colour", &["--color=never"]),
    ("--format", &["--{}=-"]),
];

/// Options that take one value in some commands, and what takes several.
const SWEEPS: [(&str, &str); 6] = [
    ("--batch-size", "--batch-sizes"),
    ("--sequence-length", "--sequence-lengths"),
    ("--threads", "--threads"),
    ("--precision", "--precisions"),
    ("--device", "--devices"),
    ("--engine", "--engines"),
];

/// The most options of other tools in one command line; ends the search in any case.
const MOST: usize = 12;

/// Why arguments were not understood; also a request for help.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The parser's own message.
    Usage(clap::Error),
    /// Something that is known better.
    Failure(Failure),
}

/// Reads the arguments.
pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Arguments, Refusal> {
    let words = apart_from_values(words.into_iter().collect());
    read(&words, MOST).map_err(|error| refusal(error, &words))
}

fn read(words: &[OsString], most: usize) -> Result<Arguments, clap::Error> {
    let error = match Arguments::try_parse_from(words) {
        Ok(arguments) => return Ok(arguments),
        Err(error) => error,
    };
    if most > 0 {
        for rewritten in rewritings(&error, words) {
            match read(&rewritten, most - 1) {
                // An option that was typed is refused by its own name, not for the sake of the one before it.
                Err(other) if is_about_options(&other) && !is_typed(&other, &error, words) => {}
                other => return other,
            }
        }
    }
    Err(error)
}

/// Whether another rewriting may still be understood.
fn is_about_options(error: &clap::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::UnknownArgument | ErrorKind::TooManyValues | ErrorKind::InvalidSubcommand
    )
}

/// Whether an error is about an option that was typed, and not about the one that was refused first.
fn is_typed(other: &clap::Error, first: &clap::Error, words: &[OsString]) -> bool {
    let option = context(other, ContextKind::InvalidArg);
    option.is_some()
        && option != context(first, ContextKind::InvalidArg)
        && words.iter().any(|word| {
            let word = word.to_str().unwrap_or_default();
            Some(word.split_once('=').map_or(word, |(name, _)| name)) == option.as_deref()
        })
}

/// What the words could mean without the option or the value that was refused.
fn rewritings(error: &clap::Error, words: &[OsString]) -> Vec<Vec<OsString>> {
    let Some(option) = context(error, ContextKind::InvalidArg) else { return Vec::new() };
    match error.kind() {
        ErrorKind::UnknownArgument => {
            let habit = HABITS.iter().find(|(habit, _)| *habit == option);
            habit.map_or(Vec::new(), |(_, meanings)| translations(&option, meanings, words))
        }
        ErrorKind::ValueValidation => several(error)
            .into_iter()
            .filter_map(|(one, many, value)| {
                let at = words
                    .iter()
                    .position(|word| word.to_str().is_some_and(|word| word.ends_with(&value)))?;
                // `--batch-size 1,4` and `--batch-size=1,4`.
                let from = if words[at].to_str() == Some(&value) { at.checked_sub(1)? } else { at };
                (one != many).then(|| replaced(words, from, at + 1, &format!("{many}={value}")))
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn translations(option: &str, meanings: &[&str], words: &[OsString]) -> Vec<Vec<OsString>> {
    let is_meant = |word: &OsString| {
        let word = word.to_str().unwrap_or_default();
        word == option || word.strip_prefix(option).is_some_and(|rest| rest.starts_with('='))
    };
    let Some(at) = words.iter().position(is_meant) else { return Vec::new() };
    let own = words[at].to_str().and_then(|word| word.split_once('=')).map(|(_, value)| value);
    let takes_value = meanings.iter().any(|meaning| meaning.contains("{}"));
    let (value, end) = match (takes_value, own) {
        (false, _) => ("", at + 1),
        (true, Some(value)) => (value, at + 1),
        (true, None) => match words.get(at + 1).and_then(|word| word.to_str()) {
            Some(value) => (value, at + 2),
            None => return Vec::new(),
        },
    };
    meanings.iter().map(|meaning| replaced(words, at, end, &meaning.replace("{}", value))).collect()
}

/// The words with some of them replaced.
fn replaced(words: &[OsString], from: usize, to: usize, meaning: &str) -> Vec<OsString> {
    let (option, value) = meaning.split_once(' ').map_or((meaning, None), |(a, b)| (a, Some(b)));
    let middle = std::iter::once(option).chain(value).map(OsString::from);
    words[..from].iter().cloned().chain(middle).chain(words[to..].iter().cloned()).collect()
}

fn context(error: &clap::Error, kind: ContextKind) -> Option<String> {
    error.get(kind).map(ToString::to_string)
}

/// A list where one value belongs: the option, the option for lists, and the list.
fn several(error: &clap::Error) -> Option<(&'static str, &'static str, String)> {
    let option = context(error, ContextKind::InvalidArg)?;
    let value = context(error, ContextKind::InvalidValue)?;
    let option = option.split(' ').next()?;
    let (one, many) = SWEEPS.into_iter().find(|(one, _)| *one == option)?;
    (error.kind() == ErrorKind::ValueValidation && value.contains(','))
        .then_some((one, many, value))
}

fn refusal(error: clap::Error, words: &[OsString]) -> Refusal {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            // Said again with the groups on the first page, and with paragraphs that the terminal breaks.
            let again = unbroken(Arguments::command()).override_help(groups::help());
            let again = again.try_get_matches_from(words).err();
            let again = again.filter(|again| again.kind() == error.kind());
            return Refusal::Usage(again.unwrap_or(error));
        }
        _ => {}
    }
    if let Some((one, many, value)) = several(&error) {
        return Refusal::Failure(sweep(one, many, &value, words));
    }
    let failure = unknown_format(&error, words).or_else(|| no_whole_number(&error));
    failure.map_or(Refusal::Usage(error), Refusal::Failure)
}

/// The command and those below it with texts after the options whose paragraphs have no line breaks of their own, so
/// that each terminal breaks them at its own width. Indented lines stay as they are.
fn unbroken(command: clap::Command) -> clap::Command {
    let text = command.get_after_help().map(|text| joined(&text.to_string()));
    let below: Vec<String> =
        command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let command = match text {
        Some(text) => command.after_help(text),
        None => command,
    };
    below.iter().fold(command, |command, below| command.mut_subcommand(below, unbroken))
}

fn joined(text: &str) -> String {
    let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
    let mut joined = String::new();
    let mut before = "";
    for line in text.lines() {
        let end = if joined.is_empty() {
            ""
        } else if is_prose(before) && is_prose(line) {
            " "
        } else {
            "\n"
        };
        joined += end;
        joined += line;
        before = line;
    }
    joined
}

/// `--format` with a format that there is not.
fn unknown_format(error: &clap::Error, words: &[OsString]) -> Option<Failure> {
    if context(error, ContextKind::InvalidArg)? != "--format" {
        return None;
    }
    let mut words = words
        .iter()
        .filter_map(|word| word.to_str())
        .skip_while(|word| *word != "--format" && !word.starts_with("--format="));
    let value = match words.next()?.split_once('=') {
        Some((_, value)) => value,
        None => words.next()?,
    };
    let names: Vec<_> = modelmeter::FORMATS.iter().map(|format| format.id).collect();
    (!names.contains(&value)).then(|| {
        Failure::new(Exit::Wrong, format!("`{value}` is not a format of results")).hint(format!(
            "formats: {}; `--json FILE` writes one of them to a file",
            names.join(", ")
        ))
    })
}

/// Letters where a whole number belongs.
fn no_whole_number(error: &clap::Error) -> Option<Failure> {
    std::error::Error::source(error)?.downcast_ref::<std::num::ParseIntError>()?;
    let option = context(error, ContextKind::InvalidArg)?;
    let value = context(error, ContextKind::InvalidValue)?;
    let option = option.split(' ').next()?;
    Some(Failure::new(Exit::Wrong, format!("`{value}` is not a whole number")).hint(format!(
        "`{option}` takes a whole number that is not too large, such as `{option} 4`"
    )))
}

/// Says which command measures several values, with the model that was named.
fn sweep(one: &str, many: &str, value: &str, words: &[OsString]) -> Failure {
    let first = value.split(',').next().unwrap_or_default();
    let words: Vec<OsString> = words
        .iter()
        .map(|word| match word.to_str().and_then(|word| word.strip_suffix(value)) {
            Some(before) => format!("{before}{first}").into(),
            None => word.clone(),
        })
        .collect();
    let parsed = Arguments::try_parse_from(words).ok();
    let model = parsed.as_ref().and_then(|parsed| model(&parsed.command)?.name());
    let model = model.unwrap_or(crate::command::measurement::DEFAULT_MODEL);
    let text = format!("`{one}` takes one value here, not `{value}`");
    Failure::new(Exit::Wrong, text)
        .hint(format!("`modelmeter bench {model} {many} {value}` measures each of them"))
}

fn model(command: &Command) -> Option<&ModelArguments> {
    match command {
        Command::Profile(profile) => Some(&profile.model),
        Command::Advise(advise) => Some(&advise.model),
        Command::Check(check) => Some(&check.model),
        Command::Noise(noise) => Some(&noise.model),
        Command::Fit(fit) => Some(&fit.model),
        Command::Export(export) => Some(&export.model),
        Command::Generate(generate) => Some(&generate.model),
        Command::Predict(predict) => Some(&predict.model),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use modelmeter::{Device, Precision};
    use std::path::Path;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    fn parsed(line: &str) -> Command {
        match parse(words(line)) {
            Ok(arguments) => arguments.command,
            Err(refusal) => panic!("{line}: {refusal:?}"),
        }
    }

    fn profile(rest: &str) -> Box<super::super::Profile> {
        match parsed(&format!("modelmeter profile gpt2 {rest}")) {
            Command::Profile(profile) => profile,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_of_other_tools_mean_ours() {
        assert_eq!(profile("--dtype float16").engine.precision.precision, Some(Precision::Fp16));
        assert_eq!(profile("--fp16").engine.precision.precision, Some(Precision::Fp16));
        assert_eq!(profile("--backend ort").engine.engine.as_deref(), Some("onnxruntime"));
        assert_eq!(profile("--iterations 5").sampling.counts.runs, Some(5));
        assert_eq!(profile("--iters 5").sampling.counts.runs, Some(5));
        assert_eq!(profile("--warmup-runs 2").sampling.counts.warmup, Some(2));
        assert_eq!(profile("--seq-len 64").workload.inputs.sequence_length, Some(64));
        assert_eq!(profile("--batch 2").workload.batch.batch_size, Some(2));
        assert_eq!(profile("--cuda").engine.device.device, Device::Cuda(0));
        // Here it asks for the GPU's own records, which only a GPU has.
        assert!(profile("--gpu").gpu);
        assert_eq!(profile("--format json").result.path("json"), Some(Path::new("-")));
        assert_eq!(profile("--format=csv").result.path("csv"), Some(Path::new("-")));
        let exported = profile("--export-json a.json --export-markdown b").result;
        assert_eq!(exported.path("json"), Some(Path::new("a.json")));
        assert_eq!(exported.path("markdown"), Some(Path::new("b")));
        profile("--bf16 --format json --no-color");
        let arguments = parse(words("modelmeter --no-color devices")).unwrap();
        assert_eq!(arguments.global.color, crate::terminal::Colour::Never);
    }

    #[test]
    fn a_command_with_flags_for_formats_takes_the_same_habits() {
        let Command::Analyze(analyze) = parsed("modelmeter analyze --export-markdown a.md") else {
            panic!("not analyze")
        };
        assert_eq!(analyze.result.path("markdown"), Some(Path::new("a.md")));
        let Command::Analyze(analyze) = parsed("modelmeter analyze --format json") else {
            panic!("not analyze")
        };
        assert_eq!(analyze.result.path("json"), Some(Path::new("-")));
        let Command::Compare(compare) = parsed("modelmeter compare m --fp16 --int8") else {
            panic!("not compare")
        };
        assert_eq!(compare.precisions.precisions, [Precision::Fp16, Precision::Int8]);
        let Command::Compare(compare) = parsed("modelmeter compare m --batch-size 1,4") else {
            panic!("not compare")
        };
        assert_eq!(compare.batch.batch_sizes, [1, 4]);
    }

    #[test]
    fn a_list_where_one_value_belongs_names_the_command_that_sweeps() {
        for (line, hint) in [
            ("profile gpt2 -b 1,4", "modelmeter bench gpt2 --batch-sizes 1,4"),
            ("profile gpt2 -b1,4", "modelmeter bench gpt2 --batch-sizes 1,4"),
            ("profile --batch-size=1,4 gpt2", "modelmeter bench gpt2 --batch-sizes 1,4"),
            ("profile gpt2 --dtype fp32,int8", "modelmeter bench gpt2 --precisions fp32,int8"),
            ("profile gpt2 -e ort,rten", "modelmeter bench gpt2 --engines ort,rten"),
            ("predict gpt2 -b 1,4", "modelmeter bench gpt2 --batch-sizes 1,4"),
        ] {
            let Err(Refusal::Failure(failure)) = parse(words(&format!("modelmeter {line}"))) else {
                panic!("{line} was not refused as a sweep")
            };
            let text = failure.render(false);
            assert!(text.contains(&format!("hint: `{hint}`")), "{text}");
            parsed(hint);
        }
    }

    #[test]
    fn what_no_command_has_is_refused_with_what_was_typed() {
        let refused = |line: &str| match parse(words(line)) {
            Err(Refusal::Usage(error)) => error.to_string(),
            Err(Refusal::Failure(failure)) => failure.render(false),
            Ok(other) => panic!("{other:?}"),
        };
        assert!(refused("modelmeter runs show 7f --fp16").contains("--fp16"));
        let format = refused("modelmeter profile m --format yaml");
        assert!(
            format.contains("`yaml` is not a format") && format.contains("markdown"),
            "{format}"
        );
        let typed = refused("modelmeter compare m --fp16 --dry-run");
        assert!(typed.contains("'--dry-run'") && !typed.contains("'--fp16'"), "{typed}");
        for wrong in ["-b x", "--batch-size 1.5", "--seed q"] {
            let text = refused(&format!("modelmeter profile m {wrong}"));
            assert!(text.contains("is not a whole number"), "{text}");
        }
        assert!(refused("modelmeter profile m --nonsense").contains("--nonsense"));
        assert!(
            refused("modelmeter profile --no-color --help").contains("Usage: modelmeter profile")
        );
    }

    #[test]
    fn paragraphs_after_the_options_are_broken_by_the_terminal() {
        let text = "One sentence\nin two lines.\n\nExamples:\n  modelmeter a\n  modelmeter b";
        let whole = "One sentence in two lines.\n\nExamples:\n  modelmeter a\n  modelmeter b";
        assert_eq!(joined(text), whole);
        let command = unbroken(Arguments::command());
        let load = command.find_subcommand("load").unwrap().get_after_help().unwrap().to_string();
        assert!(load.lines().any(|line| line.len() > 120), "{load}");
    }

    #[test]
    fn shares_may_be_written_in_percent() {
        let share = |line: &str| match parsed(line) {
            Command::Prune(prune) => prune.sparsity,
            Command::Optimize(optimize) => Some(optimize.max_drift),
            Command::Profile(profile) => profile.sampling.target_error,
            Command::Check(check) => check.regression_alert,
            other => panic!("{other:?}"),
        };
        for line in [
            "modelmeter prune m --sparsity 50% -o d",
            "modelmeter optimize m --max-drift 50%",
            "modelmeter profile m --target-error 50%",
            "modelmeter check m --regression-alert 50%",
        ] {
            assert_eq!(share(line), Some(0.5), "{line}");
        }
    }
}
