//! Tokenizers.

use super::put;
use crate::{
    Outcome, Target, mutate,
    target::{ROOM, Reader},
};
use models::Tokeniser;

const WORD_PIECE: &str = r###"{"version":"1.0","truncation":null,"padding":null,
    "added_tokens":[{"id":0,"content":"[PAD]","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
    "normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},
    "pre_tokenizer":{"type":"BertPreTokenizer"},
    "post_processor":{"type":"TemplateProcessing",
        "single":[{"SpecialToken":{"id":"[CLS]","type_id":0}},{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"[SEP]","type_id":0}}],
        "pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],
        "special_tokens":{"[CLS]":{"id":"[CLS]","ids":[2],"tokens":["[CLS]"]},"[SEP]":{"id":"[SEP]","ids":[3],"tokens":["[SEP]"]}}},
    "decoder":null,
    "model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,
        "vocab":{"[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3,"a":4,"small":5,"test":6,"##s":7}}}"###;

const BYTE_PAIRS: &str = r#"{"version":"1.0",
    "truncation":{"direction":"Left","max_length":8,"strategy":"LongestFirst","stride":2},
    "padding":{"strategy":"BatchLongest","direction":"Left","pad_to_multiple_of":8,"pad_id":1,"pad_type_id":0,"pad_token":"<pad>"},
    "added_tokens":[{"id":1,"content":"<pad>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
    "normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Replace","pattern":{"Regex":" +"},"content":" "}]},
    "pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"\\p{L}+|\\s"},"behavior":"Isolated","invert":false},
        {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false}]},
    "post_processor":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":false,"use_regex":true},
    "decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},
    "model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,
        "fuse_unk":false,"byte_fallback":false,"ignore_merges":false,
        "vocab":{"a":0,"<pad>":1,"s":2,"m":3,"l":4,"t":5,"e":6,"te":7,"st":8},"merges":["t e","s t"]}}"#;

const UNIGRAM: &str = r#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,
    "pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true},
    "post_processor":{"type":"BertProcessing","sep":["</s>",1],"cls":["<s>",0]},"decoder":null,
    "model":{"type":"Unigram","unk_id":2,"vocab":[["<s>",0.0],["</s>",0.0],["<unk>",0.0],["▁a",-1.5],["▁",-2.0],["te",-3.0],["s",-3.5],["t",-4.0]],
        "byte_fallback":false}}"#;

/// `tokenizer.json`, and texts through it.
pub(crate) const TOKENIZER: Target = Target {
    name: "tokenizer",
    what: "`tokenizer.json`, and texts through it",
    one_of: 1,
    room: ROOM,
    seeds: || [WORD_PIECE, BYTE_PAIRS, UNIGRAM].map(|text| text.as_bytes().to_vec()).into(),
    mutate: mutate::json,
    open: || -> Reader {
        let folder = super::folder();
        let texts = ["A small test", "", "é☾ 😀\u{0} tests tests"].map(str::to_owned);
        Box::new(move |bytes| {
            let path = put(&folder, "tokenizer.json", bytes);
            let Ok(tokeniser) = Tokeniser::load(&path) else { return Outcome::Refused };
            let mut outcome = Outcome::Accepted;
            for length in [None, Some(0), Some(3), Some(20)] {
                let encoded = tokeniser.encode(&texts, 3, length);
                outcome = Outcome::from(&encoded);
                if let Ok(encoded) = &encoded {
                    let count = 3 * encoded.length;
                    let counts = [encoded.ids.len(), encoded.mask.len(), encoded.types.len()];
                    assert_eq!(counts, [count; 3], "rows of {}", encoded.length);
                }
            }
            let _ = tokeniser.vocabulary();
            outcome
        })
    },
    expected: &[
        (
            "/registry/src/",
            "a panic inside the library `tokenizers`; the worker answers it with a failure",
        ),
        ("memory", "steps that double the text, one after the other; the worker dies of it alone"),
        (
            "overflowed its stack",
            "a token of a hundred thousand letters makes as deep a tree; the worker dies of it alone",
        ),
        (
            "slow:",
            "thousands of parts in a template, joined one by one; the worker's time limit ends it",
        ),
    ],
};
