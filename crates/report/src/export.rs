//! A model written as one ONNX file, and what engines make of the file.

use crate::{
    clean::clean,
    number::{bytes, count},
    style::Style,
    table::{Column, Table},
    wrap::wrap,
};
use serde_json::{Value, json};
use std::fmt::Write as _;
use types::{ExportCheck, ExportReport, Weights};

/// What the document of an export is called.
pub const EXPORT_SCHEMA: &str = "modelmeter.export/1";

/// The page: what was written, and whether engines that load it give the model's answers.
#[must_use]
pub fn export(report: &ExportReport, style: &Style) -> String {
    let mut text = String::new();
    let path = clean(&report.path.display().to_string());
    let _ = writeln!(text, "{} → {path}", clean(&report.model.name));
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
    for line in wrap(&facts.join(", "), style.width) {
        let _ = writeln!(text, "{line}");
    }
    if let Some(data) = &report.data {
        let name = data.file_name().unwrap_or_default().to_string_lossy();
        let _ = writeln!(text, "its weights are in {}, which belongs beside it", clean(&name));
    }
    text.push('\n');
    let against = format!("outputs, against {}", clean(&report.reference));
    let mut table = Table::new([
        Column::left("loaded by"),
        Column::left("version").leaves(1),
        Column::right("largest difference"),
        Column::left(&against).wraps(),
    ])
    .painted(style);
    for check in &report.checks {
        let largest = check.parity.as_ref().and_then(types::Parity::max_abs);
        let largest = largest.map_or_else(|| crate::MISSING.to_owned(), |by| format!("{by:.1e}"));
        table.push([clean(&check.engine), clean(&check.version), largest, said(check)]);
    }
    text.push_str(&table.render(Some(style.width)));
    for remark in &report.remarks {
        for line in wrap(&format!("note: {}", clean(remark)), style.width) {
            let _ = writeln!(text, "{line}");
        }
    }
    text
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
        (None, None) => crate::MISSING.into(),
    }
}

/// The same as JSON.
#[must_use]
pub fn export_json(report: &ExportReport) -> Value {
    let mut document = serde_json::to_value(report).unwrap_or_default();
    if let Some(table) = document.as_object_mut() {
        table.insert("schema".into(), json!(EXPORT_SCHEMA));
        table.insert("holds".into(), json!(report.holds()));
    }
    document
}
