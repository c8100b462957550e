//! Pictures that were drawn into a folder, and why others were not.

use crate::analysis::words::counted;
use crate::clean::clean;
use crate::csv::text;
use crate::document::to_json;
use crate::invalid::not_valid;
use crate::result::{Block, DataTable, Fact, Note, ResultDocument, ResultPicture, Tone};
use schemars::JsonSchema;
use serde::Serialize;
use types::InvalidRuns;

/// What the document of pictures is called.
pub const PICTURES_SCHEMA: &str = "modelmeter.pictures/1";

/// Pictures of stored runs, as they were written.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DrawnPictures {
    /// The folder they are in.
    pub folder: String,
    /// Every picture that was asked for.
    pub pictures: Vec<DrawnPicture>,
    /// Cells that were measured and have no valid run.
    pub not_valid_cells: usize,
    /// Whether those are in the pictures, marked.
    pub shows_not_valid: bool,
    /// Why their runs are not valid.
    pub not_valid: InvalidRuns,
    /// The command that measures the newest of them again.
    pub again: Option<String>,
}

/// One picture.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DrawnPicture {
    /// Its name.
    pub name: String,
    /// What it shows.
    pub shows: String,
    /// Names of its files in the folder.
    pub files: Vec<String>,
    /// Why it was not drawn, and a command that would help.
    pub absent: Option<(String, String)>,
    /// The picture for a page with the colours around it.
    pub svg: Option<String>,
}

impl DrawnPictures {
    /// How many files there are.
    #[must_use]
    pub fn file_count(&self) -> usize {
        self.pictures.iter().map(|picture| picture.files.len()).sum()
    }
}

/// Pictures as a result.
#[must_use]
pub fn pictures_document(drawn: &DrawnPictures) -> ResultDocument {
    let mut blocks = vec![Block::Facts(drawn.pictures.iter().map(fact).collect())];
    blocks.push(Block::Notes(not_valid_note(drawn).into_iter().collect()));
    let again = drawn.again.as_ref().filter(|_| drawn.not_valid_cells > 0);
    let again = again.map(|again| Fact::command("measure again", clean(again)));
    blocks.push(Block::Facts(again.into_iter().collect()));
    blocks.extend(drawn.pictures.iter().filter_map(picture));
    ResultDocument {
        title: vec!["Pictures".into(), clean(&drawn.folder)],
        facts: vec![counted(drawn.file_count() as u64, "file")],
        verdict: (drawn.file_count() == 0).then(|| Note::of(Tone::Bad, "nothing could be drawn")),
        blocks,
        json: to_json(&PicturesDocument::from(drawn)),
        data: Some(data(drawn)),
        ..ResultDocument::default()
    }
}

fn fact(picture: &DrawnPicture) -> Fact {
    let label = picture.name.clone();
    match &picture.absent {
        Some((why, hint)) => Fact {
            label,
            pieces: vec![format!("not drawn: {why}"), format!("`{hint}`")],
            tone: Tone::Warning,
            ..Fact::default()
        },
        None => {
            let pieces = std::iter::once(&picture.shows).chain(&picture.files).cloned().collect();
            Fact { label, pieces, ..Fact::default() }
        }
    }
}

/// What was measured and is not in the pictures, or is and cannot be believed.
fn not_valid_note(drawn: &DrawnPictures) -> Option<Note> {
    let what = match drawn.shows_not_valid {
        true => "marked",
        false => "left out; `--include-invalid` shows them marked",
    };
    let cells = counted(drawn.not_valid_cells as u64, "cell");
    let reasons = not_valid(&drawn.not_valid);
    (drawn.not_valid_cells > 0)
        .then(|| Note::warning(format!("{cells} without a valid run {what} ({reasons})")))
}

fn picture(picture: &DrawnPicture) -> Option<Block> {
    let title = format!("{}: {}", picture.name, picture.shows);
    Some(Block::Picture(ResultPicture { title, svg: picture.svg.clone()?, narrow: None }))
}

/// A row for each file, and for each picture without one.
fn data(drawn: &DrawnPictures) -> DataTable {
    let row = |picture: &DrawnPicture, file: Option<&String>| {
        let why = picture.absent.as_ref().and_then(|(why, _)| text(why));
        vec![text(&picture.name), text(&picture.shows), file.and_then(|file| text(file)), why]
    };
    let rows = drawn.pictures.iter().flat_map(|picture| match picture.files.as_slice() {
        [] => vec![row(picture, None)],
        files => files.iter().map(|file| row(picture, Some(file))).collect(),
    });
    DataTable::new(["picture", "shows", "file", "not_drawn"], rows)
}

/// Pictures that were drawn into a folder, and why others were not.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PicturesDocument<'a> {
    #[schemars(extend("const" = PICTURES_SCHEMA))]
    schema: &'static str,
    /// The folder with the files.
    folder: &'a str,
    /// Every picture that was asked for.
    pictures: Vec<PictureDocument<'a>>,
    /// Cells that were measured and have no valid run.
    not_valid_cells: usize,
    /// Whether those are in the pictures, marked.
    shows_not_valid: bool,
    /// How many runs are not valid, by their main reasons.
    not_valid: &'a InvalidRuns,
    /// The command that measures the newest of them again; null where there are none.
    again: Option<&'a str>,
}

/// One picture.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Picture")]
struct PictureDocument<'a> {
    name: &'a str,
    /// What it shows.
    shows: &'a str,
    /// Names of its files in the folder.
    files: &'a [String],
    /// Why it was not drawn; null where it was.
    absent: Option<AbsentDocument<'a>>,
}

/// Why a picture was not drawn.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Absent")]
struct AbsentDocument<'a> {
    why: &'a str,
    /// A command that would help.
    hint: &'a str,
}

impl<'a> From<&'a DrawnPictures> for PicturesDocument<'a> {
    fn from(drawn: &'a DrawnPictures) -> PicturesDocument<'a> {
        let picture = |picture: &'a DrawnPicture| PictureDocument {
            name: &picture.name,
            shows: &picture.shows,
            files: &picture.files,
            absent: picture.absent.as_ref().map(|(why, hint)| AbsentDocument { why, hint }),
        };
        PicturesDocument {
            schema: PICTURES_SCHEMA,
            folder: &drawn.folder,
            pictures: drawn.pictures.iter().map(picture).collect(),
            not_valid_cells: drawn.not_valid_cells,
            shows_not_valid: drawn.shows_not_valid,
            not_valid: &drawn.not_valid,
            again: drawn.again.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Style;
    use types::ReasonCode;

    fn drawn() -> DrawnPictures {
        DrawnPictures {
            folder: "shown".into(),
            pictures: vec![
                DrawnPicture {
                    name: "latency".into(),
                    shows: "how samples are distributed".into(),
                    files: vec!["latency-light.svg".into(), "latency-dark.svg".into()],
                    svg: Some("<svg/>".into()),
                    ..DrawnPicture::default()
                },
                DrawnPicture {
                    name: "training".into(),
                    shows: "a training step by phases".into(),
                    absent: Some(("no run".into(), "modelmeter profile MODEL --train".into())),
                    ..DrawnPicture::default()
                },
            ],
            not_valid_cells: 1,
            not_valid: [ReasonCode::BusyMachine].into_iter().collect(),
            again: Some("modelmeter profile bert".into()),
            ..DrawnPictures::default()
        }
    }

    #[test]
    fn every_file_is_told_and_why_a_picture_is_missing() {
        let document = pictures_document(&drawn());
        assert_eq!(
            document.terminal(&Style::plain(100), None),
            "Pictures · shown\n2 files\n\n\
             latency        how samples are distributed · latency-light.svg · latency-dark.svg\n\
             training       not drawn: no run · `modelmeter profile MODEL --train`\n\n\
             - 1 cell without a valid run left out; `--include-invalid` shows them marked (1 not valid: 1 × other\n  work)\n\n\
             measure again  modelmeter profile bert\n"
        );
        assert_eq!(document.csv().lines().count(), 4);
        assert_eq!(document.json["pictures"][1]["absent"]["why"], "no run");
        let is_picture = |block: &&Block| matches!(block, Block::Picture(_));
        assert_eq!(document.blocks.iter().filter(is_picture).count(), 1);
    }

    #[test]
    fn nothing_drawn_is_bad_news() {
        let none = DrawnPictures { pictures: drawn().pictures.split_off(1), ..drawn() };
        let document = pictures_document(&none);
        assert_eq!(document.verdict.map(|note| note.tone), Some(Tone::Bad));
    }
}
