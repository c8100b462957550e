//! What does not work says so in one line.

use crate::{alone, asked, engines, line, load, places, request, small, small_shape, smollm};
use engine::{
    Availability, Engine, EngineError, EngineErrorKind, GeneratorLoader, Host, LoadRequest, Loader,
    Places, Takes,
};
use modelmeter_engine_llamacpp::LlamaCpp;
use types::{DecoderShape, Device, EngineOptions, Precision};

fn refused(
    request: &LoadRequest,
    shape: &DecoderShape,
    batch: usize,
    context: usize,
) -> EngineError {
    let error = LlamaCpp.generator(&asked(request, shape, batch, context)).err().unwrap();
    assert!(!line(&error).contains('\n'), "{}", line(&error));
    error
}

#[test]
fn the_engine_says_what_it_does() {
    assert!(LlamaCpp.generates() && LlamaCpp.takes() == Takes::Gguf);
    assert!(LlamaCpp.installer().is_some() && LlamaCpp.training().is_none());
    let places = places();
    let available = Availability::Available { version: "0.5.0".into() };
    assert_eq!(LlamaCpp.availability(&places), available);
    assert!(LlamaCpp.origin(&places).unwrap().starts_with(engines()));
    assert_eq!(LlamaCpp.devices(&places), [Device::Cpu]);
    assert_eq!(LlamaCpp.precisions(&places, Device::Cpu), [Precision::Stored]);
    assert_eq!(LlamaCpp.absence(&places, Device::Cpu), None);
    assert!(LlamaCpp.absence(&places, Device::Cuda(0)).unwrap().contains("CPU"));
    let Host::Worker(loader) = LlamaCpp.host() else { panic!("it runs in our worker") };
    assert!(loader.generator_loader().is_some() && loader.runner_loader().is_none());
    let error = LlamaCpp.load(&request(smollm())).err().unwrap();
    assert_eq!(error.kind, EngineErrorKind::Unsupported);
    assert_eq!(line(&error), "engine `llamacpp` generates text and nothing else");
}

#[test]
fn a_library_that_is_not_there_is_told_with_what_helps() {
    let nowhere = Places::default();
    let Availability::Unavailable { why, hint } = LlamaCpp.availability(&nowhere) else {
        panic!("nothing was looked into")
    };
    assert_eq!(why, "no llama.cpp library was found");
    assert!(hint.contains("`modelmeter engines install llamacpp`"), "{hint}");
    assert!(LlamaCpp.devices(&nowhere).is_empty() && LlamaCpp.origin(&nowhere).is_none());
    let request = LoadRequest { places: nowhere, ..request(small("llama-F32")) };
    let error = refused(&request, &small_shape(), 1, 64);
    assert_eq!(error.kind, EngineErrorKind::Unavailable);
    assert!(error.hint.unwrap().contains("engines install llamacpp"));

    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libllama.so");
    std::fs::write(&library, "no library").unwrap();
    let mut named = Places::default();
    named.libraries.insert("llamacpp".into(), library);
    let request = LoadRequest { places: named, ..request };
    assert!(line(&refused(&request, &small_shape(), 1, 64)).ends_with("is not a shared library"));
}

#[test]
fn only_what_is_offered_is_taken() {
    let _alone = alone();
    let (file, shape) = (small("llama-F32"), small_shape());
    let unsupported = |request: &LoadRequest, batch: usize, word: &str| {
        let error = refused(request, &shape, batch, 64);
        assert!(
            error.kind == EngineErrorKind::Unsupported && line(&error).contains(word),
            "{}",
            line(&error)
        );
    };
    let whole = request(&file);
    unsupported(&LoadRequest { device: Device::Cuda(0), ..whole.clone() }, 1, "`cuda:0`");
    unsupported(&LoadRequest { precision: Precision::Fp32, ..whole.clone() }, 1, "fp32");
    unsupported(&LoadRequest { gguf: None, ..whole.clone() }, 1, "`.gguf`");
    let options = EngineOptions { inter_threads: Some(2), ..EngineOptions::default() };
    unsupported(&LoadRequest { options, ..whole.clone() }, 1, "2 between operators");
    unsupported(&whole, 0, "not 0");
    unsupported(&whole, 100_000, "not 100000");
}

#[test]
fn a_file_that_is_no_model_is_told_in_the_librarys_words() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("model.gguf");
    let bad = |word: &str| {
        let error = refused(&request(&file), &small_shape(), 1, 64);
        assert_eq!(error.kind, EngineErrorKind::BadModel);
        assert!(
            line(&error).starts_with("llama.cpp could not load `") && line(&error).contains(word),
            "{}",
            line(&error)
        );
    };
    bad("No such file");
    let whole = std::fs::read(small("llama-F32")).unwrap();
    for (length, word) in [(whole.len() / 2, "file bounds"), (2000, ""), (5, ""), (0, "")] {
        std::fs::write(&file, &whole[..length]).unwrap();
        bad(word);
    }
    std::fs::write(&file, "no model at all").unwrap();
    bad("magic");
}

#[test]
fn another_vocabulary_is_refused() {
    let _alone = alone();
    let shape = DecoderShape { vocabulary: 97, ..small_shape() };
    let error = refused(&request(small("llama-F32")), &shape, 1, 64);
    assert!(
        line(&error).contains("knows 96 tokens") && line(&error).ends_with("not 97"),
        "{}",
        line(&error)
    );
}

#[test]
fn more_room_than_there_is_memory_is_refused() {
    let _alone = alone();
    let line_for = |context: usize| {
        let error = refused(&request(small("llama-F32")), &small_shape(), 1, context);
        assert_eq!(error.kind, EngineErrorKind::OutOfMemory);
        line(&error)
    };
    // A kibibyte a token.
    let expected = "llama.cpp has no room for 1 × 1099511627776 tokens: they take 1048576 GiB, and this machine has ";
    assert!(line_for(1 << 40).starts_with(expected), "{}", line_for(1 << 40));
    assert!(line_for(usize::MAX).starts_with("llama.cpp has no room for"));
}

#[test]
fn tokens_that_do_not_fit_are_refused_before_the_library_sees_them() {
    let _alone = alone();
    let mut generator = load(small("llama-F32"), &small_shape(), 2, 8);
    let mut refused = |tokens: &[i64]| {
        let error = generator.feed(tokens).unwrap_err();
        assert_eq!(error.kind, EngineErrorKind::BadInput);
        line(&error)
    };
    assert_eq!(refused(&[1; 18]), "9 tokens do not fit in a context of 8");
    assert_eq!(refused(&[1, 2, 3]), "3 tokens cannot be divided among 2 rows");
    assert_eq!(refused(&[]), "0 tokens cannot be divided among 2 rows");
    assert_eq!(refused(&[1, 96]), "the model knows no token 96");
    assert_eq!(refused(&[-1, 5]), "the model knows no token -1");
    generator.feed(&[1; 16]).unwrap();
    let error = generator.feed(&[1, 1]).unwrap_err();
    assert_eq!(line(&error), "9 tokens do not fit in a context of 8");
    assert_eq!(generator.cache().tokens, 8);
}
