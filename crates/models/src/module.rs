//! A built model as a framework's module: the same class, the same configuration, the very weights of our graph.

use crate::{Blueprint, Layout, Origin, Weight, data_file::DATA_FILE};
use std::path::Path;
use types::{Module, ModuleTensor, ModuleWeights};

/// How PyTorch makes this model; `onnx` is the prepared graph that lies beside its weights.
pub(crate) fn of_blueprint(blueprint: &Blueprint, onnx: &Path) -> Module {
    let weights = ModuleWeights {
        file: onnx.with_file_name(DATA_FILE),
        tensors: blueprint.weights.iter().map(tensor).collect(),
    };
    match &blueprint.origin {
        Origin::Transformers { class, config } => {
            Module::Transformers { class: class.clone(), config: config.to_string(), weights }
        }
        Origin::Encoder(config) => Module::Encoder { config: json(config), weights },
        Origin::FeedForward(config) => Module::FeedForward { config: json(config), weights },
    }
}

/// Modules are called differently by the versions of `transformers`, and checkpoints keep their old names, so what a
/// checkpoint may call a weight is also what a module may call it.
fn tensor(weight: &Weight) -> ModuleTensor {
    let mut names = vec![weight.name.clone()];
    names.extend(weight.checkpoint.iter().filter(|name| **name != weight.name).cloned());
    ModuleTensor {
        names,
        stored: weight.name.clone(),
        transposed: weight.layout == Layout::Transposed,
    }
}

fn json(config: &impl serde::Serialize) -> String {
    serde_json::to_string(config).expect("names and numbers are valid JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PRESETS, build_feed_forward};
    use std::collections::BTreeSet;

    fn module(blueprint: &Blueprint) -> Module {
        of_blueprint(blueprint, Path::new("prepared/model.onnx"))
    }

    #[test]
    fn every_preset_says_which_class_it_is() {
        let classes: Vec<String> = PRESETS
            .iter()
            .map(|preset| match module(&preset.blueprint().unwrap()) {
                Module::Transformers { class, .. } => class,
                Module::Encoder { .. } => "encoder".into(),
                Module::FeedForward { .. } => "feed-forward".into(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(
            classes,
            [
                "BertModel",
                "DistilBertModel",
                "BertModel",
                "BertModel",
                "RobertaModel",
                "GPT2LMHeadModel",
                "T5ForConditionalGeneration",
                "LlamaForCausalLM",
                "ViTForImageClassification",
                "ResNetForImageClassification",
                "YolosForObjectDetection",
                "Wav2Vec2Model",
                "WhisperEncoder",
                "CLIPModel",
                "encoder",
                "encoder",
                "feed-forward",
                "encoder",
                "encoder",
            ]
        );
    }

    #[test]
    fn every_weight_is_there_once_under_the_name_the_file_has() {
        for preset in PRESETS {
            let blueprint = preset.blueprint().unwrap();
            let (Module::Transformers { weights, .. }
            | Module::Encoder { weights, .. }
            | Module::FeedForward { weights, .. }) = module(&blueprint)
            else {
                panic!("{} has no weights", preset.name)
            };
            assert_eq!(weights.file, Path::new("prepared/model.safetensors.data"));
            let stored: BTreeSet<&str> =
                weights.tensors.iter().map(|tensor| tensor.stored.as_str()).collect();
            assert_eq!(stored.len(), blueprint.weights.len());
            assert!(weights.tensors.iter().all(|tensor| tensor.names[0] == tensor.stored));
        }
    }

    #[test]
    fn the_configuration_has_the_keys_of_a_description() {
        let config =
            crate::FeedForwardConfig { input_size: 4, hidden_layers: vec![8], output_size: 2 };
        let Module::FeedForward { config, weights } = module(&build_feed_forward(&config).unwrap())
        else {
            panic!("another kind")
        };
        assert_eq!(config, r#"{"input_size":4,"hidden_layers":[8],"output_size":2}"#);
        assert!(weights.tensors[0].transposed && !weights.tensors[1].transposed);
    }
}
