//! One run in formatted pieces.

use super::{
    environment,
    figures::{self, Figure},
    grid::Grid,
    latency,
};
use crate::clean::clean;
use crate::lookup::told;
use crate::timestamp::minute;
use crate::{critical_path, inside, memory, summary};
use types::{Reason, ReasonCode, Run, Weights};

/// One thing that can be said against a measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReasonLine {
    /// Whether it makes the measurement invalid; otherwise it is a remark.
    pub invalidates: bool,
    /// Whether it explains the star beside a percentile.
    pub is_star: bool,
    /// What happened.
    pub text: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Tables of the inside of a model, and what is said below them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Inner {
    /// The tables; the first is the main one.
    pub tables: Vec<Grid>,
    /// Sentences, with a label where they have one.
    pub said: Vec<(&'static str, String)>,
}

/// A run in formatted pieces; nothing is escaped.
#[derive(Debug, Clone, PartialEq)]
pub struct Sheet {
    /// The model's name.
    pub model: String,
    /// Whether its weights were drawn.
    pub is_random: bool,
    /// Its size: `66.4 M parameters`, `11.2 GFLOP per batch`.
    pub size: Vec<String>,
    /// What it ran on and how.
    pub setting: Vec<String>,
    /// When it began, to the minute; `None` if nobody says.
    pub when: Option<String>,
    /// Labels given by people.
    pub tags: Vec<String>,
    /// Whether the numbers are valid.
    pub is_valid: bool,
    /// The verdict in one phrase.
    pub verdict: String,
    /// What can be said against it, the invalidating ones first.
    pub reasons: Vec<ReasonLine>,
    /// The numbers that people ask for first.
    pub figures: Vec<Figure>,
    /// Labelled facts: cold, warm, throughput, compute, memory, energy.
    pub facts: Vec<(&'static str, Vec<String>)>,
    /// Every phase with what its samples say.
    pub phases: Grid,
    /// The percentiles of the main phase with how far they are supported; without rows where there are no samples.
    pub percentiles: Grid,
    /// Where the time goes; `None` if nobody looked.
    pub layers: Option<Inner>,
    /// Where the memory goes; `None` if nobody looked.
    pub memory: Option<Inner>,
    /// Critical path; `None` if nothing was traced.
    pub critical_path: Option<Inner>,
    /// What a GPU did; `None` if nobody looked.
    pub gpu: Option<Inner>,
    /// The machine and its state.
    pub environment: Vec<(&'static str, String)>,
    /// The readings and the cost of each probe.
    pub probes: Grid,
}

impl Sheet {
    /// The pieces of a run.
    #[must_use]
    pub fn of(run: &Run) -> Sheet {
        let name = clean(&run.model.name);
        let layers = run.layers.as_ref().map(|report| {
            let (tables, said) = inside::grids(report);
            Inner { tables, said: said.into_iter().map(|text| ("", text)).collect() }
        });
        let memory = run.memory.as_ref().map(|report| {
            let (tables, said) = memory::grids(report);
            Inner { tables, said }
        });
        let critical_path = run.critical_path.as_ref().map(|path| {
            let (table, said) = critical_path::grid(path);
            Inner { tables: vec![table], said: said.into_iter().map(|text| ("", text)).collect() }
        });
        let gpu = run.gpu.as_ref().map(|profile| {
            let (tables, said) = crate::gpu::grids(profile);
            Inner { tables, said: said.into_iter().map(|text| ("", text)).collect() }
        });
        Sheet {
            model: if name.is_empty() { "unnamed model".into() } else { name },
            is_random: run.tells("model.weights")
                && matches!(run.model.weights, Weights::Random { .. }),
            size: summary::size(run),
            setting: summary::setting(run),
            when: told(run, "started_at", format!("{} UTC", minute(run.started_at))),
            tags: run.tags.iter().map(|tag| clean(tag)).collect(),
            is_valid: run.verdict.valid,
            verdict: summary::verdict_words(&run.verdict),
            reasons: run.verdict.reasons.iter().map(reason).collect(),
            figures: figures::figures(run),
            facts: summary::labelled(run),
            phases: latency::phases(run),
            percentiles: latency::percentiles(run),
            layers,
            memory,
            critical_path,
            gpu,
            environment: environment::facts(run),
            probes: environment::probes(run),
        }
    }
}

fn reason(reason: &Reason) -> ReasonLine {
    ReasonLine {
        invalidates: reason.invalidates,
        is_star: reason.code == ReasonCode::UnsupportedPercentile,
        text: clean(&reason.text),
        hint: reason.hint.as_deref().map(clean),
    }
}
