//! Tables of timm's `benchmark.py`: one row a model, the hardware in the name of the file.

use super::{Cells, Header, Tables};
use crate::{Catalogue, Domain, Error, Observation, family};
use std::collections::HashMap;

const MEGA: f64 = 1e6;
const GIGA: f64 = 1e9;
/// Every activation is written once and read about twice.
const PASSES: f64 = 3.0;
/// Forward and backward, against forward alone.
const TRAINING: f64 = 3.0;

/// How many features say which hardware it is.
const HARDWARE: usize = 3;
/// Which feature is the ratio of calculation and reading.
const BALANCE: usize = 13;

/// A row that waits for what other tables know of its model.
#[derive(Debug, Clone)]
pub(super) struct Row {
    setting: Setting,
    is_training: bool,
    model: String,
    seconds: f64,
    batch: f64,
    size: f64,
    parameters: f64,
    macs: Option<f64>,
    activations: Option<f64>,
}

/// What a table's name says: `benchmark-infer-amp-nhwc-pt240-cu124-rtx4090-dynamo.csv`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Setting {
    precision: String,
    layout: String,
    torch: f64,
    is_compiled: bool,
    is_processor: bool,
    hardware: Option<String>,
}

impl Setting {
    pub(super) fn of(name: &str) -> Setting {
        let lower = name.to_ascii_lowercase();
        let stem = lower.trim_end_matches(".gz").trim_end_matches(".csv");
        let separator = if stem.contains('-') { '-' } else { '_' };
        let words: Vec<&str> = stem.split(separator).collect();
        let digits = |word: &str, prefix: &str| -> Option<f64> {
            let rest = word.strip_prefix(prefix)?;
            (!rest.is_empty() && rest.len() <= 4 && rest.bytes().all(|byte| byte.is_ascii_digit()))
                .then(|| rest.parse().ok())?
        };
        let precisions = ["fp32", "fp16", "bf16", "amp", "amp_bf16", "amp_fp16", "tf32"];
        let other = |word: &str| {
            precisions.contains(&word)
                || [
                    "benchmark",
                    "infer",
                    "train",
                    "nchw",
                    "nhwc",
                    "dynamo",
                    "cpu",
                    "gpu",
                    "model",
                    "inductor",
                    "compile",
                    "",
                ]
                .contains(&word)
                || digits(word, "pt").is_some()
                || digits(word, "cu").is_some()
        };
        // The name of the hardware may be of several words; they stand together at the end.
        let hardware: Vec<&str> = words.iter().copied().filter(|word| !other(word)).collect();
        let has = |word: &str| words.contains(&word);
        let hardware = hardware.join(" ");
        Setting {
            precision: words
                .iter()
                .find(|word| precisions.contains(word))
                .map_or("fp32", |word| if word.starts_with("amp") { "amp" } else { *word })
                .to_owned(),
            layout: if has("nhwc") { "nhwc" } else { "nchw" }.to_owned(),
            torch: words.iter().find_map(|word| digits(word, "pt")).unwrap_or(f64::NAN),
            is_compiled: has("dynamo") || has("inductor") || has("compile"),
            is_processor: has("cpu"),
            hardware: hardware.bytes().any(|byte| byte.is_ascii_digit()).then_some(hardware),
        }
    }
}

const PREFIXES: [(&str, bool); 3] = [("infer_", false), ("train_", true), ("", false)];

pub(super) fn is_table(header: &Header<'_>) -> bool {
    header.has(&["model"])
        && PREFIXES
            .iter()
            .any(|(prefix, _)| header.has(&[format!("{prefix}samples_per_sec").as_str()]))
}

/// An inference, a training, or both.
pub(super) fn rows(cells: &Cells<'_>, setting: &Setting) -> Result<Vec<Row>, String> {
    let model = cells.text("model").ok_or("`model` is empty")?;
    let mut found = Vec::new();
    for (prefix, is_training) in PREFIXES {
        let of = |name: &str| format!("{prefix}{name}");
        if cells.text(&of("samples_per_sec")).is_none() {
            continue;
        }
        let is_training = is_training && prefix == "train_";
        found.push(Row {
            setting: setting.clone(),
            is_training,
            model: model.to_owned(),
            seconds: 1.0 / cells.need(&of("samples_per_sec"))?,
            batch: cells.need(&of("batch_size"))?,
            size: cells.need(&of("img_size"))?,
            parameters: cells.need("param_count")? * MEGA,
            macs: cells.amount(&of("gmacs")).map(|macs| macs * GIGA),
            activations: cells.amount(&of("macts")).map(|count| count * MEGA),
        });
    }
    if found.is_empty() {
        return Err("it states no samples per second".into());
    }
    Ok(found)
}

/// Operations and activations of models by name and picture size.
type Facts = HashMap<(String, u64), (f64, f64)>;

pub(super) fn finish(tables: &mut Tables, more: &[Row], catalogue: &Catalogue) {
    let mut facts = Facts::new();
    for row in tables.timm.iter().chain(more) {
        if let (Some(macs), Some(activations)) = (row.macs, row.activations) {
            facts.entry((row.model.clone(), row.size as u64)).or_insert((macs, activations));
        }
    }
    let rows = tables.timm.clone();
    for row in &rows {
        match observation(row, &facts, catalogue) {
            Ok(one) => tables.observations.push(one),
            Err(why) => tables.leave_out(&why),
        }
    }
}

/// A row of a model as if it had been measured on other hardware: the newest setting that tables have of it.
pub(super) fn question(
    rows: &[Row],
    model: &str,
    asked: &super::PictureQuestion<'_>,
    catalogue: &Catalogue,
) -> Result<Observation, Error> {
    let lower = model.to_ascii_lowercase();
    let is_it = |row: &&Row| row.model.eq_ignore_ascii_case(&lower);
    if !rows.iter().any(|row| is_it(&row)) {
        let mut names: Vec<&str> = rows.iter().map(|row| row.model.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let near = types::near(model, names);
        let hint =
            near.first().map(|near| format!("; a known name is `{near}`")).unwrap_or_default();
        return Err(Error::TooLittle(format!("no table has the model `{model}`{hint}")));
    }
    let is_gpu = catalogue.find(asked.hardware).is_some_and(|hardware| hardware.is_gpu);
    let precision = if asked.precision == "fp32" { "fp32" } else { "amp" };
    let fits =
        |row: &&Row| row.setting.is_processor != is_gpu && row.is_training == asked.is_training;
    let newest = |row: &&Row| {
        let own = f64::from(u8::from(row.setting.precision == precision));
        let plain = f64::from(u8::from(!row.setting.is_compiled && row.setting.layout == "nchw"));
        own * 1e6 + plain * 1e4 + row.setting.torch.max(0.0)
    };
    let best = rows
        .iter()
        .filter(is_it)
        .filter(fits)
        .max_by(|one, other| newest(one).total_cmp(&newest(other)))
        .ok_or_else(|| {
            let kind = if is_gpu { "a GPU" } else { "a processor" };
            Error::TooLittle(format!("no table has `{model}` on {kind} in this mode"))
        })?;
    let mut facts = Facts::new();
    for row in rows {
        if let (Some(macs), Some(activations)) = (row.macs, row.activations) {
            facts.entry((row.model.clone(), row.size as u64)).or_insert((macs, activations));
        }
    }
    let mut row = best.clone();
    row.setting.hardware = Some(asked.hardware.to_owned());
    row.seconds = f64::NAN;
    if let Some(batch) = asked.batch {
        row.batch = batch;
    }
    observation(&row, &facts, catalogue).map_err(Error::TooLittle)
}

fn observation(row: &Row, facts: &Facts, catalogue: &Catalogue) -> Result<Observation, String> {
    let setting = &row.setting;
    let name = setting
        .hardware
        .as_deref()
        .ok_or("the name of its file does not say which hardware it is")?;
    let hardware = catalogue.find(name).ok_or_else(|| {
        let near = catalogue.near(name);
        let hint =
            near.first().map(|near| format!("; a known name is `{near}`")).unwrap_or_default();
        format!("the peaks of `{name}` are not known{hint}")
    })?;
    if setting.is_processor && hardware.is_gpu {
        return Err(format!("the name of its file says both `cpu` and `{}`", hardware.name));
    }
    let (macs, activations) = facts
        .get(&(row.model.clone(), row.size as u64))
        .copied()
        .or(row.macs.zip(row.activations))
        .ok_or("no table says how many operations the model has")?;
    let is_half = setting.precision != "fp32" && setting.precision != "tf32";
    let (peak, width) = match (hardware.is_gpu, is_half) {
        (true, true) => (hardware.half, 2.0),
        _ => (hardware.single, 4.0),
    };
    let passes = if row.is_training { TRAINING } else { 1.0 };
    let calculation = passes * 2.0 * macs / peak;
    let moved = passes * (PASSES * activations + row.parameters / row.batch) * width;
    let reading = moved / hardware.bandwidth;
    let mut features = vec![
        peak.ln(),
        hardware.bandwidth.ln(),
        hardware.cache.unwrap_or(f64::NAN).ln(),
        macs.ln(),
        activations.ln(),
        row.parameters.ln(),
        row.size,
        row.batch.ln(),
        (macs / activations).ln(),
        (macs / row.parameters).ln(),
        (activations / row.parameters).ln(),
        (macs / (row.size * row.size)).ln(),
        (activations / (row.size * row.size)).ln(),
        (calculation / reading).ln(),
        f64::from(u8::from(setting.layout == "nhwc")),
        f64::from(u8::from(setting.is_compiled)),
        setting.torch,
    ];
    features.extend(family::traits(&row.model));
    let (domain, kind) = match (hardware.is_gpu, row.is_training) {
        (true, false) => (Domain::VisionOnGpus, "infer"),
        (true, true) => (Domain::VisionTrainingOnGpus, "train"),
        (false, _) => (Domain::VisionOnProcessors, "infer"),
    };
    let compiled = if setting.is_compiled { " compiled" } else { "" };
    let test = format!("{kind} {} {}{compiled}", setting.precision, setting.layout);
    Ok(Observation {
        domain,
        machine: hardware.name.clone(),
        instance: hardware.name.clone(),
        family: family::family(&row.model),
        model: format!("{} @ {}", row.model, row.size),
        setting: vec![
            compiled.to_owned(),
            setting.layout.clone(),
            setting.precision.clone(),
            format!("{}", setting.torch),
        ],
        test,
        seconds: row.seconds,
        physics: calculation.max(reading),
        bounds: [calculation, reading],
        pressure: None,
        features,
        balance_feature: Some(BALANCE),
        hardware_features: HARDWARE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tables_name_says_its_setting() {
        let one = Setting::of("benchmark-infer-amp-nhwc-pt240-cu124-rtx4090-dynamo.csv.gz");
        assert_eq!(one.hardware.as_deref(), Some("rtx4090"));
        assert!(one.is_compiled && one.layout == "nhwc" && one.precision == "amp");
        let cpu = Setting::of("benchmark-infer-fp32-nchw-pt240-cpu-i9_10940x-dynamo.csv");
        assert!(cpu.is_processor && cpu.hardware.as_deref() == Some("i9_10940x"));
        assert_eq!(Setting::of("benchmark.csv").hardware, None);
        let short = Setting::of("benchmark-infer-amp-nchw-pt291-cu128-5090.csv");
        assert_eq!(short.hardware.as_deref(), Some("5090"));
    }
}
