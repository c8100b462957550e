//! A report as Markdown for pull requests: verdict and numbers first, details folded away.

use super::{
    advice::advice_sheet,
    comparison::comparison_sheet,
    dossier::{Dossier, Subject},
    overview::overview_grid,
    run::{Inner, Sheet},
};
use crate::clean::clean;
use crate::markdown::{Side, plain, table};
use std::fmt::Write;
use types::Run;

/// The report as Markdown.
#[must_use]
pub fn dossier_markdown(dossier: &Dossier) -> String {
    let mut out = format!("# {}\n", plain(&dossier.heading()));
    let is_many = dossier.subjects.len() > 1;
    if is_many {
        overview(&mut out, dossier);
    }
    for report in &dossier.comparisons {
        let sheet = comparison_sheet(report);
        let _ = write!(out, "\n## {}\n\n{}", plain(&sheet.title), sheet.table.markdown());
        list(&mut out, sheet.remarks.iter().map(|remark| plain(remark)));
    }
    for subject in &dossier.subjects {
        if is_many {
            folded(&mut out, &format!("run {}", clean(&subject.name)), |out| {
                self::subject(out, subject, dossier.is_brief);
            });
        } else {
            self::subject(&mut out, subject, dossier.is_brief);
        }
    }
    let unmeasured = dossier.unmeasured.iter();
    list(
        &mut out,
        unmeasured.map(|(cell, why)| format!("not measured: {}: {}", plain(cell), plain(why))),
    );
    out
}

fn overview(out: &mut String, dossier: &Dossier) {
    let runs: Vec<&Run> = dossier.subjects.iter().map(|one| &one.run).collect();
    let names: Vec<String> = dossier.subjects.iter().map(|one| clean(&one.name)).collect();
    let (grid, common) = overview_grid(&runs, &names);
    let mut line = vec![format!("{} of {} runs are valid", dossier.valid(), runs.len())];
    line.extend(common);
    let _ = write!(out, "\n{}\n\n{}", plain(&line.join(" · ")), grid.markdown());
}

fn subject(out: &mut String, subject: &Subject, is_brief: bool) {
    let sheet = Sheet::of(&subject.run);
    let _ =
        writeln!(out, "\n**{}** · {}", plain(&sheet.verdict), plain(&sheet.setting.join(" · ")));
    let mut about = sheet.size.clone();
    if sheet.is_random {
        about.insert(0, "random weights".into());
    }
    about.push(format!("run {}", clean(&subject.name)));
    about.extend(sheet.when.clone());
    let _ = writeln!(out, "\n{}", plain(&about.join(" · ")));
    list(
        out,
        sheet.reasons.iter().map(|reason| {
            let mark = if reason.invalidates { "**not valid:** " } else { "" };
            let hint = reason.hint.as_ref().map(|hint| format!("; {}", plain(hint)));
            format!("{mark}{}{}", plain(&reason.text), hint.unwrap_or_default())
        }),
    );
    let rows: Vec<Vec<String>> = sheet
        .figures
        .iter()
        .map(|one| vec![one.name.clone(), one.value.clone(), one.note.clone()])
        .collect();
    let columns = [("number", Side::Left), ("value", Side::Right), ("", Side::Left)];
    let _ = write!(out, "\n{}", table(&columns, &rows));
    if !sheet.phases.rows.is_empty() {
        let _ = write!(out, "\n{}", sheet.phases.markdown());
    }
    if !sheet.percentiles.rows.is_empty() {
        folded(out, "Percentiles and their support", |out| {
            let _ = write!(out, "\n{}", sheet.percentiles.markdown());
        });
    }
    if !is_brief {
        details(out, &sheet);
    }
    advice(out, subject);
    match &subject.command {
        Ok(command) => {
            let fence = fence(command);
            let _ = writeln!(out, "\n{fence}sh\n{}\n{fence}", clean(command));
        }
        Err(why) => {
            let _ = writeln!(out, "\n{}", plain(why));
        }
    }
}

fn details(out: &mut String, sheet: &Sheet) {
    let mut inner = |title: &str, inner: &Option<Inner>| {
        let Some(inner) = inner else { return };
        folded(out, title, |out| {
            for grid in &inner.tables {
                let _ = write!(out, "\n{}", grid.markdown());
            }
            let said = inner.said.iter().map(|(label, text)| match *label {
                "" => plain(text),
                label => format!("{label}: {}", plain(text)),
            });
            list(out, said);
        });
    };
    inner("Where the time goes", &sheet.layers);
    inner("Where the memory goes", &sheet.memory);
    inner("What the time went through", &sheet.critical_path);
    folded(out, "Environment", |out| {
        let facts = sheet.facts.iter().map(|(label, facts)| (*label, facts.join(" · ")));
        let rows = facts.chain(sheet.environment.iter().cloned());
        let rows: Vec<Vec<String>> = rows.map(|(label, text)| vec![label.into(), text]).collect();
        let _ = write!(out, "\n{}", table(&[("what", Side::Left), ("", Side::Left)], &rows));
    });
}

fn advice(out: &mut String, subject: &Subject) {
    if subject.advice.is_empty() {
        return;
    }
    folded(out, "Advice", |out| {
        let lines = subject.advice.iter().map(|one| {
            let sheet = advice_sheet(one);
            let why = plain(&sheet.why.join("; "));
            format!("**{}**: {} ({why})", plain(&sheet.title), plain(&sheet.gain))
        });
        list(out, lines);
    });
}

/// Something that opens when it is wanted.
fn folded(out: &mut String, title: &str, fill: impl FnOnce(&mut String)) {
    let title = title.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(out, "\n<details>\n<summary>{title}</summary>");
    fill(out);
    out.push_str("\n</details>\n");
}

fn list(out: &mut String, lines: impl Iterator<Item = String>) {
    for (at, line) in lines.enumerate() {
        let _ = writeln!(out, "{}- {line}", if at == 0 { "\n" } else { "" });
    }
}

/// Longer than every row of backticks inside.
fn fence(text: &str) -> String {
    let (mut longest, mut now) = (2, 0);
    for c in text.chars() {
        now = if c == '`' { now + 1 } else { 0 };
        longest = longest.max(now);
    }
    "`".repeat(longest + 1)
}
