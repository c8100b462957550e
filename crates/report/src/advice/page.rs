//! Advice on one screen: ranked, each with its numbers and the command that proves it.

use super::words;
use crate::clean::clean;
use crate::number::{bytes, bytes_column, durations_column, rate, seconds, value};
use crate::style::{Colour, Style};
use crate::summary::processor;
use crate::table::{Column, Table};
use crate::wrap::{DOT, flow, pad_left, pad_right, shorten, text_width, wrap};
use types::{Advice, AdviceReport, Device, Trial, TrialVerdict, Unjudged, Weights};

/// Where the text beside a label begins.
const BODY: usize = 10;
/// Where the body of an advice begins; its number stands before it.
const INDENT: usize = 3;
/// Rules have names of at most so many columns.
const RULE: usize = 24;
/// Long lines tire the eye.
const WIDEST: usize = 110;
const RANDOM: &str = "random weights";

/// The terminal's view of advice.
#[must_use]
pub fn advice(report: &AdviceReport, style: &Style) -> String {
    let width = style.columns().min(WIDEST);
    let mut lines = header(report, style, width);
    for (place, one) in report.advice.iter().enumerate() {
        lines.push(String::new());
        lines.extend(entry(place + 1, one, style, width));
    }
    if report.advice.is_empty() {
        lines.push(String::new());
        lines.push(nothing(report).into());
    }
    lines.extend(tally(report, style));
    lines.extend(sweep(report, style, width));
    let fine = report.fine.iter().map(|fine| {
        let number = value(fine.evidence.value, fine.evidence.unit);
        (clean(&fine.rule), format!("{}: {number}", clean(&fine.evidence.text)))
    });
    lines.extend(section("looked at and fine", fine.collect(), style, width));
    let unjudged = grouped(&report.not_judged);
    lines.extend(section("could not be judged", unjudged, style, width));
    if !report.beside.is_empty() {
        let names: Vec<String> = report.beside.iter().map(|one| clean(&one.rule)).collect();
        lines.push(String::new());
        lines.extend(wrap(&format!("does not concern this run: {}", names.join(", ")), width));
    }
    if !report.remarks.is_empty() {
        lines.push(String::new());
    }
    for remark in &report.remarks {
        for (at, line) in wrap(&clean(remark), width - 2).into_iter().enumerate() {
            let mark = if at == 0 { style.paint("-", Colour::Warning) } else { " ".into() };
            lines.push(format!("{mark} {line}"));
        }
    }
    let mut text = String::new();
    for line in lines {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// What was looked at, and its three numbers.
fn header(report: &AdviceReport, style: &Style, width: usize) -> Vec<String> {
    let random = matches!(report.model.weights, Weights::Random { .. });
    let room = if random { width - text_width(DOT) - RANDOM.len() } else { width };
    let mut title = style.paint(&shorten(&clean(&report.model.name), room), Colour::Title);
    if random {
        title.push_str(&format!("{DOT}{}", style.paint(RANDOM, Colour::Warning)));
    }
    let cell = &report.cell;
    let machine = &report.environment.machine;
    let hardware = match cell.device {
        Device::Cpu => format!(" ({}, {} cores)", processor(&machine.cpu.model), machine.cpu.cores),
        _ => String::new(),
    };
    let mut facts = vec![
        format!(
            "{} {} on {}{hardware}",
            clean(&report.engine.id),
            clean(&report.engine.version),
            cell.device
        ),
        cell.precision.to_string(),
        match cell.sequence_length {
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
    let mut lines = vec![title];
    lines.extend(flow(&facts, width));
    facts.clear();
    facts.extend(report.latency.map(|time| seconds(time.0)));
    facts.extend(report.samples_per_second.map(|samples| format!("{} samples/s", rate(samples))));
    facts.extend(report.peak_memory.map(|peak| format!("peak {}", bytes(peak.0))));
    facts.push(format!("run {}", clean(&report.run.0)));
    lines.extend(flow(&facts, width));
    if let Some(reason) = report.verdict.reasons.iter().find(|reason| reason.invalidates) {
        let text = format!("not valid: {}", clean(&reason.text));
        lines.extend(wrap(&text, width).into_iter().map(|line| style.paint(&line, Colour::Bad)));
    }
    lines
}

fn nothing(report: &AdviceReport) -> &'static str {
    if report.fine.is_empty() {
        "nothing could be told"
    } else {
        "nothing to advise: what could be judged is fine"
    }
}

/// One advice: what to do and what it gains, why, how it is proved, what it costs.
fn entry(number: usize, advice: &Advice, style: &Style, width: usize) -> Vec<String> {
    let mut lines = title(number, advice, style, width);
    let room = width - INDENT - BODY;
    let mut row = |label: &str, body: Vec<String>| {
        for (at, text) in body.into_iter().enumerate() {
            let label = pad_right(if at == 0 { label } else { "" }, BODY);
            lines.push(format!("{:INDENT$}{}{text}", "", style.paint(&label, Colour::Label)));
        }
    };
    row("why", numbers(advice, room));
    row("expected", wrap(&clean(&advice.gain.basis), room));
    match (&advice.command, &advice.proof) {
        (Some(command), _) => row("prove it", command_lines(&clean(command), room)),
        (None, types::Proof::Elsewhere { why }) => {
            row("prove it", wrap(&format!("not here: {}", clean(why)), room));
        }
        (None, _) => {}
    }
    if let Some(caveat) = &advice.caveat {
        row("but", wrap(&clean(caveat), room));
    }
    if let Some(trial) = &advice.trial {
        let mut body = Vec::new();
        for line in wrap(&words::trial(trial), room) {
            body.push(style.paint(&line, colour(trial)));
        }
        body.extend(trial.remarks.iter().flat_map(|remark| wrap(&clean(remark), room)));
        row("tried", body);
    }
    lines
}

/// The title with the gain at the right end, or below where there is no room.
fn title(number: usize, advice: &Advice, style: &Style, width: usize) -> Vec<String> {
    let head = pad_right(&number.to_string(), INDENT);
    let gain = words::gain(&advice.gain);
    let text = clean(&advice.title);
    let room = width - INDENT;
    if text_width(&text) + 2 + text_width(&gain) <= room {
        let gap = " ".repeat(room - text_width(&text) - text_width(&gain));
        let text = style.paint(&text, Colour::Title);
        return vec![format!("{head}{text}{gap}{}", style.paint(&gain, Colour::Good))];
    }
    let mut lines = Vec::new();
    for (at, line) in wrap(&text, room).into_iter().enumerate() {
        let head = if at == 0 { head.clone() } else { " ".repeat(INDENT) };
        lines.push(format!("{head}{}", style.paint(&line, Colour::Title)));
    }
    lines.push(format!("{:INDENT$}{}", "", style.paint(&pad_left(&gain, room), Colour::Good)));
    lines
}

fn colour(trial: &Trial) -> Colour {
    match trial.verdict {
        TrialVerdict::CameTrue => Colour::Good,
        TrialVerdict::DidNot | TrialVerdict::Refused => Colour::Bad,
        _ => Colour::Warning,
    }
}

/// The evidence, the numbers in one column.
fn numbers(advice: &Advice, width: usize) -> Vec<String> {
    let texts: Vec<String> = advice.evidence.iter().map(|one| clean(&one.text)).collect();
    let values: Vec<String> =
        advice.evidence.iter().map(|one| value(one.value, one.unit)).collect();
    let widest = values.iter().map(|text| text_width(text)).max().unwrap_or(0);
    let longest = texts.iter().map(|text| text_width(text)).max().unwrap_or(0);
    let room = longest.min(width.saturating_sub(widest + 2));
    let mut lines = Vec::new();
    for (text, value) in texts.iter().zip(&values) {
        let mut parts = wrap(text, room);
        let last = parts.pop().unwrap_or_default();
        lines.extend(parts);
        lines.push(format!("{}  {}", pad_right(&last, room), pad_left(value, widest)));
    }
    lines
}

/// A command over several lines that a shell takes as one.
fn command_lines(command: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces(command) {
        match lines.last_mut() {
            Some(line) if text_width(line) + 1 + text_width(&piece) + 2 <= width => {
                line.push(' ');
                line.push_str(&piece);
            }
            _ => lines.push(piece),
        }
    }
    let count = lines.len();
    let more = |(at, line): (usize, String)| {
        if at + 1 < count { format!("{line} \\") } else { line }
    };
    lines.into_iter().enumerate().map(more).collect()
}

/// Words of a command; a flag keeps its value and quotes stay whole.
fn pieces(command: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    for c in command.chars() {
        if c == '\'' {
            quoted = !quoted;
        }
        if c == ' ' && !quoted {
            words.push(std::mem::take(&mut word));
        } else {
            word.push(c);
        }
    }
    words.push(word);
    let mut pieces: Vec<String> = Vec::new();
    for word in words {
        match pieces.last_mut() {
            Some(last)
                if last.starts_with("--")
                    && !last.contains([' ', '='])
                    && !word.starts_with("--") =>
            {
                last.push(' ');
                last.push_str(&word);
            }
            _ => pieces.push(word),
        }
    }
    pieces
}

/// How many of what was tried came true.
fn tally(report: &AdviceReport, style: &Style) -> Vec<String> {
    let trials: Vec<&Trial> = report.advice.iter().filter_map(|one| one.trial.as_ref()).collect();
    let tried = trials.iter().filter(|trial| trial.verdict != TrialVerdict::NotTried).count();
    if tried == 0 {
        return Vec::new();
    }
    let true_ones = trials.iter().filter(|trial| trial.verdict == TrialVerdict::CameTrue).count();
    vec![
        String::new(),
        style.paint(&format!("tried {tried}, {true_ones} came true"), Colour::Title),
    ]
}

/// The batch sizes side by side.
fn sweep(report: &AdviceReport, style: &Style, width: usize) -> Vec<String> {
    if report.sweep.is_empty() {
        return Vec::new();
    }
    let times =
        durations_column(&report.sweep.iter().map(|p| Some(p.latency.0)).collect::<Vec<_>>());
    let peaks: Vec<Option<u64>> = report.sweep.iter().map(|p| p.peak_memory.map(|b| b.0)).collect();
    let peaks = bytes_column(&peaks);
    let columns = [
        Column::right("batch"),
        Column::right("time"),
        Column::right("samples/s"),
        Column::right("peak memory"),
        Column::left(""),
    ];
    let mut table = Table::new(columns).painted(style);
    for ((point, time), peak) in report.sweep.iter().zip(&times).zip(&peaks) {
        let mut notes = Vec::new();
        if point.batch_size == report.cell.batch_size {
            notes.push("as it is");
        }
        if !point.valid {
            notes.push("not valid");
        }
        let rate = rate(point.samples_per_second);
        table.push([
            point.batch_size.to_string(),
            time.clone(),
            rate,
            peak.clone(),
            notes.join(", "),
        ]);
    }
    let mut lines = vec![String::new()];
    lines.extend(table.render(Some(width - 2)).lines().map(|line| format!("  {line}")));
    lines
}

/// Rules that say the same together in one entry.
fn grouped(all: &[Unjudged]) -> Vec<(String, String)> {
    let mut groups: Vec<(String, String)> = Vec::new();
    for one in all {
        let mut text = clean(&one.why);
        if let Some(hint) = &one.hint {
            text.push_str(&format!("; {}", clean(hint)));
        }
        match groups.iter_mut().find(|(_, known)| *known == text) {
            Some((rules, _)) => rules.push_str(&format!(", {}", clean(&one.rule))),
            None => groups.push((clean(&one.rule), text)),
        }
    }
    groups
}

/// A list of rules and what they say.
fn section(name: &str, rows: Vec<(String, String)>, style: &Style, width: usize) -> Vec<String> {
    if rows.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), style.paint(name, Colour::Title)];
    for (rules, text) in rows {
        let names = wrap(&rules, RULE - 1);
        let body = wrap(&text, width - 2 - RULE);
        for at in 0..names.len().max(body.len()) {
            let name = pad_right(names.get(at).map_or("", String::as_str), RULE);
            let text = body.get(at).map_or("", String::as_str);
            lines.push(format!("  {}{text}", style.paint(&name, Colour::Label)));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_can_still_be_pasted() {
        let command =
            "modelmeter compare 'a model.onnx' --engines rten --batch-sizes 4,16 --threads 2";
        let lines = command_lines(command, 40);
        assert_eq!(
            lines,
            [
                "modelmeter compare 'a model.onnx' \\",
                "--engines rten --batch-sizes 4,16 \\",
                "--threads 2"
            ]
        );
        let joined: Vec<&str> = lines.iter().map(|line| line.trim_end_matches(" \\")).collect();
        assert_eq!(joined.join(" "), command);
    }

    #[test]
    fn rules_that_lack_the_same_are_named_together() {
        let one = |rule: &str, why: &str| Unjudged {
            rule: rule.into(),
            why: why.into(),
            hint: Some("do it".into()),
        };
        let all =
            [one("fusion", "no layers"), one("padding", "no text"), one("attention", "no layers")];
        let groups = grouped(&all);
        assert_eq!(groups[0], ("fusion, attention".into(), "no layers; do it".into()));
        assert_eq!(groups.len(), 2);
    }
}
