//! How a served model is spoken to: of every command that takes an address. And what else was given, for those of them that take
//! models too.

use super::load::{parse_header, parse_protocol};
use clap::{ArgMatches, Args, FromArgMatches, parser::ValueSource};
use types::Protocol;

/// How a server is spoken to.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArguments {
    /// Protocol of the server [default: detected]
    #[arg(long, value_name = "NAME", value_parser = parse_protocol)]
    pub(crate) protocol: Option<Protocol>,
    /// Name of the model on the server [default: its only one]
    #[arg(long, value_name = "NAME")]
    pub(crate) served_model: Option<String>,
    /// HTTP header of every request: 'name: value'; may be repeated
    #[arg(long, value_name = "LINE", value_parser = parse_header)]
    pub(crate) header: Vec<(String, String)>,
    /// Environment variable with a key, sent as `authorization: Bearer KEY`
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) key_env: Option<String>,
    /// Send requests to another machine without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
}

impl ServerArguments {
    /// The first of these options that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let all = [
            ("--protocol", self.protocol.is_some()),
            ("--served-model", self.served_model.is_some()),
            ("--header", !self.header.is_empty()),
            ("--key-env", self.key_env.is_some()),
            ("--yes", self.yes),
        ];
        all.into_iter().find(|(_, is_given)| *is_given).map(|(option, _)| option)
    }
}

/// Every option that stands on the command line, by its field. It adds none, and stands before all other fields: those take
/// what they read away.
#[derive(Debug, Clone, Default)]
pub(crate) struct Given(Vec<String>);

impl Given {
    /// The first option beyond these, as it is written.
    pub(crate) fn beyond(&self, known: &[&str]) -> Option<String> {
        let other = self.0.iter().find(|id| !known.contains(&id.as_str()))?;
        Some(format!("--{}", other.replace('_', "-")))
    }
}

impl Args for Given {
    fn augment_args(command: clap::Command) -> clap::Command {
        command
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        command
    }
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Given, clap::Error> {
        let ids = matches.ids().map(|id| id.as_str());
        // Groups of arguments are named as types are.
        let is_option = |id: &&str| id.starts_with(|c: char| c.is_ascii_lowercase());
        let is_written = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
        let given = ids.filter(is_option).filter(is_written);
        Ok(Given(given.map(str::to_owned).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Given::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        given: Given,
        #[command(flatten)]
        server: ServerArguments,
        #[arg(long, default_value_t = 3)]
        batch_size: u32,
    }

    #[test]
    fn what_was_given_is_known_and_defaults_are_not() {
        let of = |words: &[&str]| {
            Command::parse_from(std::iter::once("command").chain(words.iter().copied()))
        };
        let known = ["protocol", "yes"];
        assert_eq!(of(&["--yes", "--protocol", "http"]).given.beyond(&known), None);
        let more = of(&["--yes", "--batch-size", "3"]);
        assert_eq!(more.given.beyond(&known), Some("--batch-size".into()));
        assert_eq!((more.batch_size, more.server.given()), (3, Some("--yes")));
        assert_eq!(of(&[]).server.given(), None);
    }
}
