//! Downloads from the Hugging Face hub.

use crate::{
    Progress, Request,
    hub::{INDEX_FILE, ONNX_FILE, Snapshot, shards_of, wanted_weights},
};
use hf_hub::{
    Cache, Repo, RepoType,
    api::{
        RepoInfo,
        sync::{ApiBuilder, ApiError, ApiRepo},
    },
};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// The hub that is asked where nobody names another.
const PUBLIC_HUB: &str = "https://huggingface.co";

/// How much longer the hub may think once it is reached.
const ANSWER_FACTOR: u32 = 4;

/// How often to wait (5 s each) for another process that downloads the same file.
const LOCK_ATTEMPTS: usize = 120;

/// Hubs that did not answer in this process; asking them again for every model would cost the same time again.
static UNREACHABLE: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

/// Downloads what a model needs and is not here yet; the error is a reason in words.
pub(crate) fn download(
    request: &Request,
    repository: &str,
    patience: Duration,
    progress: &mut dyn FnMut(Progress),
) -> Result<Snapshot, String> {
    let endpoint = request.hub_endpoint.as_deref().unwrap_or(PUBLIC_HUB).trim_end_matches('/');
    if let Some(reason) = UNREACHABLE.lock().unwrap_or_else(PoisonError::into_inner).get(endpoint) {
        return Err(reason.clone());
    }
    progress(Progress::Asking { endpoint: endpoint.to_owned() });
    let hub = std::path::absolute(request.hub_folder()).map_err(|error| error.to_string())?;
    let cache = Cache::new(hub.clone());
    let token = request.token.clone().or_else(|| cache.token());
    let api = ApiBuilder::from_cache(cache)
        .with_endpoint(endpoint.to_owned())
        .with_token(token)
        .with_user_agent("modelmeter", env!("CARGO_PKG_VERSION"))
        .build()
        .map_err(|error| error.to_string())?;
    let revision = request.revision().to_owned();
    let repo = Repo::with_revision(repository.to_owned(), RepoType::Model, revision);
    let folder = hub.join(repo.folder_name()).join("snapshots");
    let api = api.repo(repo);
    let info = ask(&api, endpoint, patience)?;
    let folder = folder.join(&info.sha);
    let has = |name: &str| info.siblings.iter().any(|file| file.rfilename == name);
    let weights = wanted_weights(has)
        .ok_or_else(|| format!("`{repository}` has no `model.safetensors` and no `{ONNX_FILE}`"))?;
    let mut files = vec!["config.json".to_owned(), weights.to_owned()];
    files.extend(
        ["tokenizer.json", "modules.json", "onnx/model.onnx_data"]
            .into_iter()
            .filter(|&name| has(name) && (weights == ONNX_FILE || !name.starts_with("onnx/")))
            .map(str::to_owned),
    );
    let mut next = 0;
    while let Some(file) = files.get(next).cloned() {
        let path = fetch(&api, &folder, &file, progress)?;
        if file == INDEX_FILE {
            files.extend(shards_of(&path).map_err(|error| format!("`{INDEX_FILE}`: {error}"))?);
        }
        next += 1;
    }
    Ok(Snapshot { folder, revision: info.sha })
}

/// Asks for the commit and the list of files; a hub that cannot be reached is remembered.
fn ask(api: &ApiRepo, endpoint: &str, patience: Duration) -> Result<RepoInfo, String> {
    let answer = api
        .info_request()
        .config()
        .timeout_resolve(Some(patience))
        .timeout_connect(Some(patience))
        .timeout_recv_response(Some(patience * ANSWER_FACTOR))
        .timeout_recv_body(Some(patience * ANSWER_FACTOR))
        .http_status_as_error(false)
        .build()
        .call();
    let mut answer = answer.map_err(|error| {
        let reason = format!("the hub at {endpoint} cannot be reached ({error})");
        let mut unreachable = UNREACHABLE.lock().unwrap_or_else(PoisonError::into_inner);
        unreachable.insert(endpoint.to_owned(), reason.clone());
        reason
    })?;
    match answer.status().as_u16() {
        200 => answer.body_mut().read_json().map_err(|error| {
            format!("the hub at {endpoint} gave an answer that could not be parsed ({error})")
        }),
        401 | 403 | 404 => {
            Err(format!("the hub at {endpoint} has no such model, or it needs a token"))
        }
        status => Err(format!("the hub at {endpoint} answered with status {status}")),
    }
}

fn fetch(
    api: &ApiRepo,
    folder: &Path,
    file: &str,
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf, String> {
    let path = folder.join(file);
    for _ in 0..LOCK_ATTEMPTS {
        if path.is_file() {
            return Ok(path);
        }
        let meter = Meter { progress, file: file.to_owned(), done: 0, total: 0 };
        match api.download_with_progress(file, meter) {
            Ok(path) => return Ok(path),
            Err(ApiError::LockAcquisition(_)) => {}
            Err(error) => return Err(format!("the download of `{file}` failed ({error})")),
        }
    }
    Err(format!("another process has been downloading `{file}` for too long"))
}

/// Tells our caller what the client tells us.
struct Meter<'a> {
    progress: &'a mut dyn FnMut(Progress),
    file: String,
    done: u64,
    total: u64,
}

impl hf_hub::api::Progress for Meter<'_> {
    fn init(&mut self, size: usize, _file: &str) {
        (self.done, self.total) = (0, size as u64);
    }

    fn update(&mut self, size: usize) {
        self.done += size as u64;
        let (file, done, total) = (self.file.clone(), self.done, self.total);
        (self.progress)(Progress::Downloading { file, done, total });
    }

    fn finish(&mut self) {}
}
