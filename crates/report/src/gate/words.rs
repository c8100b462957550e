//! The words that the terminal, Markdown and annotations of a gate have in common.

use number::{MISSING, duration, percent, seconds, value};
use types::{
    Check, Direction, GateCell, GateDesign, GateEvidence, GateReport, Gauge, Interval, Mode,
    Question, Ruling, Unit,
};

/// Who could only have seen a change of more than this share, eleven times as long, could have seen nothing.
const MOST_DETECTABLE: f64 = 10.0;

/// What was measured, in a few words.
pub(super) fn cell(cell: &GateCell) -> Vec<String> {
    let mut words = vec![
        cell.model.clone(),
        format!("{} on {}", cell.engine, cell.device),
        cell.precision.to_string(),
        match cell.sequence_length {
            _ if cell.generation.is_some() => {
                let name = cell.generation.map(types::Generation::name).unwrap_or_default();
                if cell.batch_size > 1 { format!("{name} × {}", cell.batch_size) } else { name }
            }
            Some(length) => {
                format!("batch {} × {}", cell.batch_size, cell.length_unit.words(length))
            }
            None => format!("batch {}", cell.batch_size),
        },
    ];
    if cell.mode != Mode::Inference && cell.generation.is_none() {
        words.push(cell.mode.name().into());
    }
    words
}

/// The only cell, if there is one.
pub(super) fn only_cell(report: &GateReport) -> Option<&GateCell> {
    let first = &report.checks.first()?.cell;
    report.checks.iter().all(|check| check.cell == *first).then_some(first)
}

/// A value of a gauge.
pub(super) fn amount(gauge: Gauge, number: Option<f64>) -> String {
    match (number, gauge.unit()) {
        (None, _) => MISSING.into(),
        (Some(number), Unit::PerSecond) => {
            format!(
                "{}{}",
                value(number, Unit::PerSecond).trim_end_matches("/s"),
                per_second(gauge)
            )
        }
        (Some(number), unit) => value(number, unit),
    }
}

fn per_second(gauge: Gauge) -> &'static str {
    if gauge == Gauge::Tokens { " tokens/s" } else { " samples/s" }
}

/// A limit as people set it.
pub(super) fn limit(gauge: Gauge, limit: f64) -> String {
    let sign = if gauge.direction() == Direction::Higher { "≥" } else { "≤" };
    format!("{sign} {}", amount(gauge, Some(limit)))
}

/// How a value lies between the ends of its interval.
pub(super) fn between(gauge: Gauge, interval: Interval) -> String {
    let [low, high] = [interval.low, interval.high].map(|end| amount(gauge, Some(end)));
    // One unit is enough where both have the same.
    match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        (Some((number, unit)), Some((other, same))) if unit == same => {
            format!("[{number}, {other}]")
        }
        _ => format!("[{low}, {high}]"),
    }
}

/// What a change is called: `4.9 % slower`; `same` where it is surely below the alert, `unclear` where is unknown.
pub(super) fn change(check: &Check, evidence: &GateEvidence) -> String {
    let gauge = check.gauge;
    let Interval { low, high } = evidence.interval;
    let (worse, better) = match gauge.unit() {
        Unit::Bytes => ("more", "less"),
        Unit::PerSecond => ("lower", "higher"),
        _ => ("slower", "faster"),
    };
    let share = |ratio: f64| fixed_percent(ratio - 1.0);
    let ends = format!("[{}, {}]", share(low), share(high));
    if evidence.estimate >= 1.0 && low > 1.0 {
        format!("{} % {worse} {ends}", share(evidence.estimate))
    } else if high < 1.0 {
        let ends = format!("[{}, {}]", share(1.0 / high), share(1.0 / low));
        format!("{} % {better} {ends}", share(1.0 / evidence.estimate))
    } else {
        let word = if check.ruling == Ruling::Held { "same" } else { "unclear" };
        format!("{word} {ends}")
    }
}

/// A share in percent with one decimal, without its sign.
fn fixed_percent(share: f64) -> String {
    let text = number::fixed(100.0 * share, 1);
    if text == "-0.0" { "0.0".into() } else { text }
}

/// The ruling in a table.
pub(super) fn ruling(ruling: Ruling) -> &'static str {
    match ruling {
        Ruling::Held => "held",
        Ruling::Failed => "FAILED",
        Ruling::CannotTell => "cannot tell",
    }
}

/// What everything was compared with, and how.
pub(super) fn against(report: &GateReport) -> Option<String> {
    let name = report.baseline.as_ref()?;
    let designs = report.checks.iter().filter_map(|check| match check.question {
        Question::Change { design, .. } => Some(design),
        Question::Limit { .. } => None,
    });
    let how = match designs.max_by_key(|design| *design == GateDesign::Stored) {
        Some(GateDesign::Interleaved) => ", interleaved",
        Some(GateDesign::History) => ", stored in several sessions",
        Some(GateDesign::Stored) => ", stored before",
        None => "",
    };
    let revision = report.baseline_revision.as_ref();
    let revision = revision.map_or_else(String::new, |found| format!(" at {}", found.short()));
    Some(format!("against {name}{revision}{how}"))
}

/// How it was measured: `5 processes per side of at most 20 · 21 s`.
pub(super) fn effort(report: &GateReport) -> Vec<String> {
    let plan = &report.plan;
    let most = plan.looks.last().copied().unwrap_or(0);
    let reached = plan.looks.get((plan.looked as usize).saturating_sub(1)).copied().unwrap_or(most);
    let side = if plan.turns > 0 { " per side" } else { "" };
    let cap = if reached < most { format!(" of at most {most}") } else { String::new() };
    let mut words = vec![format!("{reached} processes{side}{cap}")];
    if plan.turns > 0 {
        words.push(format!("{} turns of {} each", plan.turns, seconds(plan.turn.0)));
    }
    words.push(duration(report.elapsed));
    words
}

/// What the whole is worth: the chance of a false alarm, and what would have been found.
pub(super) fn worth(report: &GateReport) -> String {
    let asked = match report.checks.len() {
        1 => "1 question".to_owned(),
        many => format!("{many} questions together"),
    };
    let chance = percent(report.plan.chance);
    let mut text = format!("the chance of a false alarm is below {chance} over {asked}");
    let changes = report.checks.iter().filter(|check| is_change(check));
    let found = changes.filter_map(|check| Some(check.evidence?.detectable)).reduce(f64::max);
    if let Some(found) = found {
        text.push_str(&match found > MOST_DETECTABLE {
            true => "; hardly any change would have been detected".to_owned(),
            false => format!(
                "; a change of {} would have been detected with 95 % probability",
                percent(found)
            ),
        });
    }
    text
}

fn is_change(check: &Check) -> bool {
    matches!(check.question, Question::Change { .. })
}

/// What a failed or open check says in one sentence.
pub(super) fn sentence(check: &Check) -> String {
    let gauge = check.gauge;
    let said = match (&check.question, &check.evidence) {
        (_, None) => String::new(),
        (Question::Limit { limit: asked }, Some(evidence)) => format!(
            "{} {}, limit {}",
            amount(gauge, Some(evidence.estimate)),
            between(gauge, evidence.interval),
            limit(gauge, *asked)
        ),
        (Question::Change { effective, .. }, Some(evidence)) => {
            format!("{}, alert at {}", change(check, evidence), percent(*effective))
        }
    };
    let why = check.why.clone().unwrap_or_default();
    let parts: Vec<String> = [said, why].into_iter().filter(|part| !part.is_empty()).collect();
    format!("{gauge}: {}", parts.join("; "))
}

/// Remarks on alerts that the machine itself raised.
pub(super) fn raised(report: &GateReport) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for check in &report.checks {
        let Question::Change { alert, effective, design, drift } = check.question else { continue };
        let is_raised = effective > alert;
        if !is_raised && (design != GateDesign::Stored || drift == 0.0) {
            continue;
        }
        let text = match design {
            GateDesign::Stored if is_raised => format!(
                "stored runs can differ by {} through drift alone, so the alert is {} unless `--regression-alert` is \
                 given; `--against` detects {}",
                percent(drift),
                percent(effective),
                percent(alert)
            ),
            GateDesign::Stored => format!(
                "stored runs can differ by {} through drift alone, which a change must exceed; `--against` \
                 interleaves both sides and needs no allowance",
                percent(drift)
            ),
            _ => format!(
                "this machine shows differences up to {} without any change (`modelmeter noise`); smaller changes are \
                 not reported",
                percent(effective)
            ),
        };
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// What made the times of held questions longer, each thing once.
pub(super) fn held_beside(report: &GateReport) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let is_held = |check: &&Check| check.ruling == Ruling::Held && check.gauge != Gauge::MemoryPeak;
    let reasons = report.checks.iter().filter(is_held).flat_map(|check| &check.reasons);
    for reason in reasons.filter(|reason| reason.invalidates) {
        let text = format!("{}; this made times longer, and they hold all the same", reason.text);
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

/// One line for the whole.
pub(super) fn verdict(report: &GateReport) -> String {
    let count = |ruling: Ruling| report.checks.iter().filter(|c| c.ruling == ruling).count();
    let mut parts = Vec::new();
    for (ruling, word) in
        [(Ruling::Failed, "failed"), (Ruling::CannotTell, "cannot tell"), (Ruling::Held, "held")]
    {
        match count(ruling) {
            0 => {}
            found => parts.push(format!("{found} {word}")),
        }
    }
    if !report.missing.is_empty() {
        parts.push(format!("{} not measured", report.missing.len()));
    }
    if parts.is_empty() { "nothing was checked".into() } else { parts.join(", ") }
}
