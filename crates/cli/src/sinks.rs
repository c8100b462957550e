//! Where a finished result goes: the database, files, the terminal. All of them are tried; one that fails stops no other,
//! and is told at the end.

use crate::{
    Exit, Failure,
    arguments::{Global, ResultOutput, is_stdout},
    command,
    output::{self, Out},
    terminal::{self, Stream},
};
use modelmeter::{Notice, Run, Session};
use report::{ResultDocument, Style, clean};
use std::{
    io,
    path::{Path, PathBuf},
};

/// Writes one file of a folder.
pub(crate) type FileWriter<'a> = Box<dyn FnOnce(Out<'_>) -> io::Result<()> + 'a>;

/// The outputs of one command, and what became of them.
pub(crate) struct Sinks {
    is_quiet: bool,
    colour: bool,
    style: Style,
    /// Whether standard output is for a program that reads data.
    talks_data: bool,
    failures: Vec<Failure>,
    /// Runs that no place took: they are written to standard output, as the last resort.
    unkept: Vec<Run>,
}

impl Sinks {
    pub(crate) fn new(global: &Global) -> Sinks {
        Sinks {
            is_quiet: global.quiet,
            colour: terminal::wants_colour(global.color, Stream::Error),
            style: command::style(global),
            talks_data: false,
            failures: Vec::new(),
            unkept: Vec::new(),
        }
    }

    /// Hears what the database did with what was measured; what it refused is told at the end.
    pub(crate) fn hear(&mut self, session: &mut Session) {
        for notice in session.take_notices() {
            if notice.is_failure() {
                self.failures.push(failure_of(&notice));
            } else {
                command::say_one(&notice, self.is_quiet);
            }
        }
        self.unkept.extend(session.take_unkept());
    }

    /// Notes what became of an output.
    pub(crate) fn attempt(&mut self, outcome: Result<(), Failure>) {
        self.failures.extend(outcome.err());
    }

    /// Writes text to a file and says so, or writes it to standard output for `-`.
    pub(crate) fn file(&mut self, path: &Path, text: impl FnOnce() -> String) {
        self.file_with(path, |out| out.write_all(text().as_bytes()));
    }

    /// The same where something writes itself.
    pub(crate) fn file_with(&mut self, path: &Path, write: impl FnOnce(Out<'_>) -> io::Result<()>) {
        if self.file_untold(path, write) && !is_stdout(path) {
            self.talk(&format!("wrote {}\n", path.display()));
        }
    }

    /// Writes files into a folder, which is made, and says how many.
    pub(crate) fn folder<'a>(
        &mut self,
        folder: &Path,
        files: impl IntoIterator<Item = (PathBuf, FileWriter<'a>)>,
    ) {
        self.attempt(output::make_folder(folder));
        let count = files
            .into_iter()
            .filter_map(|(name, write)| self.file_untold(&folder.join(name), write).then_some(()))
            .count();
        if count > 0 {
            self.talk(&format!("wrote {count} files into {}\n", folder.display()));
        }
    }

    /// Writes a file; whether it was.
    fn file_untold(&mut self, path: &Path, write: impl FnOnce(Out<'_>) -> io::Result<()>) -> bool {
        self.talks_data |= is_stdout(path);
        let written = output::to_file_with(path, write);
        let is_written = written.is_ok();
        self.attempt(written);
        is_written
    }

    /// Writes a result in every format that was asked for, and shows it unless standard output is for data.
    pub(crate) fn result(&mut self, document: &ResultDocument, asked: &ResultOutput, exit: Exit) {
        self.formats(document, asked);
        self.show(exit, |style| document.terminal(style, command::table_width()));
    }

    /// The same for a list, which those who asked for quiet want too.
    pub(crate) fn list(
        &mut self,
        document: &ResultDocument,
        asked: &ResultOutput,
        width: Option<usize>,
    ) {
        self.formats(document, asked);
        if !self.talks_data {
            let written = output::data(&document.terminal(&self.style, width));
            self.attempt(written);
        }
    }

    /// Writes a result in every format that was asked for.
    pub(crate) fn formats(&mut self, document: &ResultDocument, asked: &ResultOutput) {
        self.talks_data |= asked.is_data();
        for (format, path) in asked.files() {
            self.file(path, || (format.render)(document));
        }
    }

    /// Says something beside the result; not to those who asked for quiet.
    pub(crate) fn talk(&self, text: &str) {
        if !self.is_quiet {
            output::complain(text);
        }
    }

    /// Whether standard output is for a program that reads data.
    pub(crate) fn talks_data(&self) -> bool {
        self.talks_data
    }

    /// Standard output is for a program that reads data.
    pub(crate) fn leave_to_data(&mut self) {
        self.talks_data = true;
    }

    /// Shows a result in the terminal. One that is not fine shows in any case: to those who asked for quiet, and beside data, on
    /// standard error.
    pub(crate) fn show(&mut self, exit: Exit, text: impl FnOnce(&Style) -> String) {
        if !self.is_quiet && !self.talks_data {
            let written = output::data(&text(&self.style));
            self.attempt(written);
        } else if exit != Exit::Fine {
            let style = Style { colour: self.colour, ..self.style };
            output::complain(&text(&style));
        }
    }

    /// How the command ends: what it found out comes first, what failed beside it second.
    pub(crate) fn finish(self, found: Exit) -> Exit {
        let failed = self.failures.iter().map(|failure| failure.exit);
        match found {
            Exit::Fine => failed.max_by_key(|exit| *exit as u8).unwrap_or(Exit::Fine),
            found => found,
        }
    }
}

impl Drop for Sinks {
    /// Also where something else ended the command: nothing that failed stays unsaid, and no run is lost.
    fn drop(&mut self) {
        for failure in &self.failures {
            output::complain(&failure.render(self.colour));
        }
        if self.unkept.is_empty() {
            return;
        }
        let mut lines = Vec::new();
        let jsonl = exchange::Format::JsonLines;
        if exchange::write(jsonl, self.unkept.iter(), &mut lines).is_ok() {
            let lines = String::from_utf8_lossy(&lines).into_owned();
            // A program that reads data would take it for a part of that.
            if self.talks_data || output::data(&lines).is_err() {
                output::complain(&lines);
            }
        }
    }
}

fn failure_of(notice: &Notice) -> Failure {
    let failure = Failure::new(Exit::Cannot, clean(&notice.to_string()));
    match notice {
        Notice::Unkept { tried, .. } => tried
            .iter()
            .fold(failure, |failure, why| failure.cause(clean(why)))
            .hint(
                "its JSON follows: save the line that begins with `{` as `run.jsonl`, then `modelmeter db import run.jsonl`",
            ),
        other => match other.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sinks() -> Sinks {
        Sinks {
            is_quiet: true,
            colour: false,
            style: Style::plain(80),
            talks_data: false,
            failures: Vec::new(),
            unkept: Vec::new(),
        }
    }

    #[test]
    fn one_that_fails_stops_no_other_and_decides_the_exit_code() {
        let folder = tempfile::tempdir().unwrap();
        let mut all = sinks();
        all.file(Path::new("/dev/full"), || "first".into());
        all.file(&folder.path().join("second"), || "second".into());
        assert_eq!(std::fs::read_to_string(folder.path().join("second")).unwrap(), "second");
        assert_eq!(all.finish(Exit::Fine), Exit::Cannot);
    }

    #[test]
    fn what_a_gate_found_comes_before_what_failed_beside_it() {
        for (found, exit) in
            [(Exit::Fine, Exit::Cannot), (Exit::Failed, Exit::Failed), (Exit::Untold, Exit::Untold)]
        {
            let mut all = sinks();
            all.attempt(Err(Failure::new(Exit::Cannot, "the disk is full")));
            assert_eq!(all.finish(found), exit);
        }
        assert_eq!(sinks().finish(Exit::Fine), Exit::Fine);
    }
}
