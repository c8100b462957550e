//! A model written as one ONNX file, and what engines make of the file.

use crate::{
    clean::clean,
    csv::{number, text},
    result::{Block, DataTable, Note, ResultDocument, Tone},
    sheet::Grid,
    table::Column,
};
use number::{MISSING, bytes, count, scientific};
use schemars::JsonSchema;
use serde::Serialize;
use types::{ExportCheck, ExportReport, Weights};

/// What the document of an export is called.
pub const EXPORT_SCHEMA: &str = "modelmeter.export/1";

/// What was written, and whether engines that load it give the model's answers.
#[must_use]
pub fn export_document(report: &ExportReport) -> ResultDocument {
    let mut facts = vec![
        bytes(report.size.0),
        format!("opset {}", report.opset),
        report.precision.to_string(),
        format!("{} parameters", count(report.model.parameters)),
        format!("{} operators", report.nodes),
    ];
    if report.native_opset != report.opset {
        facts[1] = format!("opset {} (converted from {})", report.opset, report.native_opset);
    }
    if matches!(report.model.weights, Weights::Random { .. }) {
        facts.push("random weights".into());
    }
    let mut notes = Vec::new();
    if let Some(data) = &report.data {
        let name = data.file_name().unwrap_or_default().to_string_lossy();
        notes.push(Note::new(format!("its weights are in {name}, which must stay next to it")));
    }
    notes.extend(report.remarks.iter().map(Note::new));
    let (text, tone) = match (report.differs(), report.holds()) {
        (true, _) => ("the outputs of an engine differ from the model's", Tone::Bad),
        (false, true) => ("the file gives the same outputs as the model", Tone::Good),
        (false, false) => ("no engine here could check the file", Tone::Warning),
    };
    ResultDocument {
        title: vec![format!("{} → {}", report.model.name, report.path.display())],
        is_list: false,
        facts,
        verdict: Some(Note::of(tone, text)),
        blocks: vec![Block::table("checks of the file", grid(report)), Block::Notes(notes)],
        json: serde_json::to_value(ExportDocument::from(report)).unwrap_or_default(),
        data: Some(data(report)),
        ..ResultDocument::default()
    }
}

fn grid(report: &ExportReport) -> Grid {
    let against = format!("outputs compared with {}", report.reference);
    let mut grid = Grid::of([
        Column::left("loaded by"),
        Column::left("version").leaves(1),
        Column::right("largest difference"),
        Column::left(&against).wraps(),
    ]);
    for check in &report.checks {
        let largest = largest(check).map_or_else(|| MISSING.to_owned(), scientific);
        grid.row([check.engine.clone(), check.version.clone(), largest, said(check)]);
    }
    grid
}

fn data(report: &ExportReport) -> DataTable {
    let columns =
        ["path", "engine", "engine_version", "reference", "largest_difference", "outputs"];
    let row = |check: &ExportCheck| {
        vec![
            text(&report.path.display().to_string()),
            text(&check.engine),
            text(&check.version),
            text(&report.reference),
            largest(check).and_then(number),
            text(&said(check)),
        ]
    };
    DataTable::new(columns, report.checks.iter().map(row))
}

fn largest(check: &ExportCheck) -> Option<f64> {
    check.parity.as_ref().and_then(types::Parity::max_abs)
}

fn said(check: &ExportCheck) -> String {
    match (&check.parity, &check.failed) {
        (Some(parity), _) if parity.holds => "=".into(),
        (Some(parity), _) => {
            let wrong = parity.outputs.iter().filter(|output| !output.holds);
            let names: Vec<String> = wrong.map(|output| clean(&output.output)).collect();
            format!("{} in {}", parity.agreement().sign(), names.join(", "))
        }
        (None, Some(why)) => format!("does not run it: {}", clean(why)),
        (None, None) => MISSING.into(),
    }
}

/// A model written as one ONNX file, and what engines make of the file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExportDocument<'a> {
    #[serde(flatten)]
    report: &'a ExportReport,
    #[schemars(extend("const" = EXPORT_SCHEMA))]
    schema: &'static str,
    /// Whether at least one engine ran the file, and all that did give the model's outputs.
    holds: bool,
}

impl<'a> From<&'a ExportReport> for ExportDocument<'a> {
    fn from(report: &'a ExportReport) -> ExportDocument<'a> {
        ExportDocument { report, schema: EXPORT_SCHEMA, holds: report.holds() }
    }
}
