//! Cells against a file: a table on a screen, and a part of the document of an analysis.

use super::document::{interval, key};
use super::words::{Machines, counted, factor};
use crate::number::{percent, seconds};
use crate::style::{Colour, Style};
use crate::table::{Column, Table};
use crate::trend::trend_name;
use crate::wrap::wrap;
use crate::wrap::{hanging_indent, joined};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use types::{Against, AgainstCell, AgainstOutcome, AllowanceFrom};

/// The terminal's view.
#[must_use]
pub fn against(
    found: &Against,
    file: &str,
    machines: &BTreeMap<String, String>,
    style: &Style,
) -> String {
    let width = style.columns();
    let names = Machines::new(machines);
    let mut lines = vec![style.paint(&format!("against {file}"), Colour::Title)];
    let mut table = Table::new([
        Column::left("cell").wraps(),
        Column::left("machine").leaves(1),
        Column::right("file"),
        Column::right("now"),
        Column::left("now ÷ file"),
        Column::right("allowed").leaves_late(1),
        Column::left("verdict"),
    ])
    .painted(style);
    for one in &found.cells {
        table.push([
            format!("{}, {}", one.key.model, trend_name(&one.key)),
            names.name(&one.key.machine),
            seconds(one.file.value),
            seconds(one.now.value),
            factor(&one.ratio),
            format!("± {}", percent(one.allowance)),
            verdict(one).to_owned(),
        ]);
    }
    if !table.is_empty() {
        lines.extend(table.render(Some(width)).lines().map(String::from));
    }
    for remark in remarks(found) {
        lines.extend(hanging_indent("-", &remark, Colour::Warning, style, width));
    }
    if found.cells.is_empty() {
        lines.extend(wrap("no cell has a row in the file", width));
    }
    joined(lines)
}

fn verdict(one: &AgainstCell) -> &'static str {
    match one.outcome {
        AgainstOutcome::Better => "faster",
        AgainstOutcome::Held => "held",
        AgainstOutcome::Worse => "slower",
        AgainstOutcome::CannotTell => "cannot tell",
        AgainstOutcome::Same => "the same runs",
    }
}

fn remarks(found: &Against) -> Vec<String> {
    let mut remarks = Vec::new();
    let count =
        |holds: fn(&AgainstCell) -> bool| found.cells.iter().filter(|one| holds(one)).count();
    let rests = |from: AllowanceFrom| {
        let differs = |one: &&AgainstCell| one.outcome != AgainstOutcome::Same;
        found.cells.iter().filter(differs).any(|one| one.allowance_from == from)
    };
    if rests(AllowanceFrom::Runs) {
        remarks.push(
            "the file was written at another time: as much drift is allowed as the runs of both sides scatter, and 5 % at \
             least; `modelmeter compare` lets both take turns and needs no allowance"
                .to_owned(),
        );
    }
    if rests(AllowanceFrom::Drift) {
        remarks.push(
            "the file was written at another time, and an idle machine may drift by 30 %: a history of 10 sessions, or \
             `--allowance`, says how far this one does; so do five runs on either side"
                .to_owned(),
        );
    }
    if count(|one| one.ratio.interval.is_none()) > 0 {
        remarks.push("one number without an interval on a side decides nothing".to_owned());
    }
    if !found.only_now.is_empty() {
        let cells = counted(found.only_now.len() as u64, "cell");
        remarks.push(format!("{cells} without a row in the file"));
    }
    if found.only_file > 0 {
        remarks
            .push(format!("{} of the file without a cell here", counted(found.only_file, "row")));
    }
    if found.other_machines > 0 {
        let rows = counted(found.other_machines, "row");
        remarks
            .push(format!("{rows} of the file of another machine, which says nothing of this one"));
    }
    remarks
}

/// For the document of the analysis, under `compared_to`.
#[must_use]
pub fn against_json(found: &Against, file: &str) -> Value {
    let cell = |one: &AgainstCell| {
        let mut document = key(&one.key);
        let rest = json!({
            "file": { "seconds": one.file.value, "ci95": interval(one.file.interval), "runs": one.file_runs },
            "now": { "seconds": one.now.value, "ci95": interval(one.now.interval), "runs": one.now_runs },
            "ratio": one.ratio.value,
            "ci95": interval(one.ratio.interval),
            "allowance": one.allowance,
            "allowance_from": one.allowance_from,
            "allowance_from_history": one.allowance_from == AllowanceFrom::History,
            "outcome": one.outcome,
        });
        if let (Value::Object(map), Value::Object(rest)) = (&mut document, rest) {
            map.extend(rest);
        }
        document
    };
    json!({
        "file": file,
        "accepted": found.accepted,
        "cells": found.cells.iter().map(cell).collect::<Vec<_>>(),
        "only_now": found.only_now.iter().map(key).collect::<Vec<_>>(),
        "only_file": found.only_file,
        "other_machines": found.other_machines,
    })
}
