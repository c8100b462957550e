//! What several commands write alike: a page, JSON, CSV or Markdown, on standard output or into a file.

use crate::{
    Exit, Failure,
    arguments::{Form, Global},
    output,
};
use std::path::Path;

/// In which form something is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Page,
    Json,
    Csv,
    Markdown,
}

/// What is written, and where to.
pub(crate) struct Target<'a> {
    pub(crate) format: Format,
    file: Option<&'a Path>,
}

impl Target<'_> {
    /// As the arguments say; what could never be written is said before anything is done.
    pub(crate) fn of(form: &Form) -> Result<Target<'_>, Failure> {
        let asked = match form {
            Form { json: true, .. } => Some(Format::Json),
            Form { csv: true, .. } => Some(Format::Csv),
            Form { markdown: true, .. } => Some(Format::Markdown),
            _ => None,
        };
        let Some(file) = form.output.as_deref() else {
            return Ok(Target { format: asked.unwrap_or(Format::Page), file: None });
        };
        let format = asked.or_else(|| of_ending(file)).ok_or_else(|| {
            let text = format!("`{}` does not say in which format to write it", file.display());
            Failure::new(Exit::Wrong, text)
                .hint("end it in .json, .csv or .md, or give `--json`, `--csv` or `--markdown`")
        })?;
        if file == Path::new("-") {
            return Ok(Target { format, file: None });
        }
        output::check_folder(file)?;
        Ok(Target { format, file: Some(file) })
    }

    /// Whether standard output is for a program that reads data.
    pub(crate) fn is_data(&self) -> bool {
        self.file.is_none() && self.format != Format::Page
    }

    /// Writes it. A page that is not fine shows even to those who asked for quiet, on standard error.
    pub(crate) fn write(
        &self,
        exit: Exit,
        global: &Global,
        text: impl FnOnce() -> String,
    ) -> Result<(), Failure> {
        match self.file {
            Some(file) => {
                output::to_file(file, &text())?;
                if !global.quiet {
                    output::complain(&format!("wrote {}\n", file.display()));
                }
                Ok(())
            }
            None if self.format == Format::Page && global.quiet => {
                if exit != Exit::Fine {
                    output::complain(&text());
                }
                Ok(())
            }
            None => output::data(&text()),
        }
    }
}

fn of_ending(file: &Path) -> Option<Format> {
    match file.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "json" => Some(Format::Json),
        "csv" => Some(Format::Csv),
        "md" | "markdown" => Some(Format::Markdown),
        _ => None,
    }
}
