//! Results as a terminal shows them.

use crate::sample::text_run;
use modelmeter_report::{
    Block, Footer, LayerView, MemoryView, ResultDocument, Style, TrendGate, View, advice_document,
    analysis_document, comparison_document, run_document, trend_document,
};
use types::{AdviceReport, Analysis, ComparisonReport, LayerReport, MemoryReport, Run, Trend};

pub(crate) fn shown(document: &ResultDocument, style: &Style) -> String {
    document.terminal(style, Some(style.columns()))
}

pub(crate) fn summary(run: &Run, style: &Style, footer: Footer<'_>) -> String {
    let view = View { is_brief: true, ..View::default() };
    shown(&run_document(run, &view, footer), style)
}

pub(crate) fn page(run: &Run, view: &View, style: &Style, footer: Footer<'_>) -> String {
    shown(&run_document(run, view, footer), style)
}

pub(crate) fn comparison(report: &ComparisonReport, style: &Style) -> String {
    shown(&comparison_document(report), style)
}

pub(crate) fn analysis(found: &Analysis, style: &Style) -> String {
    shown(&analysis_document(found, None), style)
}

pub(crate) fn trend(found: &Trend, gate: Option<TrendGate<'_>>, style: &Style) -> String {
    shown(&trend_document(found, gate), style)
}

pub(crate) fn advice(report: &AdviceReport, style: &Style) -> String {
    shown(&advice_document(report), style)
}

/// Where the time goes, and what is said below it.
pub(crate) fn inside(report: &LayerReport, view: &LayerView, style: &Style) -> String {
    let mut run = text_run();
    run.layers = Some(Box::new(report.clone()));
    let view = View { layers: view.clone(), ..View::default() };
    details(&run_document(&run, &view, Footer::None), "Where the time goes", style)
}

/// Where the memory goes, and what is said below it.
pub(crate) fn memory(report: &MemoryReport, view: &MemoryView, style: &Style) -> String {
    let mut run = text_run();
    run.memory = Some(Box::new(report.clone()));
    let view = View { memory: view.clone(), ..View::default() };
    details(&run_document(&run, &view, Footer::None), "Where the memory goes", style)
}

/// The parts under this name.
fn details(document: &ResultDocument, name: &str, style: &Style) -> String {
    let found = document.blocks.iter().find_map(|block| match block {
        Block::Details { title, blocks } if title.as_str() == name => Some(blocks.clone()),
        _ => None,
    });
    let blocks = found.expect("the run has them");
    shown(&ResultDocument { blocks, ..ResultDocument::default() }, style)
}
