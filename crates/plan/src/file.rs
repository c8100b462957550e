//! A plan as a file of TOML, and what is said of one that is not right.

use crate::{PlanError, PlanSpec};
use exchange::bounds::{BY_HAND, read_text};
use models::{PRESETS, Preset};
use serde::{Deserialize, Deserializer, Serialize, de};
use std::{collections::BTreeSet, path::Path, time::Duration};
use types::{Device, Mode, Precision, nearest, parse_duration};

/// Every setting of a plan, for the one that was meant.
const SETTINGS: [&str; 25] = [
    "name",
    "models",
    "categories",
    "all",
    "engines",
    "devices",
    "precisions",
    "batch-sizes",
    "sequence-lengths",
    "threads",
    "modes",
    "prompt-tokens",
    "new-tokens",
    "depths",
    "processes",
    "seed",
    "limit",
    "runs",
    "warmup",
    "duration",
    "target-error",
    "timeout",
    "repeats",
    "tags",
    "skip",
];

/// Every setting of a combination that is not wanted.
const SKIP_SETTINGS: [&str; 7] =
    ["model", "engine", "device", "precision", "batch-size", "sequence-length", "mode"];

/// A plan's file. What is not set is the usual.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PlanFile {
    /// The plan's name; that of the file where there is none.
    pub name: Option<String>,
    /// The models.
    #[serde(default)]
    pub models: Vec<String>,
    /// All models of these categories.
    #[serde(default)]
    pub categories: Vec<String>,
    /// All models that are known by name.
    #[serde(default)]
    pub all: bool,
    /// The engines.
    #[serde(default)]
    pub engines: Vec<String>,
    /// The devices.
    #[serde(default)]
    pub devices: Vec<Device>,
    /// The number formats.
    #[serde(default, deserialize_with = "precisions")]
    pub precisions: Vec<Precision>,
    /// Samples in one inference.
    #[serde(default)]
    pub batch_sizes: Vec<usize>,
    /// Tokens in each sample.
    #[serde(default)]
    pub sequence_lengths: Vec<usize>,
    /// Threads the engines may use.
    #[serde(default)]
    pub threads: Vec<u32>,
    /// Inference, training, generating, or several of them.
    #[serde(default)]
    pub modes: Vec<Mode>,
    /// Tokens of the prompts that are read, for generating.
    #[serde(default)]
    pub prompt_tokens: Vec<usize>,
    /// Tokens that are generated.
    #[serde(default)]
    pub new_tokens: Vec<usize>,
    /// Tokens that are in the cache before.
    #[serde(default)]
    pub depths: Vec<usize>,
    /// Fresh processes that measure each cell.
    pub processes: Option<u32>,
    /// Seed of weights, inputs and the order.
    pub seed: Option<u64>,
    /// At most so many cells.
    pub limit: Option<usize>,
    /// Exactly so many samples in each process.
    pub runs: Option<u64>,
    /// Exactly so many runs to warm up.
    pub warmup: Option<u64>,
    /// How long each process samples.
    #[serde(default, deserialize_with = "duration")]
    pub duration: Option<Duration>,
    /// The share of the median that is near enough.
    pub target_error: Option<f64>,
    /// The longest a worker may stay silent.
    #[serde(default, deserialize_with = "duration")]
    pub timeout: Option<Duration>,
    /// How often a process that was disturbed is repeated at the end.
    pub repeats: Option<u32>,
    /// Labels of the stored runs.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Combinations that are not wanted.
    #[serde(default)]
    pub skip: Vec<SkipEntry>,
}

/// A combination that is not wanted: everything that is set must be so.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SkipEntry {
    /// The model.
    pub model: Option<String>,
    /// The engine.
    pub engine: Option<String>,
    /// The device.
    pub device: Option<Device>,
    /// The number format.
    #[serde(default, deserialize_with = "precision")]
    pub precision: Option<Precision>,
    /// Samples in one inference.
    pub batch_size: Option<usize>,
    /// Tokens in each sample.
    pub sequence_length: Option<usize>,
    /// Inference or training.
    pub mode: Option<Mode>,
}

impl PlanFile {
    /// Reads a plan.
    ///
    /// # Errors
    /// Where it cannot be read or is not a plan: which line, and what may have been meant.
    pub fn read(path: &Path) -> Result<PlanFile, PlanError> {
        let text = read_text(path, BY_HAND).map_err(|error| PlanError::Wrong {
            path: Some(path.to_owned()),
            line: None,
            why: match error.kind() {
                std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
                _ => format!("it cannot be read: {error}"),
            },
            hint: Some("`modelmeter bench MODEL` measures a model without a plan".to_owned()),
        })?;
        let mut file = PlanFile::parse(&text).map_err(|error| match error {
            PlanError::Wrong { line, why, hint, .. } => {
                PlanError::Wrong { path: Some(path.to_owned()), line, why, hint }
            }
            other => other,
        })?;
        if file.name.is_none() {
            file.name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        }
        Ok(file)
    }

    /// Reads the text of a plan.
    ///
    /// # Errors
    /// As [`PlanFile::read`].
    pub fn parse(text: &str) -> Result<PlanFile, PlanError> {
        toml::from_str(text).map_err(|error| located(text, &error))
    }

    /// The plan of this file; `engine_id` knows the other names of engines.
    ///
    /// # Errors
    /// Where a category is unknown.
    pub fn spec(&self, engine_id: impl Fn(&str) -> &str) -> Result<PlanSpec, PlanError> {
        let usual = PlanSpec::default();
        Ok(PlanSpec {
            name: self.name.clone().unwrap_or_default(),
            models: models(&self.models, &self.categories, self.all)?,
            engines: self.engines.iter().map(|name| engine_id(name).to_owned()).collect(),
            devices: self.devices.clone(),
            precisions: self.precisions.clone(),
            batch_sizes: self.batch_sizes.clone(),
            sequence_lengths: self.sequence_lengths.clone(),
            threads: self.threads.clone(),
            modes: if self.modes.is_empty() { usual.modes } else { self.modes.clone() },
            prompt_tokens: self.prompt_tokens.clone(),
            new_tokens: self.new_tokens.clone(),
            depths: self.depths.clone(),
            processes: self.processes.unwrap_or(usual.processes),
            seed: self.seed.unwrap_or(usual.seed),
            limit: self.limit,
            skip: self.skip.clone(),
        })
    }
}

impl PlanSpec {
    /// Names, categories and all, as one list of models without repetition.
    ///
    /// # Errors
    /// Where a category is unknown.
    pub fn models_of(
        names: &[String],
        categories: &[String],
        all: bool,
    ) -> Result<Vec<String>, PlanError> {
        models(names, categories, all)
    }
}

fn models(names: &[String], categories: &[String], all: bool) -> Result<Vec<String>, PlanError> {
    let known: BTreeSet<&str> = PRESETS.iter().map(|preset| preset.category.name()).collect();
    if let Some(wrong) = categories.iter().find(|category| !known.contains(category.as_str())) {
        let known: Vec<&str> = known.into_iter().collect();
        let hint = format!("categories are {}", known.join(", "));
        return Err(PlanError::wrong(format!("no model has the category `{wrong}`"), Some(hint)));
    }
    let wanted = |category: &str| all || categories.iter().any(|wanted| wanted == category);
    let presets = PRESETS.iter().filter(|preset| wanted(preset.category.name()));
    let mut models: Vec<String> = Vec::new();
    for name in names.iter().cloned().chain(presets.map(|preset| preset.name.to_owned())) {
        // An alias is the same model.
        let called = |name: &str| Preset::find(name).map(|preset| preset.name);
        let is_same = |known: &String| {
            *known == name || called(known).is_some_and(|known| called(&name) == Some(known))
        };
        if !models.iter().any(is_same) {
            models.push(name);
        }
    }
    Ok(models)
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_duration(&text).map(Some).map_err(de::Error::custom)
}

fn precisions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Precision>, D::Error> {
    let words = Vec::<String>::deserialize(deserializer)?;
    words.iter().map(|word| word.parse().map_err(de::Error::custom)).collect()
}

fn precision<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Precision>, D::Error> {
    let word = String::deserialize(deserializer)?;
    word.parse().map(Some).map_err(de::Error::custom)
}

/// What the parser found, with its line and what may have been meant.
fn located(text: &str, error: &toml::de::Error) -> PlanError {
    let span = error.span().unwrap_or(0..0);
    let line = text[..span.start.min(text.len())].matches('\n').count() + 1;
    let typed = text.get(span).map(|typed| typed.trim_matches('"').to_owned());
    let unknown = typed.filter(|_| error.message().starts_with("unknown field"));
    let (why, hint) = match unknown {
        Some(typed) => {
            let hint = match nearest(&typed, SETTINGS.into_iter().chain(SKIP_SETTINGS)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("a plan has `{}`", SETTINGS.join("`, `")),
            };
            (format!("there is no setting `{typed}`"), hint)
        }
        None => {
            // The parser speaks of Rust's types.
            let plain = error
                .message()
                .replace("expected usize", "expected a whole number")
                .replace("expected u32", "expected a whole number")
                .replace("expected u64", "expected a whole number")
                .replace("expected a sequence", "expected a list, such as [1, 8]")
                .replace("expected f64", "expected a number");
            (plain, "docs/PLANS.md shows every setting".to_owned())
        }
    };
    PlanError::Wrong { path: None, line: Some(line), why, hint: Some(hint) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (Option<usize>, String, String) {
        match PlanFile::parse(text).unwrap_err() {
            PlanError::Wrong { line, why, hint, .. } => (line, why, hint.unwrap_or_default()),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_plan_says_what_to_measure() {
        let text = "models = [\"gpt2\", \"vit-base\"]\nengines = [\"rten\"]\nprecisions = [\"fp32\", \"int8\"]\n\
                    batch-sizes = [1, 8]\nmodes = [\"inference\", \"training\"]\nduration = \"500ms\"\n\
                    [[skip]]\nmodel = \"gpt2\"\nprecision = \"int8\"\n";
        let file = PlanFile::parse(text).unwrap();
        assert_eq!(file.duration, Some(Duration::from_millis(500)));
        let spec = file.spec(|name| name).unwrap();
        assert_eq!(spec.precisions, [Precision::Fp32, Precision::Int8]);
        assert_eq!(spec.modes, [Mode::Inference, Mode::Training]);
        assert_eq!(spec.skip[0].precision, Some(Precision::Int8));
        assert_eq!(spec.processes, 3);
    }

    #[test]
    fn a_typo_is_told_with_its_line_and_what_was_meant() {
        let (line, why, hint) = refused("models = [\"gpt2\"]\n\nbatchsizes = [1]\n");
        assert_eq!((line, why.as_str()), (Some(3), "there is no setting `batchsizes`"));
        assert_eq!(hint, "did you mean `batch-sizes`?");
        let (line, why, _) = refused("batch-sizes = 4\n");
        assert_eq!(line, Some(1));
        assert!(why.contains("expected a list"), "{why}");
        let (line, why, _) = refused("models = []\nprecisions = [\"fp23\"]\n");
        assert_eq!(line, Some(2));
        assert!(why.contains("fp23"), "{why}");
        let (line, ..) = refused("models = [\"gpt2\"\nengines = [\n");
        assert!(line.is_some());
        let (_, why, _) = refused("duration = \"soon\"\n");
        assert!(why.contains("`soon`"), "{why}");
    }

    #[test]
    fn categories_and_all_become_names_once() {
        let names = ["vit-base".to_owned()];
        let categories = ["vision".to_owned(), "text".to_owned()];
        let vision = PlanSpec::models_of(&names, &categories, false).unwrap();
        assert!(vision.len() > 2, "{vision:?}");
        let vit = |name: &&String| {
            Preset::find(name).map(|p| p.name) == Preset::find("vit").map(|p| p.name)
        };
        assert_eq!(vision.iter().filter(vit).collect::<Vec<_>>(), ["vit-base"]);
        assert_eq!(PlanSpec::models_of(&[], &[], true).unwrap().len(), PRESETS.len());
        assert!(PlanSpec::models_of(&[], &["sculpture".into()], false).is_err());
    }
}
