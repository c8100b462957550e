//! Text to token ids with a tokenizer that the test writes.

use crate::scene::Scene;
use models::{ModelError, Tokeniser};

/// WordPiece over a few words, with BERT's special tokens around each text.
const TOKENIZER: &str = r###"{
    "version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [
        {"id": 0, "content": "[PAD]", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}
    ],
    "normalizer": {"type": "Lowercase"},
    "pre_tokenizer": {"type": "Whitespace"},
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
            {"SpecialToken": {"id": "[SEP]", "type_id": 0}}
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {
            "[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
            "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}
        }
    },
    "decoder": null,
    "model": {
        "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
        "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "a": 4, "small": 5, "test": 6, "##s": 7}
    }
}"###;

fn tokeniser(scene: &Scene) -> Tokeniser {
    let json = TOKENIZER;
    Tokeniser::load(&scene.write("tokenizer.json", json)).unwrap()
}

fn texts(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

#[test]
fn rows_are_padded_to_the_longest() {
    let tokeniser = tokeniser(&Scene::new());
    let encoded = tokeniser.encode(&texts(&["A small test", "tests"]), 3, None).unwrap();
    assert_eq!(encoded.length, 5);
    assert_eq!(encoded.ids, [2, 4, 5, 6, 3, 2, 6, 7, 3, 0, 2, 4, 5, 6, 3]);
    assert_eq!(encoded.mask, [1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1]);
    assert_eq!(encoded.types, [0; 15]);
    assert_eq!((encoded.tokens, encoded.padding), (14, 1));
}

#[test]
fn cutting_keeps_the_special_tokens() {
    let tokeniser = tokeniser(&Scene::new());
    let encoded = tokeniser.encode(&texts(&["a small test"]), 1, Some(4)).unwrap();
    assert_eq!((encoded.ids.as_slice(), encoded.cut), ([2, 4, 5, 3].as_slice(), 1));
    let encoded = tokeniser.encode(&texts(&["a"]), 1, Some(6)).unwrap();
    assert_eq!((encoded.ids.as_slice(), encoded.padding), ([2, 4, 3, 0, 0, 0].as_slice(), 3));
    let encoded = tokeniser.encode(&texts(&["a small test"]), 1, Some(1)).unwrap();
    assert_eq!((encoded.ids.as_slice(), encoded.cut), ([2].as_slice(), 4));
    let encoded = tokeniser.encode(&texts(&["a", "small test"]), 2, None).unwrap();
    assert_eq!(encoded.cut, 0);
}

#[test]
fn padding_comes_from_the_configuration_or_the_tokenizer() {
    let scene = Scene::new();
    scene.write("config.json", r#"{"pad_token_id": 5}"#);
    let encoded = tokeniser(&scene).encode(&texts(&["a"]), 1, Some(4)).unwrap();
    assert_eq!(encoded.ids, [2, 4, 3, 5]);
    let padding = r#""padding": {"strategy": "BatchLongest", "direction": "Left", "pad_to_multiple_of": null,
        "pad_id": 1, "pad_type_id": 0, "pad_token": "[UNK]"}"#;
    let json = TOKENIZER.replace(r#""padding": null"#, padding);
    let tokeniser = Tokeniser::load(&scene.write("tokenizer.json", json)).unwrap();
    let encoded = tokeniser.encode(&texts(&["a"]), 1, Some(4)).unwrap();
    assert_eq!(
        (encoded.ids.as_slice(), encoded.mask.as_slice()),
        ([1, 2, 4, 3].as_slice(), [0, 1, 1, 1].as_slice())
    );
}

#[test]
fn no_text_no_file_and_a_broken_file_are_refused() {
    let scene = Scene::new();
    assert!(matches!(tokeniser(&scene).encode(&[], 1, None), Err(ModelError::NoText)));
    let missing = Tokeniser::load(&scene.path("nothing.json"));
    assert!(matches!(missing, Err(ModelError::MissingFile { .. })));
    let broken = Tokeniser::load(&scene.write("broken.json", "{\"model\": 1"));
    let Err(error) = broken else { panic!("a broken tokenizer was loaded") };
    assert!(error.to_string().starts_with("could not read the tokenizer"), "{error}");
    assert_eq!(error.hint().unwrap(), "download `tokenizer.json` again");
}

#[test]
fn a_model_without_tokenizer_takes_no_text() {
    let scene = Scene::new();
    let resolved = scene.resolve("feed-forward-baseline").unwrap();
    let Err(error) = resolved.tokeniser() else { panic!("there is no tokenizer") };
    assert_eq!(
        error.to_string(),
        "`feed-forward-baseline` has no tokenizer, so it cannot take text"
    );
}

#[test]
fn ids_of_another_models_tokenizer_are_refused() {
    let scene = Scene::new();
    scene.bert("bert", safetensors::Dtype::F32);
    let resolved = scene.resolve(scene.path("bert")).unwrap();
    let mut encoded = tokeniser(&scene).encode(&texts(&["a small test"]), 1, None).unwrap();
    resolved.check_tokens(&encoded).unwrap();
    for id in [40, i64::MAX, -1] {
        encoded.ids[1] = id;
        let error = resolved.check_tokens(&encoded).unwrap_err();
        let expected = format!("token id {id} is outside the vocabulary of 40 that `bert` has");
        assert_eq!(error.to_string(), expected);
        assert!(error.hint().unwrap().contains("tokenizer.json"));
    }
    let other = scene.resolve("feed-forward-baseline").unwrap();
    other.check_tokens(&encoded).unwrap();
}
