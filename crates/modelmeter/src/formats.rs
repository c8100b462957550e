//! The formats in which every result can be written; flags, endings of files, help and tests walk this one list.

use report::{ResultDocument, Style};

/// A way to write a result.
#[derive(Debug, Clone, Copy)]
pub struct ResultFormat {
    /// Its name, which is the option too: `--json`.
    pub id: &'static str,
    /// Other names of the option, which people know from other tools.
    pub aliases: &'static [&'static str],
    /// Its name in a sentence.
    pub title: &'static str,
    /// Endings of files that mean it, the usual one first.
    pub endings: &'static [&'static str],
    /// Writes it.
    pub render: fn(&ResultDocument) -> String,
}

/// Every format; a new one is a line here and the file that renders it. A terminal is not among them: it has a width.
pub const FORMATS: &[ResultFormat] = &[
    ResultFormat {
        id: "json",
        aliases: &["output-ci", "export-json"],
        title: "JSON",
        endings: &["json"],
        render: ResultDocument::json_text,
    },
    ResultFormat {
        id: "csv",
        aliases: &["export-csv"],
        title: "CSV",
        endings: &["csv"],
        render: ResultDocument::csv,
    },
    ResultFormat {
        id: "markdown",
        aliases: &["md", "export-markdown"],
        title: "Markdown",
        endings: &["md", "markdown"],
        render: ResultDocument::markdown,
    },
    ResultFormat {
        id: "html",
        aliases: &["export-html"],
        title: "a self-contained HTML page",
        endings: &["html", "htm"],
        render: page::result_page,
    },
];

/// Formats that only a run has beside [`FORMATS`]: endings of `profile --output`, without an option of their own.
pub const RUN_FORMATS: &[ResultFormat] = &[
    ResultFormat {
        id: "jsonl",
        aliases: &[],
        title: "one JSON document a line",
        endings: &["jsonl"],
        render: |document| format!("{}\n", document.json),
    },
    ResultFormat {
        id: "text",
        aliases: &[],
        title: "the text of a terminal with 80 columns",
        endings: &["txt"],
        render: |document| document.terminal(&Style::default(), Some(Style::default().columns())),
    },
];

impl ResultFormat {
    /// Whether a file with this ending has the format.
    #[must_use]
    pub fn has_ending(&self, ending: &str) -> bool {
        self.endings.iter().any(|known| known.eq_ignore_ascii_case(ending))
    }

    /// The format whose option has this name, its own or another.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static ResultFormat> {
        let is_meant = |format: &&ResultFormat| format.id == name || format.aliases.contains(&name);
        FORMATS.iter().find(is_meant)
    }

    /// The format that the ending of a file's name means.
    #[must_use]
    pub fn by_ending(ending: &str) -> Option<&'static ResultFormat> {
        FORMATS.iter().find(|format| format.has_ending(ending))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_name_and_endings_of_its_own_and_renders_an_empty_result() {
        for format in FORMATS {
            for name in format.aliases.iter().chain([&format.id]) {
                let found = ResultFormat::by_name(name);
                assert_eq!(found.map(|found| found.id), Some(format.id));
            }
            for ending in format.endings {
                let found = ResultFormat::by_ending(&ending.to_uppercase());
                assert_eq!(found.map(|found| found.id), Some(format.id));
            }
            (format.render)(&ResultDocument::default());
        }
    }

    #[test]
    fn what_only_runs_have_is_no_format_of_every_result() {
        for format in RUN_FORMATS {
            assert!(ResultFormat::by_name(format.id).is_none(), "{}", format.id);
            assert!(format.endings.iter().all(|ending| ResultFormat::by_ending(ending).is_none()));
            let document =
                ResultDocument { title: vec!["run".into()], ..ResultDocument::default() };
            assert!((format.render)(&document).ends_with('\n'), "{}", format.id);
        }
    }
}
