//! Every command line that a person is told to type is read by the real parser: examples in help texts, docs, the table
//! of seeds, and hints in the sources. One that names an option that is not there fails these tests.

use super::Arguments;
use analysis::advice::load_again;
use clap::{CommandFactory, Parser, error::ErrorKind};
use std::{
    fs,
    path::{Path, PathBuf},
};
use types::{
    Arrivals, Cell, Device, EngineOptions, Feed, Load, LoadBatching, Mode, Precision, Protocol,
    Scenario,
};

/// A command line and where it stands.
#[derive(Debug)]
struct Line {
    place: String,
    text: String,
    /// Whether it shall work as it stands; in running text a command may be named without its arguments.
    is_whole: bool,
}

/// What ends a command in a shell.
const ENDS: [&str; 11] = ["|", "||", ">", ">>", "<", "2>", "2>&1", "&", "&&", ";", "#"];

/// What stands for any number of options in a text that is filled in later.
const MORE: [&str; 2] = ["{option}", "{flags}"];

/// Words that follow the name in sentences about it.
const SENTENCE: [&str; 2] = ["is", "has"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The words as a shell reads them; a comment and what follows a pipe are not part of the command.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let (mut word, mut quote, mut begun) = (String::new(), None, false);
    for c in text.chars() {
        match (quote, c) {
            (Some(mark), c) if c == mark => quote = None,
            (Some(_), c) => word.push(c),
            (None, '\'' | '"') => (quote, begun) = (Some(c), true),
            (None, c) if c.is_whitespace() => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            (None, c) => {
                word.push(c);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    let end = words.iter().position(|word| ENDS.contains(&word.as_str()) || word.starts_with('#'));
    words.truncate(end.unwrap_or(words.len()));
    words
}

/// Something valid for a word that stands for something else: `MODEL`, `{device}`.
fn filled(word: &str, option: &str) -> String {
    let value = match option.trim_start_matches('-') {
        "device" | "devices" | "d" => "cpu",
        "engine" | "engines" | "e" => "rten",
        "precision" | "precisions" | "p" | "to" => "fp32",
        "format" => "jsonl",
        "duration" | "every" | "timeout" => "1s",
        "shard" => "1/2",
        "threshold" => "latency:1s",
        "slo" => "p95:1s",
        "input" => "x=1",
        _ => "1",
    };
    let is_name =
        word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || "|_…".contains(c));
    if word == "ADDRESS" {
        return "http://127.0.0.1:8080".to_owned();
    }
    if is_name || word == "…" {
        return value.to_owned();
    }
    // The first of several that could be written: `jsonl|csv`.
    let word = if option.starts_with("--") { word.split('|').next().unwrap_or(word) } else { word };
    let mut text = word.to_owned();
    while let (Some(from), Some(to)) = (text.find('{'), text.find('}')) {
        if to < from {
            break;
        }
        // Several in a row are one value and what may follow it.
        let again = text[to + 1..].starts_with('{');
        text.replace_range(from..=to, if again { "" } else { value });
    }
    text
}

/// A line without the marks of what may be omitted: `[--json FILE]` is looked at, `[the filters of it]` is not.
fn without_brackets(text: &str) -> String {
    let mut found = String::new();
    for (index, part) in text.split(" [").enumerate() {
        let (inside, after) = match part.split_once(']') {
            Some(parts) if index > 0 => parts,
            _ => ("", part),
        };
        if inside.starts_with("--") {
            found += &format!(" {inside}");
        }
        found += after;
    }
    found
}

/// The arguments of one command line, ready for the parser.
fn arguments(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in words(&without_brackets(text)) {
        let is_value = found.last().is_some_and(|before| before.starts_with("--"));
        if word == "…" && !is_value || MORE.contains(&word.as_str()) {
            continue;
        }
        let word = word.as_str();
        let (option, value) = match word.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (Some(option), value),
            _ => (None, word),
        };
        let before = option.or(found.last().map(String::as_str)).unwrap_or_default();
        let value = filled(value, before);
        found.push(option.map_or(value.clone(), |option| format!("{option}={value}")));
    }
    found
}

/// What the parser says of a line; several commands may stand in it.
fn understood(line: &Line) -> Result<usize, String> {
    let text = line.text.replace("cargo run --release -- ", "modelmeter ");
    let words = arguments(&text);
    let mut count = 0;
    for command in words.split(|word| word == "modelmeter").skip(1) {
        let command = std::iter::once("modelmeter").chain(command.iter().map(String::as_str));
        let Err(error) = Arguments::try_parse_from(command) else {
            count += 1;
            continue;
        };
        let fine = match error.kind() {
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
            ErrorKind::MissingRequiredArgument
            | ErrorKind::MissingSubcommand
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            | ErrorKind::InvalidValue => !line.is_whole,
            _ => false,
        };
        if !fine {
            return Err(format!("{}: {}\n{error}", line.place, line.text));
        }
        count += 1;
    }
    Ok(count)
}

/// Fails with every line that is not understood, or where fewer were found than there must be.
fn all_are_understood(lines: &[Line], at_least: usize) {
    let outcomes: Vec<Result<usize, String>> = lines.iter().map(understood).collect();
    let wrong: Vec<&String> =
        outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
    assert!(
        wrong.is_empty(),
        "{} command lines are wrong:\n{}",
        wrong.len(),
        wrong.iter().map(|text| text.as_str()).collect::<Vec<_>>().join("\n")
    );
    let count: usize = outcomes.iter().flatten().sum();
    assert!(count >= at_least, "only {count} command lines were found");
}

/// The examples under a command's help, and under those of its commands.
fn examples(command: &clap::Command, found: &mut Vec<Line>) {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let name = command.get_bin_name().unwrap_or(command.get_name()).to_owned();
    let from_heading = help.lines().skip_while(|line| *line != "Examples:").skip(1);
    for line in from_heading {
        let Some(at) = line.find("modelmeter ") else {
            assert!(line.trim_end().ends_with("modelmeter"), "{name}: `{line}` is no example");
            continue;
        };
        let is_inside = line[..at].ends_with('(');
        let text = match line[at..].split_once(')') {
            Some((inside, _)) if is_inside => inside,
            _ => &line[at..],
        };
        found.push(Line {
            place: format!("help of {name}"),
            text: text.to_owned(),
            is_whole: true,
        });
    }
    for command in command.get_subcommands() {
        examples(command, found);
    }
}

/// Lines of code blocks that begin with the command, and code in running text that does.
fn of_markdown(place: &str, text: &str) -> Vec<Line> {
    let mut found = Vec::new();
    let mut push = |text: &str, is_whole| {
        found.push(Line { place: place.to_owned(), text: text.to_owned(), is_whole });
    };
    for (index, part) in text.split("```").enumerate() {
        if index % 2 == 1 {
            let part = part.replace("\\\n", " ");
            // A prompt, or an item of a pipeline in YAML.
            let bare = |line: &'_ str| {
                ["$ ", "- ", "run: "].iter().fold(line.trim().to_owned(), |line, mark| {
                    line.strip_prefix(mark).map(str::to_owned).unwrap_or(line)
                })
            };
            let lines = part.lines().map(bare);
            for line in lines.filter(|line| begins(line)) {
                push(&line, true);
            }
        } else {
            for code in part.split('`').skip(1).step_by(2).filter(|code| begins(code)) {
                push(&code.replace('\n', " "), false);
            }
        }
    }
    found
}

fn begins(text: &str) -> bool {
    let command = text.strip_prefix("modelmeter ").or(text.strip_prefix("cargo run --release -- "));
    command.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
}

/// Every file under a folder with this ending.
fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.extension().is_some_and(|found| found == ending) {
            found.push(path);
        }
    }
}

/// Command lines in strings of the sources: `"modelmeter …"` and `` `modelmeter …` ``.
fn of_source(place: &str, text: &str) -> Vec<Line> {
    // A string goes on after a backslash at the end of a line.
    let mut joined = String::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        match line.strip_suffix('\\') {
            Some(begun) => joined += begun.trim_start(),
            None => {
                joined += line.trim_start();
                joined.push('\n');
            }
        }
    }
    let mut found = Vec::new();
    for mark in ['`', '"'] {
        let mut rest = joined.as_str();
        while let Some(at) = rest.find(&format!("{mark}modelmeter ")) {
            rest = &rest[at + 1..];
            let text = rest.split([mark, '\n']).next().unwrap_or_default();
            let text = text.split("\\n").next().unwrap_or_default();
            let is_sentence = text.split(' ').nth(1).is_some_and(|word| SENTENCE.contains(&word));
            if begins(text) && !is_sentence && !text.ends_with(' ') {
                let text = text.trim_end_matches('\\').to_owned();
                found.push(Line { place: place.to_owned(), text, is_whole: false });
            }
        }
    }
    found
}

#[test]
fn every_example_in_help_works_and_every_command_has_one() {
    let mut command = Arguments::command();
    command.build();
    let mut found = Vec::new();
    examples(&command, &mut found);
    all_are_understood(&found, 90);
    let mut missing = Vec::new();
    for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        let help = one.get_after_help().map(ToString::to_string).unwrap_or_default();
        if one.get_name() != "help" && !help.contains("Examples:") {
            missing.push(one.get_name());
        }
    }
    assert!(missing.is_empty(), "no examples: {missing:?}");
}

#[test]
fn every_command_line_in_the_docs_is_understood() {
    let mut paths = vec![root().join("README.md")];
    files(&root().join("docs"), "md", &mut paths);
    let mut found = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        found.extend(of_markdown(&path.display().to_string(), &text));
    }
    // There were 173 when this was written; far fewer would mean that they are not found any more.
    all_are_understood(&found, 120);
}

/// `make seeds` runs them all; here they only have to be understood.
#[test]
fn every_command_of_the_seeds_is_understood() {
    let table = include_str!("../../../../docs/seeds/commands.tsv");
    let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let commands = lines.filter_map(|line| line.split('\t').nth(2));
    let commands = commands.filter(|command| !command.starts_with("not yet: "));
    let found: Vec<Line> = commands
        .map(|text| Line { place: "commands.tsv".into(), text: text.to_owned(), is_whole: true })
        .collect();
    all_are_understood(&found, 60);
}

#[test]
fn every_command_line_in_a_hint_is_understood() {
    let mut paths = Vec::new();
    files(&root().join("crates"), "rs", &mut paths);
    let mut found = Vec::new();
    // Lines that are wrong or rewritten on purpose, and what the interpreter of torch prints, which begins alike.
    const OTHERS: [&str; 3] = ["habits.rs", "lines.rs", "interpreter.rs"];
    let is_other = |path: &Path| OTHERS.iter().any(|other| path.ends_with(other));
    for path in paths.iter().filter(|path| path.components().any(|part| part.as_os_str() == "src"))
    {
        if !is_other(path) {
            let text = fs::read_to_string(path).unwrap();
            found.extend(of_source(&path.display().to_string(), &text));
        }
    }
    all_are_understood(&found, 60);
}

/// Reports and pages show it for every load that they are about.
#[test]
fn the_command_that_repeats_a_load_is_understood_for_every_scenario() {
    let rate = types::Rate;
    let server = |arrivals, ramp_to| Scenario::Server { rate: rate(2.5), arrivals, ramp_to };
    let scenarios = [
        Scenario::SingleStream,
        Scenario::MultiStream { streams: 4 },
        server(Arrivals::Poisson, None),
        server(Arrivals::Constant, Some(rate(10.0))),
        server(Arrivals::Gamma { burstiness: rate(0.25) }, None),
        Scenario::Offline,
        Scenario::Concurrency { users: 8 },
        Scenario::Replay { trace: "5ca1ab1e".into() },
    ];
    let line = |scenario| {
        let load = Load {
            scenario,
            protocol: Protocol::InProcess,
            streaming: false,
            max_in_flight: Some(64),
            batching: Some(LoadBatching { most: 8, wait_micros: 500 }),
            texts: None,
            content: "input_ids 1×128".into(),
        };
        let cell = Cell {
            model: "my model.onnx".into(),
            engine: "rten".into(),
            device: Device::Cpu,
            precision: Precision::Fp32,
            batch_size: 8,
            sequence_length: Some(128),
            mode: Mode::Load,
            training: None,
            generation: None,
            load: None,
            threads: 2,
            seed: 7,
            inputs: Vec::new(),
            text: None,
            options: EngineOptions::default(),
            feed: Feed::default(),
        };
        let text = load_again(&cell, &load, None).unwrap();
        assert!(text.starts_with("modelmeter load 'my model.onnx' --"), "{text}");
        Line { place: "a stored load".into(), text, is_whole: true }
    };
    all_are_understood(&scenarios.map(line), 8);
}

#[test]
fn a_wrong_command_line_is_found() {
    let line = |text: &str, is_whole| Line { place: "here".into(), text: text.into(), is_whole };
    for wrong in [
        "modelmeter profile MODEL --no-such-option",
        "modelmeter profil MODEL",
        "modelmeter devices        modelmeter models --no-such-option",
        "cargo run --release -- profile m --no-such-option | jq .",
    ] {
        assert!(understood(&line(wrong, true)).is_err(), "{wrong}");
        assert!(understood(&line(wrong, false)).is_err(), "{wrong}");
    }
    assert!(understood(&line("modelmeter prune", true)).is_err());
    assert_eq!(understood(&line("modelmeter prune", false)), Ok(1));
    assert_eq!(
        understood(&line("modelmeter profile 'a b.onnx' --device {a}{b} # c --d", true)),
        Ok(1)
    );
    let synopsis = "modelmeter db export FILE [--format jsonl|csv] [the filters of `runs list`]";
    assert_eq!(understood(&line(synopsis, true)), Ok(1));
    assert!(understood(&line("modelmeter db export FILE [--formats …]", true)).is_err());
    let of = |text: &str| of_markdown("here", text).len();
    assert_eq!(
        of(
            "a `modelmeter devices` b\n```\n$ modelmeter models\n- run: modelmeter runs list\nother\n```\n"
        ),
        3
    );
    assert_eq!(
        of_source("here", "hint(\"`modelmeter models` or \\\n  `modelmeter devices`\")").len(),
        2
    );
}
