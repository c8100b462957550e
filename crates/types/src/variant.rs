//! Settings of a cell that have no column of their own: options, inputs, training.
//!
//! It is stored and compared as canonical JSON, never as the words that people see: rewording must not split a history.

use crate::{
    Category, EngineOptions, Generation, InputShape, InputValues, LengthUnit, Load, MediaSource,
    Run, Sampling, Training, ValueSource,
};
use serde::{Deserialize, Serialize};

/// Settings of a cell that have no column of their own; all default by default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Variant {
    /// The options of the engine.
    #[serde(skip_serializing_if = "EngineOptions::is_default")]
    pub options: EngineOptions,
    /// Whether text is tokenised in every sample.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub text: bool,
    /// Shapes the user fixed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<InputShape>,
    /// Values the user gave.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<VariantValues>,
    /// The hash over pictures or recordings that are made ready in every sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<String>,
    /// What its length counts.
    #[serde(skip_serializing_if = "LengthUnit::is_tokens")]
    pub length_unit: LengthUnit,
    /// How it is trained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub training: Option<Training>,
    /// Whether the input shapes were not recorded, so that its length is unknown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shapes_unrecorded: bool,
    /// Fields of the cell that another tool did not report; their values are placeholders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub untold: Vec<Untold>,
    /// What is measured of generating.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<Generation>,
    /// Who asks when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
}

/// Values the user gave for one input; a file counts by its content, wherever it lies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "from")]
pub enum VariantValues {
    /// Drawn from a range.
    Range {
        /// The input.
        name: String,
        /// The range: `0..255`.
        range: String,
    },
    /// Read from a file.
    File {
        /// The input.
        name: String,
        /// The hash over its content.
        hash: String,
    },
}

/// A part of a cell that another tool may not report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Untold {
    /// Where it ran.
    Device,
    /// The number format.
    Precision,
    /// Samples in one inference.
    Batch,
}

impl Untold {
    const ALL: [(Untold, &'static str, &'static str); 3] = [
        (Untold::Device, "cell.device", "device"),
        (Untold::Precision, "cell.precision", "precision"),
        (Untold::Batch, "cell.batch_size", "batch"),
    ];

    fn name(self) -> &'static str {
        Untold::ALL.iter().find(|(one, ..)| *one == self).map_or("", |(.., name)| name)
    }
}

/// How many digits of a hash people see.
const DIGITS: usize = 8;

impl Variant {
    /// The variant of a run.
    #[must_use]
    pub fn of(run: &Run) -> Variant {
        let cell = &run.cell;
        Variant {
            // Whether a pickle may be read does not change the work.
            options: EngineOptions { allow_pickle: false, ..cell.options.clone() },
            text: cell.text.is_some(),
            inputs: cell.inputs.clone(),
            values: cell.feed.values.iter().map(VariantValues::of).collect(),
            media: cell.feed.media.as_ref().map(|MediaSource { hash, .. }| hash.clone()),
            length_unit: match cell.sequence_length {
                Some(_) => cell.feed.length_unit,
                None => LengthUnit::default(),
            },
            training: cell.training,
            shapes_unrecorded: is_unrecorded(run),
            untold: untold(run),
            generation: cell.generation,
            load: cell.load.clone(),
        }
    }

    /// Its identity: JSON without spaces, fields in the order of the type; empty for the usual.
    #[must_use]
    pub fn canonical(&self) -> String {
        if *self == Variant::default() {
            return String::new();
        }
        serde_json::to_string(self).expect("a variant is strings, numbers and lists")
    }

    /// Reads what [`Variant::canonical`] wrote; `None` if it is something else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Variant> {
        match text {
            "" => Some(Variant::default()),
            text => serde_json::from_str(text).ok(),
        }
    }

    /// What of it is the work and not the way to do it: the test of generating; who asks when, and what.
    #[must_use]
    pub fn work(&self) -> Variant {
        let load = self.load.as_ref();
        Variant {
            generation: self.generation,
            load: load.map(|load| Load { max_in_flight: None, batching: None, ..load.clone() }),
            ..Variant::default()
        }
    }

    /// In words for a table: `compiled, text, adamw`.
    #[must_use]
    pub fn words(&self) -> String {
        self.joined(|training| training.optimizer.to_string())
    }

    /// The words that were its identity before there was a canonical form: CSV files that people keep as baselines hold them.
    #[must_use]
    pub fn former_identity(&self) -> String {
        self.joined(|training| serde_json::to_string(training).unwrap_or_default())
    }

    fn joined(&self, trained: impl Fn(&Training) -> String) -> String {
        let mut words = vec![self.options.to_string()];
        words.extend(self.text.then(|| "text".to_owned()));
        words.extend(self.inputs.iter().map(|input| {
            let dims: Vec<String> = input.dims.iter().map(ToString::to_string).collect();
            format!("{} {}", input.name, dims.join("×"))
        }));
        words.extend(self.values.iter().map(VariantValues::words));
        words.extend(self.media.as_ref().map(|hash| format!("files ({})", short(hash))));
        words.extend(self.length_unit.remark());
        words.extend(self.training.as_ref().map(trained));
        words.extend(self.generation.map(|generation| generation.name()));
        words.extend(
            self.generation
                .map(|generation| generation.sampling)
                .filter(|sampling| *sampling != Sampling::Greedy)
                .map(|sampling| sampling.to_string()),
        );
        words.extend(self.load.as_ref().map(|load| load.scenario.to_string()));
        words.extend(self.shapes_unrecorded.then(|| "input shapes not recorded".to_owned()));
        if !self.untold.is_empty() {
            let names: Vec<&str> = self.untold.iter().map(|part| part.name()).collect();
            words.push(format!("{} not told", names.join(" and ")));
        }
        words.retain(|word| !word.is_empty());
        words.join(", ")
    }
}

impl VariantValues {
    fn of(values: &InputValues) -> VariantValues {
        let name = values.name.clone();
        match &values.source {
            ValueSource::Range { range } => VariantValues::Range { name, range: range.to_string() },
            ValueSource::File { hash, .. } => VariantValues::File { name, hash: hash.clone() },
        }
    }

    fn words(&self) -> String {
        match self {
            VariantValues::Range { name, range } => format!("{name} {range}"),
            VariantValues::File { name, hash } => format!("{name} from a file ({})", short(hash)),
        }
    }
}

fn short(hash: &str) -> &str {
    hash.get(..DIGITS).unwrap_or(hash)
}

/// Before the shapes that really ran were recorded, a length changed the inputs of models without tokens but not their
/// cell: such runs may be of any length and are never put together with newer ones.
fn is_unrecorded(run: &Run) -> bool {
    let cell = &run.cell;
    let follows_length =
        matches!(run.model.category, Category::Audio | Category::Multimodal | Category::Other);
    let is_unknown = run.imported.is_none()
        && run.inputs.is_empty()
        && cell.inputs.is_empty()
        && cell.sequence_length.is_none();
    is_unknown && follows_length
}

/// Fields of the cell that another tool did not report: their values are placeholders, not facts.
fn untold(run: &Run) -> Vec<Untold> {
    let Some(import) = &run.imported else { return Vec::new() };
    let is_untold = |path: &str| import.untold.iter().any(|told| told == path);
    let parts = Untold::ALL.iter().filter(|(_, path, _)| is_untold(path));
    parts.map(|(part, ..)| *part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Loss, Optimizer, Rate};

    fn whole() -> Variant {
        Variant {
            options: EngineOptions {
                compile: Some("default".into()),
                settings: [("b".into(), "2".into()), ("a".into(), "1".into())].into(),
                ..EngineOptions::default()
            },
            text: true,
            inputs: vec![InputShape { name: "x".into(), dims: vec![1, 3] }],
            values: vec![
                VariantValues::Range { name: "ids".into(), range: "0..255".into() },
                VariantValues::File { name: "y".into(), hash: "0123456789ab".into() },
            ],
            media: Some("fedcba987654".into()),
            length_unit: LengthUnit::Frames,
            training: Some(Training {
                optimizer: Optimizer::AdamW,
                loss: Loss::Mse,
                learning_rate: Rate(0.1),
                accumulation: 1,
                checkpointing: false,
                world_size: 1,
            }),
            shapes_unrecorded: true,
            untold: vec![Untold::Device, Untold::Batch],
            generation: None,
            load: None,
        }
    }

    #[test]
    fn the_usual_is_empty_and_everything_else_is_read_back() {
        assert_eq!(Variant::default().canonical(), "");
        assert_eq!(Variant::parse(""), Some(Variant::default()));
        let text = whole().canonical();
        assert_eq!(Variant::parse(&text), Some(whole()));
        assert_eq!(Variant::parse("compiled"), None);
    }

    /// A part of the keys of databases: it may grow, but what is there must not change.
    #[test]
    fn the_identity_is_this_text_and_stays_it() {
        assert_eq!(
            whole().canonical(),
            concat!(
                r#"{"options":{"compile":"default","settings":{"a":"1","b":"2"}},"text":true,"#,
                r#""inputs":[{"name":"x","dims":[1,3]}],"values":[{"from":"range","name":"ids","range":"0..255"},"#,
                r#"{"from":"file","name":"y","hash":"0123456789ab"}],"media":"fedcba987654","length_unit":"frames","#,
                r#""training":{"optimizer":"adamw","loss":"mse","learning_rate":0.1,"accumulation":1,"#,
                r#""checkpointing":false,"world_size":1},"shapes_unrecorded":true,"untold":["device","batch"]}"#
            )
        );
    }

    #[test]
    fn words_are_for_people() {
        assert_eq!(
            whole().words(),
            "compiled, a=1, b=2, text, x 1×3, ids 0..255, y from a file (01234567), files (fedcba98), \
             length in frames, adamw, input shapes not recorded, device and batch not told"
        );
    }
}
