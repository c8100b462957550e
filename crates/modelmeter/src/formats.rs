//! The formats in which every result can be written; flags, endings of files, help and tests walk this one list.

use report::ResultDocument;

/// A way to write a result.
#[derive(Clone, Copy)]
pub struct ResultFormat {
    /// Its name, which is the flag too: `--json`.
    pub id: &'static str,
    /// Endings of files that mean it, the usual one first.
    pub endings: &'static [&'static str],
    /// What it is, in one line.
    pub describe: &'static str,
    /// Writes it.
    pub render: fn(&ResultDocument) -> String,
}

/// Every format; a new one is a line here and the file that renders it. A terminal is not among them: it has a width.
pub const FORMATS: &[ResultFormat] = &[
    ResultFormat {
        id: "json",
        endings: &["json"],
        describe: "everything, for programs; `schema` names the document",
        render: ResultDocument::json_text,
    },
    ResultFormat {
        id: "csv",
        endings: &["csv"],
        describe: "rows for spreadsheets, units in the column names",
        render: ResultDocument::csv,
    },
    ResultFormat {
        id: "markdown",
        endings: &["md", "markdown"],
        describe: "for pull requests and documents",
        render: ResultDocument::markdown,
    },
    ResultFormat {
        id: "html",
        endings: &["html", "htm"],
        describe: "a page that is whole in itself",
        render: page::result_page,
    },
];

impl ResultFormat {
    /// The format with this name.
    #[must_use]
    pub fn by_id(id: &str) -> Option<&'static ResultFormat> {
        FORMATS.iter().find(|format| format.id == id)
    }

    /// The format that the ending of a file's name means.
    #[must_use]
    pub fn by_ending(ending: &str) -> Option<&'static ResultFormat> {
        let ending = ending.to_ascii_lowercase();
        FORMATS.iter().find(|format| format.endings.contains(&ending.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_a_name_and_endings_of_its_own_and_renders_an_empty_result() {
        for format in FORMATS {
            assert_eq!(ResultFormat::by_id(format.id).map(|found| found.id), Some(format.id));
            for ending in format.endings {
                let found = ResultFormat::by_ending(&ending.to_uppercase());
                assert_eq!(found.map(|found| found.id), Some(format.id));
            }
            (format.render)(&ResultDocument::default());
        }
    }
}
