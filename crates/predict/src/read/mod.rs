//! Tables of other tools, recognised by what is in them: compressed or not, rows that say nothing left out and counted.

mod llama;
mod timm;

use crate::{Catalogue, Error, Observation};
use std::{collections::BTreeMap, fs::File, io::Read, path::Path};

/// Nobody's table of times is larger; a few compressed bytes can become endless ones.
const LARGEST: u64 = 1 << 29;
/// Rows of one file, at most.
const MOST_ROWS: usize = 2_000_000;

/// What a set of files told.
#[derive(Debug, Default)]
pub struct Tables {
    /// The times.
    pub observations: Vec<Observation>,
    /// Rows that were left out: why, and how many.
    pub left_out: BTreeMap<String, usize>,
    timm: Vec<timm::Row>,
}

impl Tables {
    /// Reads files one after the other.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, is no table that is known, or has no usable row.
    pub fn read<P: AsRef<Path>>(paths: &[P], catalogue: &Catalogue) -> Result<Tables, Error> {
        let mut tables = Tables::default();
        for path in paths {
            tables.add(path.as_ref(), catalogue)?;
        }
        Ok(tables)
    }

    /// Turns rows of timm into times. What some of its tables leave out about a model is in others.
    pub fn finish(&mut self, more_facts: Option<&Tables>, catalogue: &Catalogue) {
        let facts = more_facts.map_or(&[][..], |tables| &tables.timm);
        timm::finish(self, facts, catalogue);
    }

    /// A picture model of these tables, on hardware that may not be among them.
    ///
    /// # Errors
    /// Names that resemble the model's, if no table has it; or why the tables do not say enough of it.
    pub fn picture_question(
        &self,
        model: &str,
        asked: &PictureQuestion<'_>,
        catalogue: &Catalogue,
    ) -> Result<PictureCase, Error> {
        timm::question(&self.timm, model, asked, catalogue)
    }

    fn add(&mut self, path: &Path, catalogue: &Catalogue) -> Result<(), Error> {
        let text = text_of(path)?;
        let wrong = |why: String| Error::Table { path: path.to_owned(), why };
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let names: Vec<String> = reader
            .headers()
            .map_err(|error| wrong(error.to_string()))?
            .iter()
            .map(|name| name.trim().trim_start_matches('\u{feff}').to_owned())
            .collect();
        let before = self.observations.len() + self.timm.len();
        let known = Header { names: &names };
        let kind = if known.has(&["cpu", "model_bytes", "n_prompt", "n_gen", "tokens_per_s"]) {
            Kind::Llama
        } else if timm::is_table(&known) {
            Kind::Timm
        } else {
            return Err(wrong(
                "its first line has neither the columns of timm's `benchmark.py` nor those of a llama-bench table"
                    .to_owned(),
            ));
        };
        let name =
            path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let setting = timm::Setting::of(&name, catalogue);
        if matches!(kind, Kind::Timm) && !setting.says_hardware(&known) {
            return Err(wrong(
                "neither its name nor a column `gpu` says which hardware it is; name it as timm does: \
                 `benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv`"
                    .to_owned(),
            ));
        }
        for (at, record) in reader.records().enumerate() {
            if at >= MOST_ROWS {
                return Err(wrong(format!("it has more than {MOST_ROWS} rows")));
            }
            let Ok(record) = record else {
                self.leave_out("the row is not understood");
                continue;
            };
            let row = Cells { names: &names, record: &record };
            let done = match kind {
                Kind::Llama => {
                    llama::observation(&row, catalogue).map(|one| self.observations.push(one))
                }
                Kind::Timm => {
                    timm::rows(&row, &setting, catalogue).map(|some| self.timm.extend(some))
                }
            };
            if let Err(why) = done {
                self.leave_out(&why);
            }
        }
        if self.observations.len() + self.timm.len() == before {
            let why = self.left_out.keys().next().cloned().unwrap_or("it has no rows".into());
            return Err(wrong(format!("no row of it can be used: {why}")));
        }
        Ok(())
    }

    /// Marks times that nothing is to be learned from, and counts them; they may be asked all the same.
    pub(crate) fn mark_doubtful(&mut self) {
        let marked = llama::mark_doubtful(&mut self.observations);
        if marked > 0 {
            let why = "the GPU took no part (it read less than 5 % of its bandwidth), so it is not learned from";
            *self.left_out.entry(why.to_owned()).or_default() += marked;
        }
    }

    fn leave_out(&mut self, why: &str) {
        *self.left_out.entry(why.to_owned()).or_default() += 1;
    }
}

/// What is asked of a picture model of a table.
#[derive(Debug, Clone, Copy)]
pub struct PictureQuestion<'a> {
    /// The hardware, as the catalogue names it.
    pub hardware: &'a str,
    /// The number format; where nothing is said, 16 bits with mixed precision on a GPU and 32 on a processor, if a table has them.
    pub precision: Option<&'a str>,
    /// Pictures at once; as the table has it where nothing is said.
    pub batch: Option<f64>,
    /// Whether it is trained.
    pub is_training: bool,
}

/// A question about a picture model as its tables have it.
#[derive(Debug, Clone)]
pub struct PictureCase {
    /// The question, with an unknown time.
    pub observation: Observation,
    /// The engine that the tool measures with.
    pub engine: &'static str,
    /// The number format of the rows that it is asked like.
    pub precision: String,
    /// Pictures at once.
    pub batch: f64,
}

#[derive(Clone, Copy)]
enum Kind {
    Llama,
    Timm,
}

/// The first line of a table.
struct Header<'a> {
    names: &'a [String],
}

impl Header<'_> {
    fn has(&self, wanted: &[&str]) -> bool {
        wanted.iter().all(|name| self.names.iter().any(|own| own == name))
    }
}

/// A line of a table.
struct Cells<'a> {
    names: &'a [String],
    record: &'a csv::StringRecord,
}

impl Cells<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        let at = self.names.iter().position(|own| own == name)?;
        self.record.get(at).map(str::trim).filter(|text| !text.is_empty())
    }

    /// A number above 0, if there is one.
    fn amount(&self, name: &str) -> Option<f64> {
        let number: f64 = self.text(name)?.parse().ok()?;
        (number.is_finite() && number > 0.0 && number < 1e18).then_some(number)
    }

    fn need(&self, name: &str) -> Result<f64, String> {
        self.amount(name).ok_or_else(|| format!("`{name}` is no number above 0"))
    }

    fn flag(&self, name: &str) -> bool {
        let text = self.text(name).unwrap_or_default().to_ascii_lowercase();
        matches!(text.as_str(), "true" | "t" | "yes" | "y")
            || text.parse().is_ok_and(|number: f64| number > 0.0)
    }
}

fn text_of(path: &Path) -> Result<String, Error> {
    let unread = |source| Error::Read { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path).map_err(unread)?.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unread)?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut whole = Vec::new();
        flate2::read::MultiGzDecoder::new(bytes.as_slice())
            .take(LARGEST + 1)
            .read_to_end(&mut whole)
            .map_err(unread)?;
        bytes = whole;
    }
    let wrong = |why: &str| Error::Table { path: path.to_owned(), why: why.to_owned() };
    if bytes.len() as u64 > LARGEST {
        return Err(wrong("it is larger than 512 MiB"));
    }
    String::from_utf8(bytes).map_err(|_| wrong("it is not text in UTF-8"))
}
