//! What a shell offers after a TAB: models, engines, devices, precisions and stored runs.
//!
//! Somebody waits at the keyboard, so this must be fast, and it never prints: what cannot be found is not offered.

use crate::command;
use clap_complete::{CompletionCandidate, PathCompleter, engine::ValueCompleter};
use modelmeter::{ENGINES, Engines, PRESETS, Store};
use report::clean;
use std::ffi::OsStr;
use store::{Filter, RunRow};

/// How many runs are offered, the newest.
const RUNS: u64 = 50;

/// Digits of a run's id that no other run has, without looking at all of them.
const DIGITS: usize = 12;

/// The engines' names as a list for help texts.
pub(crate) fn engine_names() -> String {
    ENGINES.iter().map(|engine| engine.id()).collect::<Vec<_>>().join(", ")
}

/// The engine that others are compared with by default.
pub(crate) fn reference() -> &'static str {
    modelmeter::Engines::default().reference().map_or("none", |engine| engine.id())
}

/// The help of `calibrate --device`: who measures which device.
pub(crate) fn calibrated_devices() -> String {
    let able = ENGINES.iter().filter(|engine| engine.calibrates()).map(|engine| engine.id());
    let able = able.collect::<Vec<_>>().join(" or ");
    format!("Device: cpu, cuda, cuda:1, rocm, mps; all but the cpu need {able}")
}

/// The help of the model of `noise`: what is run by default.
pub(crate) fn noise_model() -> String {
    let engine = Engines::default().embedded().map_or("auto", |engine| engine.id());
    format!("Model that is compared with itself [default: small-transformer with {engine}]")
}

/// The engines of this build.
pub(crate) fn engines() -> Vec<CompletionCandidate> {
    ENGINES.iter().map(|engine| CompletionCandidate::new(engine.id())).collect()
}

/// The devices that people name most.
pub(crate) fn devices() -> Vec<CompletionCandidate> {
    ["auto", "cpu", "cuda", "rocm", "mps", "openvino", "wasm", "webgpu", "webnn"]
        .map(CompletionCandidate::new)
        .into()
}

/// The precisions.
pub(crate) fn precisions() -> Vec<CompletionCandidate> {
    ["fp32", "fp16", "bf16", "int8", "stored"].map(CompletionCandidate::new).into()
}

/// Models that are known by name, and files.
pub(crate) fn models(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed_text = typed.to_string_lossy();
    let named = PRESETS.iter().map(|preset| preset.name);
    let named = named.filter(|name| name.starts_with(typed_text.as_ref()));
    let mut found: Vec<_> = named.map(CompletionCandidate::new).collect();
    found.extend(PathCompleter::any().complete(typed));
    found
}

/// Models, files and stored runs.
pub(crate) fn models_and_runs(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed_text = typed.to_string_lossy();
    let is_meant = |run: &CompletionCandidate| {
        run.get_value().to_string_lossy().starts_with(typed_text.as_ref())
    };
    let mut found = models(typed);
    found.extend(runs().into_iter().filter(is_meant));
    found
}

/// The newest runs of the database; none where there is none. A server is not asked: its answer may take seconds.
pub(crate) fn runs() -> Vec<CompletionCandidate> {
    let Some(rows) = stored() else { return Vec::new() };
    let latest = CompletionCandidate::new("latest").help(Some("the newest run".into()));
    let candidate = |row: RunRow| {
        let about = format!("{}, {}", clean(&row.model), row.engine);
        let id: String = row.id.0.chars().take(DIGITS).collect();
        CompletionCandidate::new(id).help(Some(about.into()))
    };
    std::iter::once(latest).chain(rows.into_iter().map(candidate)).collect()
}

fn stored() -> Option<Vec<RunRow>> {
    let folders = command::folders_of(None, None).ok()?;
    let path = folders.database;
    if store::is_server(&path) || !path.is_file() {
        return None;
    }
    let filter = Filter { limit: Some(RUNS), ..Filter::default() };
    Store::open_to_read(&path).ok()?.runs(&filter).ok()
}
