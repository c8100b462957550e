//! The first page of help: commands in groups, by what people want to do.

use super::Arguments;
use crate::terminal;
use clap::{Command, CommandFactory, builder::StyledStr};

/// Every command in exactly one group; tests compare this list with the commands and with docs/COMMANDS.md.
const GROUPS: [(&str, &[&str]); 7] = [
    (
        "Measure",
        &[
            "profile",
            "generate",
            "load",
            "gpu",
            "compare",
            "bench",
            "serve-bench",
            "calibrate",
            "noise",
        ],
    ),
    (
        "Understand",
        &[
            "report",
            "visualize",
            "analyze",
            "runs",
            "trend",
            "predict",
            "serve",
            "devices",
            "models",
            "engines",
        ],
    ),
    ("Decide", &["recommend", "capacity", "advise", "fit"]),
    ("Guard", &["check", "watch"]),
    ("Optimise", &["prune", "quantize", "optimize", "export"]),
    ("Data", &["db"]),
    ("Setup", &["completions", "man", "help"]),
];

/// The options of the first page in their order; on others they stand under the headings of commands.
const OPTIONS: [&str; 6] = ["db", "cache", "python", "color", "quiet", "help"];

/// Columns before a command's description.
const INDENT: usize = 14;

/// The most columns that a line has, as clap wraps the rest.
const WIDEST: usize = 100;

/// The text of `modelmeter --help`. clap cannot group commands, so they are hidden from it and listed here.
pub(crate) fn help() -> StyledStr {
    let mut command = Arguments::command();
    command.build();
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{}{{all-args}}{{after-help}}",
        listed(&command, terminal::width().min(WIDEST))
    );
    Arguments::command()
        .mut_subcommands(|command| command.hide(true))
        .mut_args(|arg| {
            let place = OPTIONS.iter().position(|option| arg.get_id() == option);
            arg.help_heading(None::<&'static str>).display_order(place.unwrap_or(OPTIONS.len()))
        })
        .disable_help_subcommand(true)
        .override_usage("modelmeter [OPTIONS] <COMMAND>")
        .help_template(template)
        .render_help()
}

fn listed(command: &Command, width: usize) -> String {
    let (header, literal) = (command.get_styles().get_header(), command.get_styles().get_literal());
    let mut text = String::new();
    for (group, names) in GROUPS {
        text += &format!("{header}{group}:{header:#}\n");
        for name in names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let lines = wrapped(&about, width.saturating_sub(INDENT));
            let lines = lines.join(&format!("\n{:INDENT$}", ""));
            let space = INDENT.saturating_sub(2 + name.len());
            text += &format!("  {literal}{name}{literal:#}{:space$}{lines}\n", "");
        }
        text += "\n";
    }
    text
}

/// The words in lines of at most this many columns.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_exactly_one_group() {
        let mut command = Arguments::command();
        command.build();
        let listed: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
        let known: Vec<&str> = visible.map(Command::get_name).collect();
        for name in &known {
            let times = listed.iter().filter(|listed| *listed == name).count();
            assert_eq!(times, 1, "{name}");
        }
        assert_eq!(listed.len(), known.len(), "a group names a command that is not there");
    }

    #[test]
    fn the_document_of_commands_has_the_same_groups_in_the_same_order() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/COMMANDS.md");
        let document = std::fs::read_to_string(file).unwrap();
        let sections: Vec<&str> = document.split("\n## ").skip(1).collect();
        for (place, (group, names)) in GROUPS.iter().enumerate() {
            let (heading, section) = sections[place].split_once('\n').unwrap();
            assert_eq!(heading, *group);
            let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
            let mut commands: Vec<&str> =
                rows.filter_map(|row| row.split([' ', '`']).next()).collect();
            commands.dedup();
            assert_eq!(commands, *names, "the commands under `{group}`");
        }
    }

    #[test]
    fn the_first_page_has_the_groups_the_options_and_examples() {
        let help = help().to_string();
        for part in ["Measure:", "Guard:", "  profile ", "--quiet", "Options:", "Examples:"] {
            assert!(help.contains(part), "`{part}` is not in\n{help}");
        }
        assert_eq!(help.matches("Options:").count(), 1, "{help}");
        assert!(!help.contains("Commands:") && !help.contains("__host"), "{help}");
    }

    #[test]
    fn lines_are_wrapped_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("immeasurable", 3), ["immeasurable"]);
    }
}
