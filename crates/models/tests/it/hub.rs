//! The hub: its cache on this machine, a hub that does not answer, and a small one that does.

use crate::scene::{Scene, TINY_BERT, checkpoint_of, safetensors};
use ::safetensors::Dtype;
use models::{ModelError, Progress};
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};
use types::{ModelSource, Weights};

const COMMIT: &str = "00112233445566778899aabbccddeeff00112233";

/// Puts a small BERT where `huggingface_hub` would have put it.
fn fill_cache(scene: &Scene, repository: &str) {
    let folder = format!("hub/models--{}", repository.replace('/', "--"));
    scene.write(&format!("{folder}/refs/main"), COMMIT);
    scene.bert(&format!("{folder}/snapshots/{COMMIT}"), Dtype::F32);
}

#[test]
fn a_cached_model_is_found_by_name_and_its_revision_recorded() {
    let scene = Scene::new();
    fill_cache(&scene, "someone/tiny-bert");
    let resolved = scene.resolve("someone/tiny-bert").unwrap();
    assert_eq!(resolved.info.name, "someone/tiny-bert");
    assert_eq!(resolved.info.source, ModelSource::Hub { revision: COMMIT.into() });
    assert_eq!(resolved.info.weights, Weights::Real);
    let mut request = scene.request("someone/tiny-bert");
    request.revision = Some(COMMIT.into());
    assert!(models::resolve(&request, &mut |_| {}).is_ok());
    request.revision = Some("other".into());
    assert!(matches!(models::resolve(&request, &mut |_| {}), Err(ModelError::Unknown { .. })));
}

#[test]
fn a_preset_takes_trained_weights_from_the_cache_under_either_name() {
    for repository in ["bert-base-uncased", "google-bert/bert-base-uncased"] {
        let scene = Scene::new();
        fill_cache(&scene, repository);
        let resolved = scene.resolve("bert").unwrap();
        assert_eq!(resolved.info.name, "bert-base-uncased");
        assert_eq!(resolved.info.weights, Weights::Real);
        assert!(resolved.remarks.is_empty(), "{:?}", resolved.remarks);
    }
}

#[test]
fn a_half_downloaded_model_is_not_used() {
    let scene = Scene::new();
    fill_cache(&scene, "someone/tiny-bert");
    let snapshot = format!("hub/models--someone--tiny-bert/snapshots/{COMMIT}");
    fs::remove_file(scene.path(&format!("{snapshot}/model.safetensors"))).unwrap();
    assert!(matches!(scene.resolve("someone/tiny-bert"), Err(ModelError::Unknown { .. })));
    let index = r#"{"weight_map": {"a": "model-1.safetensors"}}"#;
    scene.write(&format!("{snapshot}/model.safetensors.index.json"), index);
    assert!(matches!(scene.resolve("someone/tiny-bert"), Err(ModelError::Unknown { .. })));
}

#[test]
fn an_unknown_name_says_what_was_tried_and_what_is_near() {
    let scene = Scene::new();
    let error = scene.resolve("distilbert-base-uncasedd").unwrap_err();
    let text = error.to_string();
    assert!(
        text.starts_with("no model is called `distilbert-base-uncasedd`: not in the cache at"),
        "{text}"
    );
    assert!(text.ends_with("the hub was not contacted: offline"), "{text}");
    assert!(error.hint().unwrap().starts_with("did you mean `distilbert-base-uncased`"));
    let error = scene.resolve("qqqqqqqqqqqqqqqq").unwrap_err();
    assert!(error.hint().unwrap().contains("modelmeter models"));
}

#[test]
fn an_unreachable_hub_leaves_random_weights_or_a_reason() {
    let scene = Scene::new();
    let mut request = scene.request("minilm");
    request.offline = false;
    request.hub_endpoint = Some("http://127.0.0.1:9".into());
    let mut asked = 0;
    let mut count = |progress| asked += usize::from(matches!(progress, Progress::Asking { .. }));
    let resolved = models::resolve(&request, &mut count).unwrap();
    assert_eq!(resolved.info.weights, Weights::Random { seed: 0 });
    assert!(resolved.remarks[0].text.contains("the hub at http://127.0.0.1:9 cannot be reached"));
    request.name = "someone/else".into();
    let error = models::resolve(&request, &mut count).unwrap_err();
    assert!(error.to_string().contains("http://127.0.0.1:9 cannot be reached"), "{error}");
    assert_eq!(asked, 1, "a hub that does not answer is asked once");
}

/// A hub with one repository, on this machine.
struct Hub {
    endpoint: String,
    requests: Arc<AtomicUsize>,
}

impl Hub {
    fn serve(repository: &'static str, files: BTreeMap<String, Vec<u8>>) -> Hub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(AtomicUsize::new(0));
        let (files, counter) = (Arc::new(files), Arc::clone(&requests));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (files, counter) = (Arc::clone(&files), Arc::clone(&counter));
                thread::spawn(move || answer(stream, repository, &files, &counter));
            }
        });
        Hub { endpoint, requests }
    }
}

/// Answers the requests of one connection.
fn answer(
    stream: TcpStream,
    repository: &str,
    files: &BTreeMap<String, Vec<u8>>,
    counter: &AtomicUsize,
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let mut lines = Vec::new();
        let mut line = String::new();
        while reader.read_line(&mut line).is_ok_and(|length| length > 2) {
            lines.push(std::mem::take(&mut line).trim().to_owned());
        }
        let Some(path) = lines.first().and_then(|line| line.split(' ').nth(1)) else { return };
        counter.fetch_add(1, Ordering::Relaxed);
        let range = lines.iter().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("range").then(|| value.trim().to_owned())
        });
        let (status, headers, body) = reply(path, range.as_deref(), repository, files);
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n");
        if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body)).is_err() {
            return;
        }
    }
}

fn reply(
    path: &str,
    range: Option<&str>,
    repository: &str,
    files: &BTreeMap<String, Vec<u8>>,
) -> (&'static str, String, Vec<u8>) {
    if path == format!("/api/models/{repository}/revision/main") {
        let siblings: Vec<_> =
            files.keys().map(|name| serde_json::json!({ "rfilename": name })).collect();
        let info = serde_json::json!({ "sha": COMMIT, "siblings": siblings });
        return ("200 OK", String::new(), info.to_string().into_bytes());
    }
    let name = path.strip_prefix(&format!("/{repository}/resolve/main/"));
    let Some((name, bytes)) = name.and_then(|name| files.get_key_value(name)) else {
        return ("404 Not Found", String::new(), Vec::new());
    };
    let all = bytes.len();
    let (first, last) = range
        .and_then(|range| range.strip_prefix("bytes=")?.split_once('-'))
        .map_or((0, all - 1), |(first, last)| {
            (first.parse().unwrap(), last.parse().unwrap_or(all - 1))
        });
    let headers = format!(
        "ETag: \"etag-{}\"\r\nx-repo-commit: {COMMIT}\r\nContent-Range: bytes {first}-{last}/{all}\r\n",
        name.replace('/', "-")
    );
    ("206 Partial Content", headers, bytes[first..=last].to_vec())
}

fn tiny_bert_files() -> BTreeMap<String, Vec<u8>> {
    let weights = safetensors(&checkpoint_of(TINY_BERT), Dtype::F32);
    BTreeMap::from([
        ("config.json".into(), TINY_BERT.into()),
        ("model.safetensors".into(), weights),
        ("tokenizer.json".into(), b"{}".to_vec()),
        ("pytorch_model.bin".into(), b"never asked for".to_vec()),
    ])
}

#[test]
fn a_model_comes_from_the_hub_once() {
    let scene = Scene::new();
    let hub = Hub::serve("someone/tiny-bert", tiny_bert_files());
    let mut request = scene.request("someone/tiny-bert");
    request.offline = false;
    request.hub_endpoint = Some(hub.endpoint.clone());
    let mut downloaded = BTreeMap::new();
    let resolved = models::resolve(&request, &mut |progress| {
        if let Progress::Downloading { file, done, total } = progress {
            downloaded.insert(file, (done, total));
        }
    })
    .unwrap();
    assert_eq!(resolved.info.source, ModelSource::Hub { revision: COMMIT.into() });
    assert_eq!(resolved.info.weights, Weights::Real);
    assert!(resolved.tokenizer.unwrap().ends_with("tokenizer.json"));
    let names: Vec<_> = downloaded.keys().map(String::as_str).collect();
    assert_eq!(names, ["config.json", "model.safetensors", "tokenizer.json"]);
    assert!(downloaded.values().all(|(done, total)| done == total));
    let asked = hub.requests.load(Ordering::Relaxed);
    let again = models::resolve(&request, &mut |_| {}).unwrap();
    assert_eq!(hub.requests.load(Ordering::Relaxed), asked, "the cache was not used");
    assert_eq!(again.info, resolved.info);
    request.offline = true;
    assert!(models::resolve(&request, &mut |_| {}).is_ok());
}

#[test]
fn shards_and_finished_graphs_come_from_the_hub_too() {
    let mut files = tiny_bert_files();
    let weights = files.remove("model.safetensors").unwrap();
    files.insert("part.safetensors".into(), weights);
    let map: BTreeMap<_, _> =
        checkpoint_of(TINY_BERT).into_keys().map(|name| (name, "part.safetensors")).collect();
    let index = serde_json::json!({ "weight_map": map }).to_string();
    files.insert("model.safetensors.index.json".into(), index.into_bytes());
    let hub = Hub::serve("someone/sharded", files);
    let scene = Scene::new();
    let mut request = scene.request("someone/sharded");
    (request.offline, request.hub_endpoint) = (false, Some(hub.endpoint));
    assert_eq!(models::resolve(&request, &mut |_| {}).unwrap().info.weights, Weights::Real);

    let scene = Scene::new();
    let path = scene.path("model.onnx");
    crate::scene::embedding(&["batch", "sequence"]).write(&path).unwrap();
    let files = BTreeMap::from([
        ("config.json".into(), TINY_BERT.into()),
        ("onnx/model.onnx".into(), fs::read(path).unwrap()),
    ]);
    let hub = Hub::serve("someone/onnx", files);
    let mut request = scene.request("someone/onnx");
    (request.offline, request.hub_endpoint) = (false, Some(hub.endpoint));
    let resolved = models::resolve(&request, &mut |_| {}).unwrap();
    assert_eq!((resolved.info.architecture.as_str(), resolved.max_length), ("bert", Some(16)));
}

#[test]
fn a_hub_that_knows_nothing_of_the_name_is_quoted() {
    let scene = Scene::new();
    let hub =
        Hub::serve("someone/pickled", BTreeMap::from([("pytorch_model.bin".into(), vec![1])]));
    let mut request = scene.request("someone/else");
    (request.offline, request.hub_endpoint) = (false, Some(hub.endpoint));
    let error = models::resolve(&request, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("has no such model, or it needs a token"), "{error}");
    request.name = "someone/pickled".into();
    let error = models::resolve(&request, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("has no `model.safetensors`"), "{error}");
}
