//! In which formats a result is written, and where to: the same in every command that has a result.

use crate::{Exit, Failure, output};
use clap::{Arg, ArgMatches, Args, FromArgMatches, value_parser};
use modelmeter::{FORMATS, ResultFormat};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// Formats of the result: one option for each of [`FORMATS`]. Without a file, or with `-`, a format goes to standard output.
#[derive(Debug, Clone, Default)]
pub(crate) struct ResultOutput {
    /// The format that was asked for, and where it goes.
    asked: Vec<(&'static ResultFormat, PathBuf)>,
}

impl Args for ResultOutput {
    fn augment_args(command: clap::Command) -> clap::Command {
        let option = |format: &ResultFormat| {
            Arg::new(format.id)
                .long(format.id)
                .aliases(format.aliases)
                .value_name("FILE")
                .num_args(0..=1)
                .default_missing_value("-")
                .value_parser(value_parser!(PathBuf))
                .help(format!("Result as {}, to a file or standard output", format.title))
                .help_heading("Output")
        };
        command.args(FORMATS.iter().map(option))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        ResultOutput::augment_args(command)
    }
}

impl FromArgMatches for ResultOutput {
    fn from_arg_matches(matches: &ArgMatches) -> Result<ResultOutput, clap::Error> {
        let asked = |format: &'static ResultFormat| {
            Some((format, matches.get_one::<PathBuf>(format.id)?.clone()))
        };
        Ok(ResultOutput { asked: FORMATS.iter().filter_map(asked).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = ResultOutput::from_arg_matches(matches)?;
        Ok(())
    }
}

impl ResultOutput {
    /// Every format that was asked for, and where it goes.
    pub(crate) fn files(&self) -> Vec<(&'static ResultFormat, &Path)> {
        self.asked.iter().map(|(format, path)| (*format, path.as_path())).collect()
    }

    /// Where a format goes, if it was asked for.
    pub(crate) fn path(&self, format: &str) -> Option<&Path> {
        self.asked.iter().find(|(one, _)| one.id == format).map(|(_, path)| path.as_path())
    }

    /// The same with one more file.
    pub(crate) fn and(&self, format: &'static ResultFormat, path: PathBuf) -> ResultOutput {
        ResultOutput { asked: self.asked.iter().cloned().chain([(format, path)]).collect() }
    }

    /// The same with `--output FILE`: the format that has no file of its own, or the one of the file's extension among
    /// [`FORMATS`] and `more`.
    pub(crate) fn with_file(
        &self,
        file: Option<&Path>,
        more: &'static [ResultFormat],
    ) -> Result<ResultOutput, Failure> {
        let Some(file) = file else { return Ok(self.clone()) };
        let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let own = || FORMATS.iter().chain(more).find(|format| format.has_ending(ending));
        let open: Vec<&'static ResultFormat> =
            self.asked.iter().filter(|(_, path)| is_stdout(path)).map(|(one, _)| *one).collect();
        // A file of a format that only this command has is a file of its own.
        let is_extra = more.iter().any(|format| format.has_ending(ending));
        let format = match open.as_slice() {
            [only] if !is_extra => Some(*only),
            _ => own(),
        };
        let Some(format) = format else { return Err(unknown_format(file, more)) };
        let mut whole = self.clone();
        whole.asked.retain(|(one, _)| one.id != format.id);
        Ok(whole.and(format, file.to_owned()))
    }

    /// What could never be written is said before anything is done. `more_files` are further files of the command.
    pub(crate) fn check<'a>(
        &'a self,
        more_files: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Result<(), Failure> {
        let own = self.files().into_iter().map(|(_, path)| path);
        let files: Vec<&Path> = own.chain(more_files.into_iter().map(PathBuf::as_path)).collect();
        for (at, path) in files.iter().enumerate() {
            if files[..at].contains(path) {
                let text = match is_stdout(path) {
                    true => "only one format can go to standard output".to_owned(),
                    false => format!("two outputs have the same file, `{}`", path.display()),
                };
                return Err(Failure::new(Exit::Wrong, text).hint("give each a file of its own"));
            }
            if !is_stdout(path) {
                output::check_folder(path)?;
            }
        }
        Ok(())
    }

    /// Whether standard output is for a program that reads data.
    pub(crate) fn is_data(&self) -> bool {
        self.files().iter().any(|(_, path)| is_stdout(path))
    }
}

/// The file that a result goes to, in the format of its extension.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct OutputFile {
    #[arg(long, short, value_name = "FILE", help = output_help(&[]))]
    pub(crate) output: Option<PathBuf>,
}

/// What `--output` says of itself: the usual extension of every format.
pub(crate) fn output_help(more: &[ResultFormat]) -> String {
    let usual: Vec<String> = FORMATS
        .iter()
        .chain(more)
        .filter_map(|format| format.endings.first())
        .map(|ending| format!(".{ending}"))
        .collect();
    format!("Output file, in the format of its extension: {}", usual.join(", "))
}

/// Standard output, as people write it.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// A file whose name does not say its format.
fn unknown_format(file: &Path, more: &[ResultFormat]) -> Failure {
    let text = format!("the name `{}` does not say in which format to write it", file.display());
    let endings = FORMATS.iter().chain(more).flat_map(|format| format.endings);
    let endings: Vec<String> = endings.map(|ending| format!(".{ending}")).collect();
    Failure::new(Exit::Wrong, text).hint(format!(
        "known extensions are {}; `--json` and the other formats also take any name: `--json=FILE`",
        endings.join(", ")
    ))
}

/// `--json MODEL` means `--json` and a model: only a name with the format's extension is taken for its file, or a new file
/// in a folder that exists.
pub(crate) fn apart_from_values(words: Vec<OsString>) -> Vec<OsString> {
    let mut apart = Vec::with_capacity(words.len());
    let mut words = words.into_iter().peekable();
    let mut is_over = false;
    while let Some(word) = words.next() {
        is_over |= word == "--";
        let format = word.to_str().and_then(|word| word.strip_prefix("--"));
        // Options of other tools, `--export-json`, always have a file.
        let is_ours = |name: &&str| {
            FORMATS.iter().any(|format| format.id == *name || format.endings.contains(name))
        };
        match (format.filter(is_ours).and_then(ResultFormat::by_name), words.peek()) {
            (Some(format), Some(next)) if !is_over && !is_file_of(format, next) => {
                apart.push(format!("--{}=-", format.id).into());
            }
            _ => apart.push(word),
        }
    }
    apart
}

fn is_file_of(format: &ResultFormat, word: &OsString) -> bool {
    let path = Path::new(word);
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let is_ending = format.has_ending(ending);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let is_new = ending.is_empty() && folder.is_some_and(Path::is_dir) && !path.exists();
    is_stdout(path) || path.starts_with("/dev") || is_ending || is_new
}

#[cfg(test)]
mod tests {
    use super::*;
    use modelmeter::RUN_FORMATS;

    fn apart(line: &str) -> String {
        let words = line.split(' ').map(OsString::from).collect();
        let words: Vec<String> =
            apart_from_values(words).into_iter().map(|word| word.into_string().unwrap()).collect();
        words.join(" ")
    }

    #[test]
    fn only_a_name_with_the_formats_extension_is_its_file() {
        for (line, meant) in [
            ("profile --json gpt2", "profile --json=- gpt2"),
            ("profile --json model.onnx", "profile --json=- model.onnx"),
            ("profile gpt2 --json", "profile gpt2 --json"),
            ("profile gpt2 --json out.json", "profile gpt2 --json out.json"),
            ("profile gpt2 --json - --csv", "profile gpt2 --json - --csv"),
            ("analyze --md a.md --html", "analyze --md a.md --html"),
            ("analyze --md bert", "analyze --markdown=- bert"),
            ("runs list --json --limit 3", "runs list --json=- --limit 3"),
            ("check m --json /dev/stdout", "check m --json /dev/stdout"),
            ("profile -- --json gpt2", "profile -- --json gpt2"),
            ("profile --json google/vit", "profile --json=- google/vit"),
            ("report 7f3a --html src/new", "report 7f3a --html src/new"),
            ("profile --json src/arguments", "profile --json=- src/arguments"),
        ] {
            assert_eq!(apart(line), meant);
        }
    }

    #[test]
    fn an_output_file_takes_the_open_format_or_that_of_its_extension() {
        let open = asked(&["json"]);
        let whole = open.with_file(Some(Path::new("result.txt")), &[]).unwrap();
        assert_eq!(whole.path("json"), Some(Path::new("result.txt")));
        let none = ResultOutput::default();
        let whole = none.with_file(Some(Path::new("result.MD")), &[]).unwrap();
        assert_eq!(whole.path("markdown"), Some(Path::new("result.MD")));
        assert!(none.with_file(Some(Path::new("result.txt")), &[]).is_err());
        assert!(none.with_file(None, &[]).unwrap().files().is_empty());
        let run = open.with_file(Some(Path::new("result.txt")), RUN_FORMATS).unwrap();
        let files: Vec<&str> = run.files().iter().map(|(format, _)| format.id).collect();
        assert_eq!(files, ["json", "text"], "what only runs have is a file beside the others");
    }

    /// These formats, to standard output.
    fn asked(formats: &[&'static str]) -> ResultOutput {
        let format = |id: &&str| (ResultFormat::by_name(id).unwrap(), "-".into());
        ResultOutput { asked: formats.iter().map(format).collect() }
    }

    #[test]
    fn two_formats_cannot_share_a_place() {
        assert!(asked(&["json", "csv"]).check([]).is_err());
        let one = asked(&["json"]);
        assert!(one.check([]).is_ok() && one.is_data());
    }
}
