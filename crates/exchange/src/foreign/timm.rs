//! The tables that timm's `benchmark.py` writes: one row per model, one number each, no samples.

use super::{agree, stem};
use crate::{
    Problem,
    draft::{Draft, MachineFacts},
    import::Found,
    table::Table,
};
use types::{
    Category, Device, Loss, Mode, Optimizer, Phase, Precision, Rate, ReasonCode, Stated, Training,
    Weights,
};

/// Milliseconds as a share of a second.
const MILLI: f64 = 1e-3;
/// Parameters are counted in millions.
const PARAMETERS: f64 = 1e6;
/// Multiply-adds in a `gmac`; each is two operations.
const GIGA: f64 = 1e9;

/// One row is an inference, a training, or both.
pub(crate) fn timm(text: &str, name: &str) -> Result<Found, Problem> {
    let table = Table::new(text.as_bytes())?;
    let header = table.names.clone();
    let names: Vec<&str> = header.iter().map(String::as_str).collect();
    if !names.contains(&"model") {
        return Err(Problem::line(
            1,
            "has no column `model`: is it a table of timm's `benchmark.py`?",
        ));
    }
    let modes: Vec<(&str, Mode)> =
        [("infer_", Mode::Inference), ("train_", Mode::Training), ("", Mode::Inference)]
            .into_iter()
            .filter(|(prefix, _)| names.contains(&format!("{prefix}samples_per_sec").as_str()))
            .collect();
    if modes.is_empty() {
        return Err(Problem::line(
            1,
            "has no column `infer_samples_per_sec` or `train_samples_per_sec`",
        ));
    }
    let setting = Setting::of(name);
    let mut found = Found::default();
    for record in table {
        let (line, record) = match record {
            Ok(record) => record,
            Err(problem) => {
                found.problem(problem);
                continue;
            }
        };
        let row = Row { line, names: &names, cells: &record };
        for (prefix, mode) in &modes {
            found.add(draft(&row, prefix, *mode, &setting));
        }
        if found.is_full() {
            break;
        }
    }
    Ok(found)
}

struct Row<'a> {
    line: u64,
    names: &'a [&'a str],
    cells: &'a csv::StringRecord,
}

impl Row<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        let at = self.names.iter().position(|found| *found == name)?;
        self.cells.get(at).map(str::trim).filter(|text| !text.is_empty())
    }

    fn number(&self, name: &str) -> Result<Option<f64>, Problem> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let complain = |what: String| Problem::cell(self.line, name, what);
        let number: f64 =
            text.parse().map_err(|_| complain(format!("is `{text}`, not a number")))?;
        if number.is_finite() && number >= 0.0 {
            Ok(Some(number))
        } else {
            Err(complain(format!("is {number}, which is not possible")))
        }
    }

    fn need(&self, name: &str) -> Result<f64, Problem> {
        let number = self.number(name)?.filter(|number| *number > 0.0);
        number.ok_or_else(|| Problem::cell(self.line, name, "is empty or 0"))
    }
}

fn draft(row: &Row<'_>, prefix: &str, mode: Mode, setting: &Setting) -> Result<Draft, Problem> {
    let of = |name: &str| format!("{prefix}{name}");
    let model = row.text("model").ok_or_else(|| Problem::cell(row.line, "model", "is empty"))?;
    let rate = row.need(&of("samples_per_sec"))?;
    let batch = row.need(&of("batch_size"))?;
    let step = row.number(&of("step_time"))?.filter(|step| *step > 0.0).map(|step| step * MILLI);
    if let Some(step) = step.filter(|step| !agree(batch / step, rate)) {
        let what = format!(
            "is {} ms for {batch} samples, but {rate} samples per second were stated: wrong units?",
            step / MILLI
        );
        return Err(Problem::cell(row.line, &of("step_time"), what));
    }
    let size = row.number(&of("img_size"))?;
    let mut draft = Draft {
        tool: "timm".into(),
        version: None,
        model: Some(model.to_owned()),
        architecture: Some(model.split(['.', '_']).next().unwrap_or(model).to_owned()),
        category: Some(Category::Vision),
        parameters: row
            .number("param_count")?
            .filter(|count| *count > 0.0)
            .map(|count| (count * PARAMETERS) as u64),
        weights: Some(Weights::Random { seed: 0 }),
        engine: "torch".into(),
        engine_version: setting.torch.clone(),
        placement: Some(setting.placement.clone()),
        device: setting.device,
        precision: setting.precision,
        batch_size: Some(batch as u64),
        mode,
        machine: MachineFacts {
            cpu: setting.cpu.clone(),
            gpus: setting.gpu.clone().into_iter().collect(),
            ..MachineFacts::default()
        },
        ..Draft::default()
    };
    if mode == Mode::Training {
        draft.training = Some(Training {
            optimizer: Optimizer::Sgd,
            loss: Loss::CrossEntropy,
            learning_rate: Rate(1e-4),
            accumulation: 1,
            checkpointing: false,
            world_size: 1,
        });
    }
    draft.flops = row
        .number(&of("gmacs"))?
        .filter(|gmacs| *gmacs > 0.0)
        .map(|gmacs| gmacs * GIGA * 2.0 * batch);
    if let Some(size) = size {
        draft.options.settings.insert("image_size".into(), size.to_string());
    }
    if let Some(layout) = &setting.layout {
        draft.options.settings.insert("layout".into(), layout.clone());
    }
    draft.options.compile = setting.compiled.then(|| "default".to_owned());
    let phase = if mode == Mode::Training { Phase::Total } else { Phase::Inference };
    draft
        .stated
        .insert(phase, Stated { mean: Some(step.unwrap_or(batch / rate)), ..Stated::default() });
    draft.rate("throughput.samples", rate);
    draft.rate("throughput.images", rate);
    if let Some(assumed) = &setting.assumed {
        draft.remark(ReasonCode::Assumption, assumed.clone());
    }
    Ok(draft)
}

/// What a table's name says: `benchmark-infer-amp-nhwc-pt240-cu124-rtx4090-dynamo.csv`.
struct Setting {
    precision: Option<Precision>,
    layout: Option<String>,
    torch: Option<String>,
    placement: String,
    device: Option<Device>,
    cpu: Option<String>,
    gpu: Option<String>,
    compiled: bool,
    assumed: Option<String>,
}

impl Setting {
    fn of(name: &str) -> Setting {
        let stem = stem(name).to_ascii_lowercase();
        // The older tables have underscores between their words, the newer ones inside them.
        let words: Vec<&str> =
            if stem.contains('-') { stem.split('-').collect() } else { stem.split('_').collect() };
        let precision = words.iter().find_map(|word| match *word {
            "amp" | "amp_fp16" => Some(Precision::Fp16),
            "amp_bf16" => Some(Precision::Bf16),
            word => word.parse().ok(),
        });
        let torch = words.iter().find_map(|word| dotted(word.strip_prefix("pt")?));
        let cuda = words
            .iter()
            .any(|word| word.strip_prefix("cu").is_some_and(|rest| dotted(rest).is_some()));
        let is_cpu = words.contains(&"cpu");
        let hardware = words.iter().rev().find(|word| **word != "dynamo" && is_hardware(word));
        let hardware = hardware.map(|word| (*word).to_owned());
        let device = match (is_cpu, cuda || hardware.is_some()) {
            (true, _) => Some(Device::Cpu),
            (false, true) => Some(Device::Cuda(0)),
            (false, false) => None,
        };
        let assumed = (precision.is_none() || device.is_none()).then(|| {
            "the table's name does not state device and precision, as the names of timm's own tables do"
                .to_owned()
        });
        Setting {
            precision,
            layout: words
                .iter()
                .find(|word| matches!(**word, "nchw" | "nhwc"))
                .map(|word| (*word).to_owned()),
            torch,
            placement: hardware.clone().unwrap_or_else(|| crate::draft::UNKNOWN.into()),
            device,
            cpu: hardware.clone().filter(|_| is_cpu),
            gpu: hardware.filter(|_| !is_cpu),
            compiled: words.contains(&"dynamo"),
            assumed,
        }
    }
}

/// `2.4.0` of `240`.
fn dotted(digits: &str) -> Option<String> {
    let all = !digits.is_empty() && digits.len() <= 4 && digits.chars().all(|c| c.is_ascii_digit());
    let letters: Vec<String> = digits.chars().map(String::from).collect();
    all.then(|| letters.join("."))
}

/// A word with letters and digits that is none of those that mean something else.
fn is_hardware(word: &str) -> bool {
    let other = word.parse::<Precision>().is_ok()
        || ["pt", "cu"].iter().any(|prefix| word.strip_prefix(prefix).and_then(dotted).is_some())
        || word.starts_with("amp");
    !other && word.chars().any(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_described_by_its_name() {
        let newer = Setting::of("results/benchmark-infer-amp-nchw-pt240-cu124-rtx4090-dynamo.csv");
        assert_eq!((newer.precision, newer.device), (Some(Precision::Fp16), Some(Device::Cuda(0))));
        assert_eq!(
            (newer.torch.as_deref(), newer.gpu.as_deref()),
            (Some("2.4.0"), Some("rtx4090"))
        );
        assert!(newer.compiled && newer.assumed.is_none());
        let older = Setting::of("model_benchmark_amp_nchw_rtx3090.csv");
        assert_eq!((older.device, older.gpu.as_deref()), (Some(Device::Cuda(0)), Some("rtx3090")));
        let cpu = Setting::of("benchmark-infer-fp32-nchw-pt240-cpu-i9_10940x-dynamo.csv");
        assert_eq!((cpu.device, cpu.cpu.as_deref()), (Some(Device::Cpu), Some("i9_10940x")));
        let bare = Setting::of("benchmark.csv");
        assert_eq!((bare.device, bare.precision), (None, None));
        assert!(bare.assumed.is_some());
    }
}
