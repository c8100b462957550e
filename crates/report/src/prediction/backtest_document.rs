//! The document `modelmeter.backtest/1`.

use predict::{Backtest, KindScore, MachineScore, Refused, Score};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The name and version of the document.
pub const BACKTEST_SCHEMA: &str = "modelmeter.backtest/1";

/// Predictions of times that were held out, compared with what was measured.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BacktestDocument<'a> {
    #[schemars(extend("const" = BACKTEST_SCHEMA))]
    schema: &'static str,
    /// `held-out`: second files were predicted; `cross-validation`: groups of the first were held out in turn.
    kind: &'static str,
    /// The share of times that every interval should hold.
    level: f64,
    /// Measured times that were learned from.
    learned: BTreeMap<&'static str, usize>,
    kinds: Vec<KindDocument<'a>>,
    machines: Vec<MachineDocument<'a>>,
    /// Questions that were not answered.
    refused: Vec<RefusedDocument<'a>>,
    /// Rows of the files that were left out: why, and how many.
    left_out: &'a BTreeMap<String, usize>,
}

/// One kind of question.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Kind")]
struct KindDocument<'a> {
    /// What was learned together.
    domain: &'static str,
    /// The kind of test.
    test: &'a str,
    /// What was new: machine, family, or both known but never together.
    situation: &'static str,
    predicted: ScoreDocument,
    /// The roofline alone, with one learned efficiency per test.
    physics: ErrorDocument,
    /// With one measurement on the target, for times that have one to go by; null if none has.
    anchored: Option<ScoreDocument>,
}

/// One machine that was held out.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Machine")]
struct MachineDocument<'a> {
    domain: &'static str,
    machine: &'a str,
    situation: &'static str,
    predicted: ScoreDocument,
    physics: ErrorDocument,
}

/// How good predictions are.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Score")]
struct ScoreDocument {
    /// Predicted times.
    rows: usize,
    /// Kinds of machine among them.
    machines: usize,
    /// Median of |predicted ÷ measured − 1|.
    median_error: f64,
    /// Mean of |predicted ÷ measured − 1|.
    mean_error: f64,
    /// Share of times within their interval; every kind of machine counts alike.
    coverage: f64,
    /// The interval is the prediction × and ÷ this number: the median; null if it is endless.
    width: Option<f64>,
}

/// How wrong physics alone is.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Physics")]
struct ErrorDocument {
    median_error: f64,
    mean_error: f64,
}

/// Questions that were not answered.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Refused")]
struct RefusedDocument<'a> {
    why: &'a str,
    /// What could be answered instead.
    nearest: &'a str,
    rows: usize,
}

impl<'a> BacktestDocument<'a> {
    pub(super) fn new(found: &'a Backtest) -> BacktestDocument<'a> {
        let kind = |kind: &'a KindScore| KindDocument {
            domain: kind.domain.words(),
            test: &kind.test,
            situation: kind.situation.words(),
            predicted: ScoreDocument::from(&kind.score),
            physics: ErrorDocument::from(&kind.physics),
            anchored: kind.anchored.as_ref().map(ScoreDocument::from),
        };
        let machine = |machine: &'a MachineScore| MachineDocument {
            domain: machine.domain.words(),
            machine: &machine.machine,
            situation: machine.situation.words(),
            predicted: ScoreDocument::from(&machine.score),
            physics: ErrorDocument::from(&machine.physics),
        };
        let refused = |refused: &'a Refused| RefusedDocument {
            why: &refused.why,
            nearest: &refused.nearest,
            rows: refused.rows,
        };
        BacktestDocument {
            schema: BACKTEST_SCHEMA,
            kind: if found.is_cross_validation { "cross-validation" } else { "held-out" },
            level: predict::LEVEL,
            learned: found.learned.iter().map(|(domain, rows)| (domain.words(), *rows)).collect(),
            kinds: found.kinds.iter().map(kind).collect(),
            machines: found.machines.iter().map(machine).collect(),
            refused: found.refused.iter().map(refused).collect(),
            left_out: &found.left_out,
        }
    }
}

impl From<&Score> for ScoreDocument {
    fn from(score: &Score) -> ScoreDocument {
        ScoreDocument {
            rows: score.rows,
            machines: score.machines,
            median_error: score.median_error,
            mean_error: score.mean_error,
            coverage: score.coverage,
            width: score.width.is_finite().then_some(score.width),
        }
    }
}

impl From<&Score> for ErrorDocument {
    fn from(score: &Score) -> ErrorDocument {
        ErrorDocument { median_error: score.median_error, mean_error: score.mean_error }
    }
}
