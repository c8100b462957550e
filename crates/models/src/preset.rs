//! The models that are known by name: one list, walked by resolution, help, `modelmeter models` and the tests.

use crate::{Blueprint, ModelError, architecture, description};
use std::path::Path;
use types::{Category, Postprocess, likeness, near_by};

/// A model that is known by name and runs without any file.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// Its name: the hub's, or ours for the reference models.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// What it is for.
    pub category: Category,
    /// What turns its outputs into an answer, where the architecture alone does not say.
    pub postprocess: Option<Postprocess>,
    recipe: Recipe,
}

/// How a preset is built.
#[derive(Debug, Clone, Copy)]
enum Recipe {
    /// The hub's `config.json`; trained weights exist there.
    Hub {
        /// Names of the repository, newest last; old ones still lead there.
        repositories: &'static [&'static str],
        config: &'static str,
    },
    /// A TOML description; there are no trained weights.
    Description(&'static str),
}

macro_rules! hub {
    ($name:literal, $repositories:expr, $aliases:expr, $category:ident, $file:literal) => {
        Preset {
            name: $name,
            aliases: $aliases,
            category: Category::$category,
            postprocess: None,
            recipe: Recipe::Hub {
                repositories: $repositories,
                config: include_str!(concat!("preset/", $file, ".json")),
            },
        }
    };
}

macro_rules! reference {
    ($name:literal) => {
        Preset {
            name: $name,
            aliases: &[],
            category: Category::Reference,
            postprocess: None,
            recipe: Recipe::Description(include_str!(concat!("preset/", $name, ".toml"))),
        }
    };
}

/// Every preset.
pub const PRESETS: &[Preset] = &[
    hub!(
        "bert-base-uncased",
        &["bert-base-uncased", "google-bert/bert-base-uncased"],
        &["bert", "bert-base", "google-bert/bert-base-uncased"],
        Text,
        "bert-base-uncased"
    ),
    hub!(
        "distilbert-base-uncased",
        &["distilbert-base-uncased", "distilbert/distilbert-base-uncased"],
        &["distilbert", "distilbert/distilbert-base-uncased"],
        Text,
        "distilbert-base-uncased"
    ),
    hub!(
        "microsoft/MiniLM-L12-H384-uncased",
        &["microsoft/MiniLM-L12-H384-uncased"],
        &["MiniLM-L12-H384-uncased"],
        Text,
        "minilm-l12-h384-uncased"
    ),
    Preset {
        postprocess: Some(Postprocess::MeanPool),
        ..hub!(
            "sentence-transformers/all-MiniLM-L6-v2",
            &["sentence-transformers/all-MiniLM-L6-v2"],
            &["minilm", "all-MiniLM-L6-v2"],
            Text,
            "all-minilm-l6-v2"
        )
    },
    hub!(
        "roberta-base",
        &["roberta-base", "FacebookAI/roberta-base"],
        &["roberta", "FacebookAI/roberta-base"],
        Text,
        "roberta-base"
    ),
    hub!(
        "gpt2",
        &["gpt2", "openai-community/gpt2"],
        &["gpt-2", "openai-community/gpt2"],
        Generation,
        "gpt2"
    ),
    hub!(
        "t5-small",
        &["t5-small", "google-t5/t5-small"],
        &["t5", "google-t5/t5-small"],
        Generation,
        "t5-small"
    ),
    hub!(
        "HuggingFaceTB/SmolLM2-135M",
        &["HuggingFaceTB/SmolLM2-135M"],
        &["smollm2-135m", "smollm2", "smollm"],
        Generation,
        "smollm2-135m"
    ),
    hub!(
        "google/vit-base-patch16-224",
        &["google/vit-base-patch16-224"],
        &["vit-base", "vit", "vit-base-patch16-224"],
        Vision,
        "vit-base-patch16-224"
    ),
    hub!(
        "microsoft/resnet-50",
        &["microsoft/resnet-50"],
        &["resnet50", "resnet-50", "resnet"],
        Vision,
        "resnet-50"
    ),
    hub!(
        "hustvl/yolos-tiny",
        &["hustvl/yolos-tiny"],
        &["yolos-tiny", "yolos"],
        Vision,
        "yolos-tiny"
    ),
    hub!(
        "facebook/wav2vec2-base",
        &["facebook/wav2vec2-base"],
        &["wav2vec2-base", "wav2vec2"],
        Audio,
        "wav2vec2-base"
    ),
    hub!(
        "openai/whisper-tiny",
        &["openai/whisper-tiny"],
        &["whisper-tiny", "whisper"],
        Audio,
        "whisper-tiny"
    ),
    hub!(
        "openai/clip-vit-base-patch32",
        &["openai/clip-vit-base-patch32"],
        &["clip", "clip-vit-base-patch32"],
        Multimodal,
        "clip-vit-base-patch32"
    ),
    reference!("small-transformer"),
    reference!("medium-transformer"),
    reference!("feed-forward-baseline"),
    reference!("encoder-small"),
    reference!("encoder-medium"),
];

impl Preset {
    /// The preset with this name or alias; upper and lower case are the same.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Preset> {
        let called = |other: &str| other.eq_ignore_ascii_case(name);
        PRESETS
            .iter()
            .find(|preset| called(preset.name) || preset.aliases.iter().any(|alias| called(alias)))
    }

    /// Names of its repository on the hub; none for a reference model.
    pub(crate) fn repositories(&self) -> &'static [&'static str] {
        match self.recipe {
            Recipe::Hub { repositories, .. } => repositories,
            Recipe::Description(_) => &[],
        }
    }

    /// The class that is built; trained weights may have been saved with another head.
    pub(crate) fn config(&self) -> Option<serde_json::Value> {
        let Recipe::Hub { config, .. } = self.recipe else { return None };
        Some(serde_json::from_str(config).expect("the tests build every preset"))
    }

    /// Its graph, and the weights that it needs.
    pub(crate) fn blueprint(&self) -> Result<Blueprint, ModelError> {
        let mut blueprint = match self.recipe {
            Recipe::Hub { .. } => {
                architecture::build(&self.config().unwrap_or_default()).map_err(|source| {
                    ModelError::Architecture { name: self.name.to_owned(), source }
                })?
            }
            Recipe::Description(text) => description::build(Path::new(self.name), text)?,
        };
        blueprint.category = self.category;
        if let Some(postprocess) = self.postprocess {
            blueprint.postprocess = postprocess;
        }
        Ok(blueprint)
    }
}

/// The names nearest to one that is unknown, best first.
pub(crate) fn near_names(name: &str) -> Vec<String> {
    let alike = |known: &str| {
        // A repository's owner is easily forgotten.
        let short = known.rsplit('/').next().unwrap_or(known);
        likeness(known, name).max(likeness(short, name))
    };
    let of_preset = |preset: &Preset| {
        let names = std::iter::once(&preset.name).chain(preset.aliases);
        (names.map(|name| alike(name)).fold(0.0, f64::max), preset.name.to_owned())
    };
    near_by(PRESETS.iter().map(of_preset))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_two_presets_share_a_name() {
        let mut seen = HashSet::new();
        for preset in PRESETS {
            for name in std::iter::once(&preset.name).chain(preset.aliases) {
                assert!(seen.insert(name.to_ascii_lowercase()), "`{name}` is there twice");
            }
        }
    }

    #[test]
    fn names_and_aliases_lead_to_the_preset() {
        for (alias, name) in [
            ("bert", "bert-base-uncased"),
            ("distilbert", "distilbert-base-uncased"),
            ("gpt-2", "gpt2"),
            ("clip", "openai/clip-vit-base-patch32"),
            ("minilm", "sentence-transformers/all-MiniLM-L6-v2"),
            ("vit-base", "google/vit-base-patch16-224"),
            ("T5-Small", "t5-small"),
            ("resnet50", "microsoft/resnet-50"),
            ("whisper", "openai/whisper-tiny"),
        ] {
            assert_eq!(Preset::find(alias).unwrap().name, name);
        }
        assert!(Preset::find("abacus").is_none());
    }

    #[test]
    fn a_mistyped_name_finds_its_neighbours() {
        assert_eq!(near_names("distilbert-base-uncasd")[0], "distilbert-base-uncased");
        assert_eq!(near_names("vit-bsae")[0], "google/vit-base-patch16-224");
        assert!(near_names("zzzzzzzzzzzz").is_empty());
    }
}
