//! Finds out what a server is, before anything is sent at it.

use crate::{
    Address, Bodies, BodyError, Content, FetchError, Fetched, answer::shown, fetch,
    kserve::Metadata,
};
use serde::Deserialize;
use std::time::Duration;
use types::Protocol;

/// The longest that one question may take.
const LIMIT: Duration = Duration::from_secs(10);
/// The most bytes of its answer.
const MOST: usize = 4 << 20;

/// What is asked about a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The address as the user gave it.
    pub address: Address,
    /// How it is spoken to, if the user says so.
    pub protocol: Option<Protocol>,
    /// The model, if the user names one.
    pub model: Option<String>,
    /// More lines of every head.
    pub headers: Vec<(String, String)>,
}

/// What a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// Where requests go.
    pub address: Address,
    /// How it is spoken to.
    pub protocol: Protocol,
    /// The model that it serves, if it is known.
    pub model: Option<String>,
    /// What it runs, in its own words: `triton 2.51.0`, `llamacpp`.
    pub server: Option<String>,
    metadata: Option<Metadata>,
}

/// Why it is not known what a server is.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// It does not answer.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// It answers something else.
    #[error("{address} answers neither as OpenAI nor as KServe: {why}")]
    Unknown {
        /// The address.
        address: String,
        /// What it answers.
        why: String,
    },
    /// It serves several models.
    #[error("the server has several models: {}", .0.join(", "))]
    SeveralModels(Vec<String>),
    /// A model has to be named.
    #[error("KServe needs the name of a model")]
    NoModel,
    /// The model is not there.
    #[error("the server does not tell the inputs of `{model}`: {why}")]
    Model {
        /// The model.
        model: String,
        /// What it says.
        why: String,
    },
}

#[derive(Deserialize)]
struct Models {
    data: Vec<Model>,
}

#[derive(Deserialize)]
struct Model {
    id: String,
    #[serde(default)]
    owned_by: Option<String>,
}

#[derive(Deserialize)]
struct Server {
    name: String,
    #[serde(default)]
    version: Option<String>,
}

/// Finds out how a server is spoken to and which model it serves.
///
/// # Errors
/// Where it does not answer, or answers something else.
pub fn inspect(asked: &Inspection) -> Result<Service, InspectError> {
    let path = asked.address.bare_path().trim_end_matches('/').to_owned();
    let protocol = asked.protocol.or_else(|| protocol_of(&path));
    match protocol {
        Some(Protocol::Http | Protocol::InProcess) => Ok(plain(asked)),
        Some(protocol @ (Protocol::OpenaiChat | Protocol::OpenaiCompletions)) => {
            openai(asked, protocol, &path)
        }
        Some(protocol) => kserve(asked, protocol, &path),
        None => guess(asked, &path),
    }
}

/// What an address says by itself.
fn protocol_of(path: &str) -> Option<Protocol> {
    if path.ends_with("/chat/completions") {
        Some(Protocol::OpenaiChat)
    } else if path.ends_with("/completions") {
        Some(Protocol::OpenaiCompletions)
    } else if path == "/v2" || path.contains("/v2/models/") {
        Some(Protocol::KserveJson)
    } else {
        None
    }
}

fn plain(asked: &Inspection) -> Service {
    Service {
        address: asked.address.clone(),
        protocol: Protocol::Http,
        model: asked.model.clone(),
        server: None,
        metadata: None,
    }
}

fn guess(asked: &Inspection, path: &str) -> Result<Service, InspectError> {
    let base = path.strip_suffix("/v1").unwrap_or(path);
    let first = ask(asked, &format!("{base}/v1/models"))?;
    if models(&first).is_some() {
        return openai(asked, Protocol::OpenaiChat, path);
    }
    let second = ask(asked, &format!("{base}/v2"))?;
    if second.status == 200 && serde_json::from_slice::<Server>(&second.body).is_ok() {
        return kserve(asked, Protocol::KserveJson, &format!("{base}/v2"));
    }
    let kind = if first.content_type.is_empty() { "no type" } else { &first.content_type };
    let why = format!("`{base}/v1/models` gives status {} ({kind})", first.status);
    Err(InspectError::Unknown { address: asked.address.to_string(), why })
}

fn ask(asked: &Inspection, path: &str) -> Result<Fetched, FetchError> {
    fetch(&asked.address.with_path(path), &asked.headers, LIMIT, MOST)
}

fn models(fetched: &Fetched) -> Option<Vec<Model>> {
    let found: Models = serde_json::from_slice(&fetched.body).ok()?;
    (fetched.status == 200).then_some(found.data)
}

/// The model is the server's only one, unless the user names it; a server that does not list its models gets none.
fn openai(asked: &Inspection, protocol: Protocol, path: &str) -> Result<Service, InspectError> {
    let ends = ["/chat/completions", "/completions"];
    let base = ends.iter().find_map(|end| path.strip_suffix(end)).unwrap_or(path);
    let base = base.strip_suffix("/v1").unwrap_or(base);
    let end = if protocol == Protocol::OpenaiChat { "chat/completions" } else { "completions" };
    let listed = models(&ask(asked, &format!("{base}/v1/models"))?).unwrap_or_default();
    let model = match (&asked.model, listed.as_slice()) {
        (Some(model), _) => Some(model.clone()),
        (None, [only]) => Some(only.id.clone()),
        (None, []) => None,
        (None, several) => {
            return Err(InspectError::SeveralModels(
                several.iter().map(|one| one.id.clone()).collect(),
            ));
        }
    };
    let server = listed.iter().find(|one| model.as_ref() == Some(&one.id));
    Ok(Service {
        address: asked.address.with_path(&format!("{base}/v1/{end}")),
        protocol,
        server: server.and_then(|one| one.owned_by.clone()),
        model,
        metadata: None,
    })
}

fn kserve(asked: &Inspection, protocol: Protocol, path: &str) -> Result<Service, InspectError> {
    let (base, named) = match path.split_once("/v2/models/") {
        Some((base, rest)) => (base, Some(rest.split('/').next().unwrap_or(rest).to_owned())),
        None => (path.strip_suffix("/v2").unwrap_or(path), None),
    };
    let model = asked.model.clone().or(named).ok_or(InspectError::NoModel)?;
    let usable = model.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    let wrong = |why: String| InspectError::Model { model: model.clone(), why };
    if !usable {
        return Err(wrong("its name has other characters than letters, digits and -_.".into()));
    }
    let told = ask(asked, &format!("{base}/v2/models/{model}"))?;
    let metadata: Metadata = match told.status {
        200 => serde_json::from_slice(&told.body).map_err(|error| wrong(error.to_string()))?,
        status => return Err(wrong(format!("status {status}: {}", shown(&told.body)))),
    };
    let server = ask(asked, &format!("{base}/v2")).ok();
    let server = server.and_then(|told| serde_json::from_slice::<Server>(&told.body).ok());
    Ok(Service {
        address: asked.address.with_path(&format!("{base}/v2/models/{model}/infer")),
        protocol,
        server: server.map(|one| match one.version {
            Some(version) => format!("{} {version}", one.name),
            None => one.name,
        }),
        model: Some(model),
        metadata: Some(metadata),
    })
}

impl Service {
    /// The bodies of requests to it: so many of a seed.
    ///
    /// # Errors
    /// Where it does not take what was asked for.
    pub fn contents(
        &self,
        bodies: &Bodies,
        streaming: bool,
        count: usize,
        seed: u64,
    ) -> Result<Vec<Content>, BodyError> {
        let (model, metadata) = (self.model.as_deref(), self.metadata.as_ref());
        bodies.make(self.protocol, model, metadata, streaming, count, seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_can_say_by_itself_how_it_is_spoken_to() {
        for (path, protocol) in [
            ("/v1/chat/completions", Some(Protocol::OpenaiChat)),
            ("/openai/v1/completions", Some(Protocol::OpenaiCompletions)),
            ("/v2/models/bert/infer", Some(Protocol::KserveJson)),
            ("/v2", Some(Protocol::KserveJson)),
            ("", None),
            ("/v1", None),
            ("/predict", None),
        ] {
            assert_eq!(protocol_of(path), protocol, "{path}");
        }
    }
}
