//! What a server is, found out by asking it.

use crate::{
    running::{job, prompts, run},
    scripted_server::{ScriptedServer, write_whole},
};
use modelmeter_endpoint::{Bodies, InspectError, Inspection, inspect, server_metrics};
use serde_json::Value;
use types::{Protocol, RequestOutcome};

fn asked(server: &ScriptedServer, path: &str) -> Inspection {
    Inspection {
        address: server.url(path).parse().unwrap(),
        protocol: None,
        model: None,
        headers: Vec::new(),
    }
}

/// A server with these answers by path.
fn with(answers: &'static [(&'static str, &'static str)]) -> ScriptedServer {
    ScriptedServer::start(move |request, stream| {
        match answers.iter().find(|(path, _)| *path == request.path) {
            Some((_, body)) => write_whole(stream, "200 OK", "application/json", body.as_bytes()),
            None => write_whole(stream, "404 Not Found", "text/html", b"<html>nothing here</html>"),
        }
    })
}

const ONE: &str = r#"{"object":"list","data":[{"id":"smol","owned_by":"llamacpp"}]}"#;

#[test]
fn a_server_with_one_model_needs_no_name() {
    let server = with(&[("/v1/models", ONE)]);
    for path in ["", "/", "/v1", "/v1/chat/completions"] {
        let found = inspect(&asked(&server, path)).unwrap();
        assert_eq!(found.protocol, Protocol::OpenaiChat, "{path}");
        assert_eq!(found.address.path, "/v1/chat/completions", "{path}");
        assert_eq!(
            (found.model.as_deref(), found.server.as_deref()),
            (Some("smol"), Some("llamacpp"))
        );
    }
    let plain = inspect(&asked(&server, "/v1/completions")).unwrap();
    assert_eq!(plain.protocol, Protocol::OpenaiCompletions);
    let contents = plain.contents(&prompts(), true, 5, 1).unwrap();
    let body: Value = serde_json::from_slice(&contents[1].body).unwrap();
    assert_eq!((&body["model"], &body["prompt"]), (&"smol".into(), &"two".into()));
}

#[test]
fn several_models_have_to_be_told_apart() {
    let server = with(&[("/v1/models", r#"{"data":[{"id":"a"},{"id":"b"}]}"#)]);
    match inspect(&asked(&server, "")) {
        Err(InspectError::SeveralModels(models)) => assert_eq!(models, ["a", "b"]),
        other => panic!("{other:?}"),
    }
    let named = Inspection { model: Some("b".into()), ..asked(&server, "") };
    assert_eq!(inspect(&named).unwrap().model.as_deref(), Some("b"));
}

#[test]
fn a_web_page_is_no_served_model() {
    let server = with(&[]);
    let refused = inspect(&asked(&server, "")).unwrap_err().to_string();
    assert!(refused.contains("neither as OpenAI nor as KServe"), "{refused}");
    let plain = Inspection { protocol: Some(Protocol::Http), ..asked(&server, "/predict") };
    let before = server.requests();
    assert_eq!(inspect(&plain).unwrap().address.path, "/predict");
    assert_eq!(server.requests(), before, "plain HTTP is not asked anything");
}

#[test]
fn kserve_tells_its_inputs_and_takes_them_in_both_forms() {
    let metadata =
        r#"{"name":"m","inputs":[{"name":"x","datatype":"FP32","shape":[-1,4]}],"outputs":[]}"#;
    let server = ScriptedServer::start(move |request, stream| {
        let json = |stream: &mut _, body: &str| {
            write_whole(stream, "200 OK", "application/json", body.as_bytes())
        };
        match request.path.as_str() {
            "/v2" => json(stream, r#"{"name":"triton","version":"2.51.0","extensions":[]}"#),
            "/v2/models/m" => json(stream, metadata),
            "/v2/models/m/infer" => {
                let length = request.head.iter().find_map(|line| {
                    line.strip_prefix("inference-header-content-length:")?
                        .trim()
                        .parse::<usize>()
                        .ok()
                });
                let head = length.unwrap_or(request.body.len());
                let body: Value = serde_json::from_slice(&request.body[..head]).unwrap();
                assert_eq!(body["inputs"][0]["shape"], serde_json::json!([2, 4]));
                let tail = request.body.len() - head;
                assert_eq!(tail, if length.is_some() { 32 } else { 0 });
                json(
                    stream,
                    r#"{"model_name":"m","outputs":[{"name":"y","shape":[1],"datatype":"FP32","data":[1]}]}"#,
                )
            }
            _ => write_whole(stream, "404 Not Found", "application/json", b"{}"),
        }
    });
    let unnamed = Inspection { protocol: Some(Protocol::KserveJson), ..asked(&server, "/v2") };
    assert!(matches!(inspect(&unnamed), Err(InspectError::NoModel)));
    for protocol in [Protocol::KserveJson, Protocol::KserveBinary] {
        let asked = Inspection { protocol: Some(protocol), ..asked(&server, "/v2/models/m/infer") };
        let found = inspect(&asked).unwrap();
        assert_eq!(found.server.as_deref(), Some("triton 2.51.0"));
        let tensors = Bodies::Tensors { shapes: Vec::new(), batch: 2, length: 1 };
        let mut two = job(&server, protocol, 2);
        two.target.address = found.address.clone();
        two.contents = found.contents(&tensors, false, 2, 7).unwrap();
        let records = run(&two).records;
        assert!(records.iter().all(|one| one.outcome == RequestOutcome::Completed), "{records:?}");
    }
    let missing = Inspection { model: Some("other".into()), ..asked(&server, "/v2") };
    assert!(inspect(&missing).unwrap_err().to_string().contains("status 404"));
}

#[test]
fn numbers_of_a_server_are_found_where_it_has_them() {
    let server = ScriptedServer::start(|request, stream| match request.path.as_str() {
        "/metrics" => {
            write_whole(stream, "200 OK", "text/plain; version=0.0.4", b"requests_total 7\n")
        }
        _ => write_whole(stream, "404 Not Found", "text/html", b"no"),
    });
    let found = server_metrics(&server.url("/v1").parse().unwrap(), &[]).unwrap();
    assert_eq!(found["requests_total"], 7.0);
    assert_eq!(server_metrics(&with(&[]).url("/").parse().unwrap(), &[]), None);
}
