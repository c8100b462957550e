//! Tables of timm's `benchmark.py`: one row a model, the hardware in the name of the file.

use super::{Cells, Header, PictureCase, Tables};
use crate::{Catalogue, Domain, Error, Observation, family};
use std::collections::HashMap;

/// The engine whose times timm's benchmark takes.
const ENGINE: &str = "torch";
const MEGA: f64 = 1e6;
const GIGA: f64 = 1e9;
/// Every activation is written once and read about twice.
const PASSES: f64 = 3.0;
/// Forward and backward, against forward alone.
const TRAINING: f64 = 3.0;

/// Columns that may name the hardware of a row.
const HARDWARE_COLUMNS: [&str; 4] = ["gpu", "device", "hardware", "gpu_name"];
/// Words of the longest name of hardware.
const LONGEST_NAME: usize = 8;

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

/// Words of names that say how the numbers are written, and what that is.
const PRECISIONS: [(&str, &str); 9] = [
    ("fp32", "fp32"),
    ("float32", "fp32"),
    ("tf32", "tf32"),
    ("bf16", "bf16"),
    ("bfloat16", "bf16"),
    ("amp", "amp"),
    ("fp16", "fp16"),
    ("float16", "fp16"),
    ("half", "fp16"),
];
/// Words of names that say something else than the hardware.
const OTHER_WORDS: [&str; 11] = [
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
];

impl Setting {
    pub(super) fn of(name: &str, catalogue: &Catalogue) -> Setting {
        let lower = name.to_ascii_lowercase();
        let stem = lower.trim_end_matches(".gz").trim_end_matches(".csv");
        let words: Vec<&str> = stem
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
            .collect();
        let digits = |word: &str, prefix: &str| -> Option<f64> {
            let rest = word.strip_prefix(prefix)?;
            (!rest.is_empty() && rest.len() <= 4 && rest.bytes().all(|byte| byte.is_ascii_digit()))
                .then(|| rest.parse().ok())?
        };
        let has = |word: &str| words.contains(&word);
        let precision = PRECISIONS.iter().find(|(word, _)| has(word)).map_or("fp32", |one| one.1);
        Setting {
            precision: precision.to_owned(),
            layout: if has("nhwc") { "nhwc" } else { "nchw" }.to_owned(),
            torch: words.iter().find_map(|word| digits(word, "pt")).unwrap_or(f64::NAN),
            is_compiled: has("dynamo") || has("inductor") || has("compile"),
            is_processor: has("cpu"),
            hardware: named(&words, catalogue).or_else(|| {
                // Of no known hardware: what is left of the name is told, if it looks like a product.
                let is_other = |word: &str| {
                    OTHER_WORDS.contains(&word)
                        || PRECISIONS.iter().any(|(own, _)| *own == word)
                        || digits(word, "pt").is_some()
                        || digits(word, "cu").is_some()
                };
                let rest: Vec<&str> =
                    words.iter().copied().skip_while(|word| !is_other(word)).collect();
                let rest: Vec<&str> = rest.into_iter().filter(|word| !is_other(word)).collect();
                let rest = rest.join(" ");
                rest.bytes().any(|byte| byte.is_ascii_digit()).then_some(rest)
            }),
        }
    }

    /// The same where a row names its hardware itself.
    fn with_hardware_of(&self, cells: &Cells<'_>, catalogue: &Catalogue) -> Setting {
        let names = HARDWARE_COLUMNS.iter().filter_map(|column| cells.text(column));
        let mut found = names.filter_map(|name| catalogue.find(name));
        match found.next() {
            Some(hardware) => Setting {
                hardware: Some(hardware.name.clone()),
                is_processor: !hardware.is_gpu,
                ..self.clone()
            },
            None => self.clone(),
        }
    }

    /// Whether the name of the file, or a column, can say which hardware it is.
    pub(super) fn says_hardware(&self, header: &Header<'_>) -> bool {
        self.hardware.is_some() || HARDWARE_COLUMNS.iter().any(|column| header.has(&[column]))
    }
}

/// The longest run of words that is a name of the catalogue; the last of several.
fn named(words: &[&str], catalogue: &Catalogue) -> Option<String> {
    (1..=words.len().min(LONGEST_NAME)).rev().find_map(|length| {
        words
            .windows(length)
            .rev()
            .find_map(|run| catalogue.find(&run.join(" ")).map(|hardware| hardware.name.clone()))
    })
}

const PREFIXES: [(&str, bool); 3] = [("infer_", false), ("train_", true), ("", false)];

pub(super) fn is_table(header: &Header<'_>) -> bool {
    header.has(&["model"])
        && PREFIXES
            .iter()
            .any(|(prefix, _)| header.has(&[format!("{prefix}samples_per_sec").as_str()]))
}

/// An inference, a training, or both.
pub(super) fn rows(
    cells: &Cells<'_>,
    setting: &Setting,
    catalogue: &Catalogue,
) -> Result<Vec<Row>, String> {
    let setting = setting.with_hardware_of(cells, catalogue);
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

/// Precisions of tables that answer for the one that is asked: timm's mixed precision is that of 16 bits.
fn answers(own: &str, asked: Option<&str>) -> bool {
    match asked {
        None => true,
        Some("fp16") => matches!(own, "amp" | "fp16"),
        Some(asked) => own == asked,
    }
}

/// A row of a model as if it had been measured on other hardware: the newest setting that tables have of it.
pub(super) fn question(
    rows: &[Row],
    model: &str,
    asked: &super::PictureQuestion<'_>,
    catalogue: &Catalogue,
) -> Result<PictureCase, Error> {
    let is_it = |row: &&Row| row.model.eq_ignore_ascii_case(model);
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
    let kind = if is_gpu { "a GPU" } else { "a processor" };
    let mode = if asked.is_training { "training" } else { "inference" };
    let fits =
        |row: &&Row| row.setting.is_processor != is_gpu && row.is_training == asked.is_training;
    let of_mode: Vec<&Row> = rows.iter().filter(is_it).filter(fits).collect();
    if of_mode.is_empty() {
        return Err(Error::TooLittle(format!("no table has `{model}` on {kind} in {mode}")));
    }
    // Where nothing is asked, a GPU computes in mixed precision, as most tables of timm do.
    let usual = if is_gpu { "amp" } else { "fp32" };
    let newest = |row: &Row| {
        let own = f64::from(u8::from(row.setting.precision == usual));
        let plain = f64::from(u8::from(!row.setting.is_compiled && row.setting.layout == "nchw"));
        own * 1e6 + plain * 1e4 + row.setting.torch.max(0.0)
    };
    let best = of_mode
        .iter()
        .copied()
        .filter(|row| answers(&row.setting.precision, asked.precision))
        .max_by(|one, other| newest(one).total_cmp(&newest(other)))
        .ok_or_else(|| {
            let mut known: Vec<&str> =
                of_mode.iter().map(|row| row.setting.precision.as_str()).collect();
            known.sort_unstable();
            known.dedup();
            Error::TooLittle(format!(
                "no table has `{model}` on {kind} in {}; they have it in {}",
                asked.precision.unwrap_or_default(),
                known.join(", ")
            ))
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
    let observation = observation(&row, &facts, catalogue).map_err(Error::TooLittle)?;
    let (precision, batch) = (row.setting.precision, row.batch);
    Ok(PictureCase { observation, engine: ENGINE, precision, batch })
}

fn observation(row: &Row, facts: &Facts, catalogue: &Catalogue) -> Result<Observation, String> {
    let setting = &row.setting;
    let name = setting
        .hardware
        .as_deref()
        .ok_or("neither the name of its file nor the row says which hardware it is")?;
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
        (false, false) => (Domain::VisionOnProcessors, "infer"),
        (false, true) => (Domain::VisionTrainingOnProcessors, "train"),
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
        rates: [peak, hardware.bandwidth],
        maker: hardware.maker().filter(|_| hardware.is_gpu),
        is_doubtful: false,
        hardware_features: HARDWARE,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tables_name_says_its_setting() {
        let own = Catalogue::own();
        let of = |name: &str| Setting::of(name, &own);
        let one = of("benchmark-infer-amp-nhwc-pt240-cu124-rtx4090-dynamo.csv.gz");
        assert_eq!(one.hardware.as_deref(), Some("GeForce RTX 4090"));
        assert!(one.is_compiled && one.layout == "nhwc" && one.precision == "amp");
        let cpu = of("benchmark-infer-fp32-nchw-pt240-cpu-i9_10940x-dynamo.csv");
        assert!(cpu.is_processor && cpu.hardware.as_deref() == Some("Core i9-10940X"));
        assert_eq!(of("benchmark.csv").hardware, None);
        assert_eq!(of("results.csv").hardware, None);
    }

    #[test]
    fn hardware_is_found_wherever_it_stands_in_the_name_of_a_table() {
        let own = Catalogue::own();
        for (name, hardware) in [
            ("benchmark-infer-amp-nchw-pt291-cu128-5090.csv", "GeForce RTX 5090"),
            ("held-out-benchmark-infer-amp-nchw-pt291-cu128-4090.csv", "GeForce RTX 4090"),
            ("benchmark-infer-amp-nchw-pt240-cu124-rtx3090 (1).csv", "GeForce RTX 3090"),
            ("benchmark-infer-amp-nhwc-pt291-rocm64-mi300x.csv", "Instinct MI300X"),
            ("benchmark-infer-amp-nchw-pt291-cu128-5090-b1.csv", "GeForce RTX 5090"),
            ("benchmark_infer_bfloat16_nchw_pt291_cu128_rtx_4090.csv", "GeForce RTX 4090"),
            (
                "benchmark-infer-amp-nchw-pt291-cu128-pro6000maxq.csv",
                "RTX PRO 6000 Blackwell Max-Q",
            ),
        ] {
            assert_eq!(Setting::of(name, &own).hardware.as_deref(), Some(hardware), "{name}");
        }
        let of = |name: &str| Setting::of(name, &own).precision;
        assert_eq!(of("benchmark-infer-bfloat16-nchw-5090.csv"), "bf16");
        assert_eq!(of("benchmark-infer-amp_bf16-nchw-5090.csv"), "bf16");
        let unknown = Setting::of("benchmark-infer-amp-nchw-pt240-cu124-rx9999.csv", &own);
        assert_eq!(unknown.hardware.as_deref(), Some("rx9999"));
    }
}
