//! Advice as a result: ranked, each with its numbers and the command that proves it.

use super::document::{advice_json, program_advice_json};
use super::words;
use crate::clean::clean;
use crate::result::{Block, DataTable, Fact, Note, ResultDocument, Tone};
use crate::sheet::Grid;
use crate::summary::processor;
use crate::table::Column;
use crate::wrap::DOT;
use number::{bytes, bytes_column, durations_column, rate, seconds, value};
use types::{
    Advice, AdviceReport, Device, Evidence, Fine, GpuProfile, Proof, Trial, TrialVerdict, Unjudged,
    Weights,
};

/// Advice as a result.
#[must_use]
pub fn advice_document(report: &AdviceReport) -> ResultDocument {
    let mut blocks = Vec::new();
    if let Some(reason) = report.verdict.cause() {
        let text = format!("not valid: {}", clean(&reason.text));
        blocks.push(Block::Notes(vec![Note::of(Tone::Bad, text)]));
    }
    blocks.extend(report.advice.iter().enumerate().flat_map(|(at, one)| entry(at + 1, one)));
    if !report.sweep.is_empty() {
        blocks.push(Block::Heading("Batch sizes".into()));
        blocks.push(Block::table("batch sizes", sweep(report)));
    }
    let fine =
        report.fine.iter().map(|fine| Fact::new(&clean(&fine.rule), evidence(&fine.evidence)));
    blocks.extend(section("Checked and fine", fine.collect()));
    blocks.extend(section("Could not be judged", unjudged(&report.not_judged)));
    let mut notes = Vec::new();
    if !report.beside.is_empty() {
        let names: Vec<String> = report.beside.iter().map(|one| clean(&one.rule)).collect();
        notes.push(Note::new(format!("does not apply to this run: {}", names.join(", "))));
    }
    notes.extend(report.remarks.iter().map(|remark| Note::warning(clean(&remark.text))));
    blocks.push(Block::Notes(notes));
    let is_random = matches!(report.model.weights, Weights::Random { .. });
    ResultDocument {
        title: std::iter::once(clean(&report.model.name))
            .chain(is_random.then(|| "random weights".to_owned()))
            .collect(),
        facts: setting(report),
        verdict: Some(verdict(report)),
        blocks,
        json: advice_json(report),
        data: Some(data(report)),
        ..ResultDocument::default()
    }
}

/// What was looked at, and its three numbers.
fn setting(report: &AdviceReport) -> Vec<String> {
    let (cell, machine) = (&report.cell, &report.environment.machine);
    let hardware = match cell.device {
        Device::Cpu => format!(" ({}, {} cores)", processor(&machine.cpu.model), machine.cpu.cores),
        _ => String::new(),
    };
    let (engine, version) = (clean(&report.engine.id), clean(&report.engine.version));
    let mut facts = vec![
        format!("{engine} {version} on {}{hardware}", cell.device),
        cell.precision.to_string(),
        match cell.sequence_length {
            _ if cell.generation.is_some() => generated(cell),
            Some(length) => {
                format!("batch {} × {}", cell.batch_size, cell.feed.length_unit.words(length))
            }
            None => format!("batch {}", cell.batch_size),
        },
        match cell.threads {
            1 => "1 thread".into(),
            threads => format!("{threads} threads"),
        },
    ];
    facts.extend(report.latency.map(|time| seconds(time.0)));
    facts.extend(
        report.samples_per_second.map(|samples| format!("{} {}", rate(samples), things(cell))),
    );
    facts.extend(report.peak_memory.map(|peak| format!("peak {}", bytes(peak.0))));
    facts.push(format!("run {}", clean(&report.run.0)));
    facts
}

/// The test with its batch: `tg128 @ d1024 × 8`.
fn generated(cell: &types::Cell) -> String {
    let name = cell.generation.map(types::Generation::name).unwrap_or_default();
    match cell.batch_size {
        0 | 1 => name,
        batch => format!("{name} × {batch}"),
    }
}

/// What a batch has so many of.
fn things(cell: &types::Cell) -> &'static str {
    match cell.generation.map(|generation| generation.test) {
        Some(types::GenerationTest::Decode) => "tokens/s",
        Some(types::GenerationTest::Prefill) => "prompts/s",
        None => "samples/s",
    }
}

/// What it comes to: how much was advised, and how much of what was tried came true.
fn verdict(report: &AdviceReport) -> Note {
    let trials: Vec<&Trial> = report.advice.iter().filter_map(|one| one.trial.as_ref()).collect();
    let tried = trials.iter().filter(|trial| trial.verdict != TrialVerdict::NotTried).count();
    let came_true = trials.iter().filter(|trial| trial.verdict == TrialVerdict::CameTrue).count();
    match (report.advice.len(), tried) {
        (0, _) if report.fine.is_empty() => Note::of(Tone::Warning, "nothing could be told"),
        (0, _) if !report.verdict.valid => Note::warning(
            "its times cannot be judged, because the run is not valid; everything else is fine",
        ),
        (0, _) => Note::of(Tone::Good, "no advice: everything that could be judged is fine"),
        (1, 0) => Note::new("1 suggestion"),
        (count, 0) => Note::new(format!("{count} suggestions, the largest gain first")),
        (_, tried) => Note::new(format!("{tried} tried, {came_true} confirmed")),
    }
}

/// One advice: what to do and what it gains, why, how it is proved, what it costs.
fn entry(number: usize, advice: &Advice) -> Vec<Block> {
    let title = format!("{number}. {}{DOT}{}", clean(&advice.title), words::gain(&advice.gain));
    let why = advice.evidence.iter().map(evidence).collect();
    let mut facts = vec![
        Fact { label: "why".into(), pieces: why, ..Fact::default() },
        Fact::new("expected", clean(&advice.gain.basis)),
    ];
    match (&advice.command, &advice.proof) {
        (Some(command), _) => facts.push(Fact::command("prove it", clean(command))),
        (None, Proof::Elsewhere { why }) => {
            facts.push(Fact::new("prove it", format!("not here: {}", clean(why))));
        }
        (None, _) => {}
    }
    facts.extend(advice.caveat.as_ref().map(|caveat| Fact::new("but", clean(caveat))));
    if let Some(trial) = &advice.trial {
        facts.push(Fact { tone: tone(trial), ..Fact::new("tried", words::trial(trial)) });
        facts.extend(trial.remarks.iter().map(|remark| Fact::new("", clean(&remark.text))));
    }
    vec![Block::Heading(title), Block::Facts(facts)]
}

fn evidence(evidence: &Evidence) -> String {
    format!("{}: {}", clean(&evidence.text), value(evidence.value, evidence.unit))
}

fn tone(trial: &Trial) -> Tone {
    match trial.verdict {
        TrialVerdict::CameTrue => Tone::Good,
        TrialVerdict::DidNot | TrialVerdict::Refused => Tone::Bad,
        _ => Tone::Warning,
    }
}

/// The batch sizes side by side.
fn sweep(report: &AdviceReport) -> Grid {
    let times =
        durations_column(&report.sweep.iter().map(|p| Some(p.latency.0)).collect::<Vec<_>>());
    let peaks: Vec<Option<u64>> = report.sweep.iter().map(|p| p.peak_memory.map(|b| b.0)).collect();
    let peaks = bytes_column(&peaks);
    let mut grid = Grid::of([
        Column::right("batch"),
        Column::right("time"),
        Column::right(things(&report.cell)),
        Column::right("peak memory"),
        Column::left(""),
    ]);
    for ((point, time), peak) in report.sweep.iter().zip(&times).zip(&peaks) {
        let mut notes = Vec::new();
        if point.batch_size == report.cell.batch_size {
            notes.push("as it is");
        }
        if !point.valid {
            notes.push("not valid");
        }
        let rate = rate(point.samples_per_second);
        let cells =
            [point.batch_size.to_string(), time.clone(), rate, peak.clone(), notes.join(", ")];
        grid.row(cells);
    }
    grid
}

/// Advice about a program that uses a GPU.
#[derive(Debug, Clone, Copy)]
pub struct ProgramAdvice<'a> {
    /// The command.
    pub command: &'a [String],
    /// What it did.
    pub profile: &'a GpuProfile,
    /// What to do, the largest gain first.
    pub advice: &'a [Advice],
    /// What was looked at and is fine.
    pub fine: &'a [Fine],
}

/// Advice about a program as a result.
#[must_use]
pub fn program_advice_document(view: &ProgramAdvice<'_>) -> ResultDocument {
    let mut blocks: Vec<Block> =
        view.advice.iter().enumerate().flat_map(|(at, one)| entry(at + 1, one)).collect();
    let fine = view.fine.iter().map(|fine| Fact::new(&clean(&fine.rule), evidence(&fine.evidence)));
    blocks.extend(section("Checked and fine", fine.collect()));
    let devices = view.profile.processes.iter().flat_map(|process| &process.devices);
    let devices = devices.map(|device| {
        let busy = device.compute + device.communication + device.copies;
        let share = number::percent(busy / device.window.max(f64::MIN_POSITIVE));
        format!("cuda:{} busy {share} of {}", device.device, seconds(device.window))
    });
    let trials = view.advice.iter().filter_map(|one| one.trial.as_ref());
    let tried: Vec<&Trial> = trials.filter(|one| one.verdict != TrialVerdict::NotTried).collect();
    let came_true = tried.iter().filter(|one| one.verdict == TrialVerdict::CameTrue).count();
    let verdict = match (view.advice.len(), tried.len()) {
        (0, _) => Note::of(Tone::Good, "no advice: everything that could be judged is fine"),
        (1, 0) => Note::new("1 suggestion"),
        (count, 0) => Note::new(format!("{count} suggestions, the largest gain first")),
        (_, tried) => Note::new(format!("{tried} tried, {came_true} confirmed")),
    };
    ResultDocument {
        title: vec!["GPU".into(), clean(&view.command.join(" "))],
        facts: devices.collect(),
        verdict: Some(verdict),
        blocks,
        json: program_advice_json(view),
        data: Some(rows("", "", view.advice)),
        ..ResultDocument::default()
    }
}

/// Rules that say the same together in one entry, under the name of the first.
fn unjudged(all: &[Unjudged]) -> Vec<Fact> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for one in all {
        let mut text = clean(&one.why);
        if let Some(hint) = &one.hint {
            text.push_str(&format!("; {}", clean(hint)));
        }
        match groups.iter_mut().find(|(known, _)| *known == text) {
            Some((_, rules)) => rules.push(clean(&one.rule)),
            None => groups.push((text, vec![clean(&one.rule)])),
        }
    }
    let fact = |(text, rules): &(String, Vec<String>)| match rules.as_slice() {
        [first, rest @ ..] if !rest.is_empty() => {
            Fact::new(first, format!("{text} (also {})", rest.join(", ")))
        }
        rules => Fact::new(&rules.concat(), text.clone()),
    };
    groups.iter().map(fact).collect()
}

/// Facts under a heading; nothing where there are none.
fn section(name: &str, facts: Vec<Fact>) -> Vec<Block> {
    match facts.is_empty() {
        true => Vec::new(),
        false => vec![Block::Heading(name.into()), Block::Facts(facts)],
    }
}

/// A row an advice.
fn data(report: &AdviceReport) -> DataTable {
    rows(&report.model.name, &report.run.0, &report.advice)
}

fn rows(model: &str, run: &str, advice: &[Advice]) -> DataTable {
    let columns = [
        "model",
        "run_id",
        "rule",
        "title",
        "goal",
        "gain_low",
        "gain_high",
        "command",
        "trial_verdict",
        "trial_found",
    ];
    let text = |text: &str| crate::csv::text(text);
    let number = crate::csv::number;
    let row = |advice: &Advice| {
        let trial = advice.trial.as_ref();
        vec![
            text(model),
            text(run),
            text(&advice.rule),
            text(&advice.title),
            text(advice.gain.what.name()),
            number(advice.gain.factor.low),
            number(advice.gain.factor.high),
            advice.command.as_deref().and_then(text),
            trial.and_then(|trial| text(words::verdict(trial.verdict))),
            trial.and_then(|trial| number(trial.found?)),
        ]
    };
    DataTable::new(columns, advice.iter().map(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_lack_the_same_are_named_together() {
        let one = |rule: &str, why: &str| Unjudged {
            rule: rule.into(),
            why: why.into(),
            hint: Some("do it".into()),
        };
        let all =
            [one("fusion", "no layers"), one("padding", "no text"), one("attention", "no layers")];
        let facts = unjudged(&all);
        assert_eq!(facts[0], Fact::new("fusion", "no layers; do it (also attention)"));
        assert_eq!(facts.len(), 2);
    }
}
