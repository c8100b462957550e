//! Loads a model: checks what can be checked before a browser starts, starts one, and brings runtime and model into a page.

use crate::{
    chromium::Chromium,
    files::{Files, check_sizes},
    locate,
    model::BrowserModel,
    page::{Adapter, Loaded, Page, Prepared, Surroundings, duration},
    server::{Content, Server},
    user_agent,
};
use engine::{EngineError, EngineErrorKind, LoadRequest, LoadStep, PageAddress, found::Absent};
use serde_json::{Value, json};
use std::{net::SocketAddr, time::Instant};
use types::{Device, GraphOptimisation, Precision, Remark, RemarkCode};

/// The script of a runtime and its code: for browsers with promises in WebAssembly, and for others.
const WITH_PROMISES: (&str, &str) = (locate::SCRIPT, "ort-wasm-simd-threaded.jspi.wasm");
const WITHOUT: (&str, &str) = ("ort.webgpu.min.mjs", "ort-wasm-simd-threaded.asyncify.wasm");

/// The parts of the page.
const PARTS: [(&str, &str); 5] = [
    ("", include_str!("../page/index.html")),
    ("page.js", include_str!("../page/page.js")),
    ("worker.js", include_str!("../page/worker.js")),
    ("runs.js", include_str!("../page/runs.js")),
    ("steps.js", include_str!("../page/steps.js")),
];

/// The files of a model have this place on the server.
const MODEL: &str = "model";

/// What a setting of the user may be called.
const WEBNN_DEVICE: &str = "webnn.device";

pub(crate) fn refused(why: String) -> EngineError {
    EngineError::new(EngineErrorKind::Unsupported, why)
}

pub(crate) fn load(request: &LoadRequest) -> Result<BrowserModel, EngineError> {
    check_request(request)?;
    let files = Files::of(request)?;
    check_sizes(&files.all())?;
    let mut session = session_options(request)?;
    if request.device == Device::Webnn {
        // It takes no node of an unknown size.
        session["freeDimensionOverrides"] = json!(files.sizes);
    }
    let webnn = webnn_device(request)?;
    let opened = open(request, |server| files.offer(server, MODEL))?;
    let mut question = files.question(MODEL);
    question["device"] = json!(request.device.to_string());
    question["options"] = session;
    question["webnn"] = json!({ "deviceType": webnn });
    opened.load(request, "load", question)
}

/// Whether the engine has this device and this precision.
pub(crate) fn check_request(request: &LoadRequest) -> Result<(), EngineError> {
    let device = request.device;
    if !crate::DEVICES.contains(&device) {
        return Err(refused(format!("engine `browser` cannot run on `{device}`"))
            .with_hint("`--device wasm` runs in every browser"));
    }
    if !crate::precisions(device).contains(&request.precision) {
        let precision = request.precision;
        return Err(refused(format!("engine `browser` cannot run {precision} on `{device}`"))
            .with_hint("`--precision fp32` works here"));
    }
    Ok(())
}

/// A page with the runtime in it.
pub(crate) struct Opened {
    page: Page,
    chromium: Option<Chromium>,
    surroundings: Surroundings,
    prepared: Prepared,
    /// Of the browser.
    name: String,
    /// Of the runtime.
    version: String,
    threads: u32,
    steps: Vec<LoadStep>,
}

/// Starts a browser, unless a person opens the page, and brings the runtime into it; `offer` puts files on the server.
pub(crate) fn open(
    request: &LoadRequest,
    offer: impl FnOnce(&Server),
) -> Result<Opened, EngineError> {
    let runtime = locate::runtime(&request.places)?;
    let failed = |error: std::io::Error| {
        EngineError::new(EngineErrorKind::Failed, "could not serve the page").with_source(error)
    };
    let elsewhere = request.places.page.as_ref();
    let here = || PageAddress::fresh(SocketAddr::from(([127, 0, 0, 1], 0)));
    let page = elsewhere.cloned().map_or_else(here, Ok).map_err(failed)?;
    let server = Server::start(page.listen, &page.secret).map_err(failed)?;
    for (path, text) in PARTS {
        server.put(path, Content::Text(text));
    }
    for path in engine::found::entries(&runtime.folder) {
        let name = engine::found::file_name(&path).to_owned();
        server.put(format!("ort/{name}"), Content::File(path));
    }
    offer(&server);

    let mut steps = Vec::new();
    let mut step = |name: &str, time| steps.push(LoadStep { name: name.to_owned(), time });
    let mut chromium = None;
    let mut begin = Instant::now();
    if elsewhere.is_none() {
        let browser = locate::browser(&request.places, request.device)?;
        let mut started = Chromium::start(&browser.program, request.device, &server.shared)?;
        step("browser start", begin.elapsed());
        begin = Instant::now();
        started.open(&server.url())?;
        chromium = Some(started);
    }
    server.wait_for_page().map_err(|why| {
        EngineError::new(EngineErrorKind::Failed, format!("{why} before it was open"))
    })?;
    if chromium.is_some() {
        step("page", begin.elapsed());
    }
    let page = Page::new(server);
    let surroundings: Surroundings = page.ask("environment", json!({}))?;
    let name = chromium.as_ref().map(|browser| browser.version.clone());
    let name = name.unwrap_or_else(|| user_agent::browser(&surroundings.user_agent));
    check(request, &surroundings, &name)?;
    let has_promises = surroundings.has_promise_integration;
    let (script, code) = if has_promises { WITH_PROMISES } else { WITHOUT };
    let threads = if surroundings.is_isolated { request.threads.max(1) } else { 1 };
    let prepared: Prepared =
        page.ask("prepare", json!({ "threads": threads, "script": script, "code": code }))?;
    step("runtime download", duration(prepared.download));
    step("runtime compile", duration(prepared.compile));
    let version = runtime.version;
    Ok(Opened { page, chromium, surroundings, prepared, name, version, threads, steps })
}

impl Opened {
    /// Loads what the question names, and says where it runs.
    pub(crate) fn load(
        mut self,
        request: &LoadRequest,
        ask: &str,
        question: Value,
    ) -> Result<BrowserModel, EngineError> {
        let loaded: Loaded = self
            .page
            .ask(ask, question)
            .map_err(|error| explain(error, request.device, &self.name))?;
        let mut step = |name: &str, time| self.steps.push(LoadStep { name: name.to_owned(), time });
        step("model download", duration(loaded.download));
        step("session", duration(loaded.create));
        let placements = placements(&loaded.said);
        let mut model = BrowserModel::new(
            request,
            self.page,
            self.chromium,
            self.surroundings,
            loaded,
            self.prepared,
            placements,
        );
        model.runtime = self.version;
        model.threads = self.threads;
        model.steps = self.steps;
        model.complete()?;
        Ok(model)
    }
}

/// What the user set, in the runtime's words.
pub(crate) fn session_options(request: &LoadRequest) -> Result<Value, EngineError> {
    let level = match request.options.graph_optimisation {
        Some(GraphOptimisation::None) => "disabled",
        Some(GraphOptimisation::Basic) => "basic",
        Some(GraphOptimisation::Extended) => "extended",
        Some(GraphOptimisation::All) | None => "all",
    };
    let unknown = request.options.settings.keys().find(|key| *key != WEBNN_DEVICE);
    if let Some(key) = unknown {
        return Err(refused(format!("engine `browser` has no setting `{key}`"))
            .with_hint(format!("`{WEBNN_DEVICE}` is `cpu`, `gpu` or `npu`")));
    }
    Ok(json!({ "graphOptimizationLevel": level }))
}

pub(crate) fn webnn_device(request: &LoadRequest) -> Result<&str, EngineError> {
    let device = request.options.settings.get(WEBNN_DEVICE).map_or("cpu", String::as_str);
    match device {
        "cpu" | "gpu" | "npu" => Ok(device),
        other => Err(refused(format!("`{WEBNN_DEVICE}` cannot be `{other}`"))
            .with_hint("it is `cpu`, `gpu` or `npu`")),
    }
}

/// Whether this browser can do what was asked.
fn check(
    request: &LoadRequest,
    surroundings: &Surroundings,
    browser: &str,
) -> Result<(), EngineError> {
    let insecure = |what: &str| {
        refused(format!("{browser} gives {what} to pages with https or on its own machine only"))
            .with_hint("`modelmeter serve-bench --help` says how another device sees this machine as its own")
    };
    match request.device {
        Device::Webgpu if !surroundings.has_webgpu && !surroundings.is_secure => {
            Err(insecure("WebGPU"))
        }
        Device::Webgpu if !surroundings.has_webgpu => Err(refused(format!(
            "{browser} has no WebGPU"
        ))
        .with_hint("Chromium has it since version 113; `--device wasm` runs in every browser")),
        Device::Webgpu => match &surroundings.adapter {
            None => Err(refused(format!("{browser} has WebGPU, but found no adapter for it"))
                .with_hint("`--device wasm` runs in every browser")),
            Some(Adapter { half_floats: false, .. }) if request.precision == Precision::Fp16 => {
                Err(refused("the adapter of this browser has no 16-bit floats".to_owned())
                    .with_hint("`--precision fp32` works here"))
            }
            Some(_) => Ok(()),
        },
        Device::Webnn if !surroundings.has_webnn && !surroundings.is_secure => {
            Err(insecure("WebNN"))
        }
        Device::Webnn if !surroundings.has_webnn => Err(no_webnn(browser)),
        _ => Ok(()),
    }
}

fn no_webnn(browser: &str) -> EngineError {
    refused(format!("{browser} has no WebNN")).with_hint(
        "the browser that `modelmeter engines install browser` installs has it; so do Chrome and Edge behind a flag",
    )
}

/// The runtime's words for what a browser lacks.
fn explain(error: EngineError, device: Device, browser: &str) -> EngineError {
    let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    let is_absent = cause.contains("not supported on this platform")
        || cause.contains("WebNN is not supported")
        || cause.contains("Failed to create WebNN context");
    if device == Device::Webnn && is_absent {
        return no_webnn(browser).with_source(cause);
    }
    error
}

/// `All nodes placed on [X]. Number of nodes: 12`, and the same with `Node(s)` for a part of them.
fn placement(line: &str) -> Option<(String, u64)> {
    let (_, rest) = line.split_once("placed on [")?;
    let (provider, rest) = rest.split_once("]. Number of nodes: ")?;
    Some((provider.to_owned(), rest.trim().parse().ok()?))
}

/// Nodes by provider, of all sessions together.
fn placements(said: &[String]) -> Vec<(String, u64)> {
    let mut all: Vec<(String, u64)> = Vec::new();
    for (provider, count) in said.iter().filter_map(|line| placement(line)) {
        match all.iter_mut().find(|(known, _)| *known == provider) {
            Some((_, sum)) => *sum += count,
            None => all.push((provider, count)),
        }
    }
    all
}

/// A remark that the run is not in the browser's sandbox.
pub(crate) fn unconfined(why: &str) -> Remark {
    let text = format!("the browser ran without its sandbox, because {why} started it");
    Remark::new(RemarkCode::NoSandbox, text)
}

/// Whether anything is missing that every measurement needs.
pub(crate) fn absent(places: &engine::Places) -> Option<Absent> {
    let browser = || locate::browser(places, Device::Wasm).err().filter(|_| places.page.is_none());
    locate::runtime(places).err().or_else(browser)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_tells_where_nodes_go() {
        let all = "[V:onnxruntime:, x.cc:1]  All nodes placed on [WebGpuExecutionProvider]. Number of nodes: 16";
        assert_eq!(placement(all), Some(("WebGpuExecutionProvider".to_owned(), 16)));
        assert_eq!(placement("Node placements"), None);
    }

    #[test]
    fn a_browser_that_knows_of_webnn_and_has_none_is_named() {
        let error = || {
            EngineError::new(EngineErrorKind::Failed, "ONNX Runtime Web failed in the page")
                .with_source(
                    "NotSupportedError: WebNN is not supported on this platform.".to_owned(),
                )
        };
        let text = explain(error(), Device::Webnn, "Chromium 156.0").to_string();
        assert_eq!(text, "Chromium 156.0 has no WebNN");
        let text = explain(error(), Device::Wasm, "Chromium 156.0").to_string();
        assert!(text.contains("failed in the page"), "{text}");
    }

    #[test]
    fn a_browser_that_lacks_something_is_named() {
        let mut surroundings = Surroundings {
            user_agent: String::new(),
            cores: 2,
            memory: None,
            is_secure: true,
            is_isolated: true,
            clock_step: 0.005,
            has_webgpu: false,
            has_webnn: false,
            has_promise_integration: true,
            adapter: None,
        };
        let ask = |surroundings: &Surroundings, device, precision| {
            let request = LoadRequest::of_onnx("m.onnx", device, precision, 1);
            check(&request, surroundings, "Chrome 100.0").err().map(|error| error.to_string())
        };
        let fp32 = Precision::Fp32;
        assert_eq!(ask(&surroundings, Device::Webnn, fp32).unwrap(), "Chrome 100.0 has no WebNN");
        assert_eq!(ask(&surroundings, Device::Webgpu, fp32).unwrap(), "Chrome 100.0 has no WebGPU");
        assert_eq!(ask(&surroundings, Device::Wasm, fp32), None);
        surroundings.has_webgpu = true;
        assert!(ask(&surroundings, Device::Webgpu, fp32).unwrap().contains("no adapter"));
        surroundings.adapter = Some(Adapter {
            vendor: "google".into(),
            architecture: "swiftshader".into(),
            description: String::new(),
            is_fallback: true,
            half_floats: false,
        });
        assert_eq!(ask(&surroundings, Device::Webgpu, fp32), None);
        let text = ask(&surroundings, Device::Webgpu, Precision::Fp16).unwrap();
        assert!(text.contains("16-bit"), "{text}");
    }
}
