//! What a text decides of a measurement.

use crate::{Error, Profiler, worker};
use engine::{TextJob, TextPadding};
use meter::measure_text;
use models::{ModelError, Resolved};
use std::path::PathBuf;
use types::Text;

/// What the text decides: the tokenizer, the length of every row, and how much did not fit.
pub(super) struct TextPlan {
    pub(super) tokenizer: PathBuf,
    pub(super) length: usize,
    pub(super) cut: usize,
    /// Real tokens of each text.
    pub(super) rows: Vec<usize>,
}

/// Has a worker encode the text once: the longest row decides the length, unless one was asked for or the model takes no more.
pub(super) fn plan_text(
    profiler: &Profiler,
    resolved: &Resolved,
    batch: usize,
) -> Result<Option<TextPlan>, Error> {
    let Some(text) = &profiler.text else { return Ok(None) };
    let tokenizer = resolved.tokenizer.clone().filter(|_| resolved.has_tokens());
    let tokenizer = tokenizer
        .ok_or_else(|| models::ModelError::NoTokenizer { model: resolved.info.name.clone() })?;
    if text.lines.is_empty() {
        return Err(ModelError::NoText.into());
    }
    // Texts repeat in turn: each is encoded once, however large the batch is.
    let lines: Vec<String> = text.lines.iter().take(batch).cloned().collect();
    let count = lines.len();
    let max_length = profiler.sequence_length;
    let job = TextJob { lines, tokenizer: tokenizer.clone(), max_length };
    let (launch, time) = (worker::launch_to_read(profiler), worker::time_to_read(profiler));
    let report = measure_text(&launch, time, job, resolved.max_length, false)?;
    resolved.check_ids(report.ids)?;
    let (rows, cuts): (Vec<usize>, Vec<usize>) = report.rows.into_iter().unzip();
    if count == 0 || rows.len() != count {
        return Err(ModelError::ZeroBatch.into());
    }
    let cut = |rows: &[usize]| rows.iter().sum::<usize>();
    let cut = cut(&cuts).saturating_mul(batch / count) + cut(&cuts[..batch % count]);
    Ok(Some(TextPlan { tokenizer, length: report.length, cut, rows }))
}

/// Texts of several lengths for one model.
pub(crate) struct ReadTexts {
    /// The tokens of each.
    pub(crate) tokens: Vec<Vec<i64>>,
    /// How a tokenizer fills shorter ones.
    pub(crate) padding: TextPadding,
    /// Tokens that did not fit.
    pub(crate) cut: usize,
}

impl ReadTexts {
    /// Tokens of the longest.
    pub(crate) fn longest(&self) -> usize {
        self.tokens.iter().map(Vec::len).max().unwrap_or(0).max(1)
    }

    /// Tokens of the shortest.
    pub(crate) fn shortest(&self) -> usize {
        self.tokens.iter().map(Vec::len).min().unwrap_or(0)
    }
}

/// Has a worker encode texts with the model's tokenizer, none longer than was asked or than the model takes.
pub(crate) fn read_texts(
    profiler: &Profiler,
    resolved: &Resolved,
    lines: &[String],
) -> Result<ReadTexts, Error> {
    let tokenizer = resolved.tokenizer.clone().filter(|_| resolved.has_tokens());
    let tokenizer =
        tokenizer.ok_or_else(|| ModelError::NoTokenizer { model: resolved.info.name.clone() })?;
    let max_length = profiler.sequence_length;
    let job = TextJob { lines: lines.to_vec(), tokenizer, max_length };
    let (launch, time) = (worker::launch_to_read(profiler), worker::time_to_read(profiler));
    let report = measure_text(&launch, time, job, resolved.max_length, true)?;
    resolved.check_ids(report.ids)?;
    if report.tokens.is_empty() || report.tokens.len() != lines.len() {
        return Err(ModelError::NoText.into());
    }
    Ok(ReadTexts {
        tokens: report.tokens,
        padding: report.padding.unwrap_or_default(),
        cut: report.rows.iter().map(|(_, cut)| cut).sum(),
    })
}

/// The lines that fill the batch; more would not be measured.
pub(super) fn used_text(text: &Text, batch: usize) -> Text {
    Text { lines: text.lines.iter().cycle().take(batch).cloned().collect() }
}
