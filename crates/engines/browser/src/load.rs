//! Loads a model: checks what can be checked before a browser starts, starts one, and brings runtime and model into a page.

use crate::{
    chromium::Chromium,
    locate,
    model::BrowserModel,
    page::{Adapter, Loaded, Page, Prepared, Surroundings, duration},
    server::{Content, Server},
    user_agent,
};
use engine::{EngineError, EngineErrorKind, LoadRequest, LoadStep, PageAddress, found::Absent};
use graph::{Dim, Model, TensorData};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Instant,
};
use types::{Device, GraphOptimisation, Precision, Remark, RemarkCode};

/// The most bytes that a page can fetch as one array.
const LARGEST_FILE: u64 = 2 << 30;

/// The most bytes that a module of WebAssembly can address.
const LARGEST_MODEL: u64 = 4 << 30;

/// The script of a runtime and its code: for browsers with promises in WebAssembly, and for others.
const WITH_PROMISES: (&str, &str) = (locate::SCRIPT, "ort-wasm-simd-threaded.jspi.wasm");
const WITHOUT: (&str, &str) = ("ort.webgpu.min.mjs", "ort-wasm-simd-threaded.asyncify.wasm");

/// The parts of the page.
const PARTS: [(&str, &str); 4] = [
    ("", include_str!("../page/index.html")),
    ("page.js", include_str!("../page/page.js")),
    ("worker.js", include_str!("../page/worker.js")),
    ("runs.js", include_str!("../page/runs.js")),
];

/// What a setting of the user may be called.
const WEBNN_DEVICE: &str = "webnn.device";

fn refused(why: String) -> EngineError {
    EngineError::new(EngineErrorKind::Unsupported, why)
}

pub(crate) fn load(request: &LoadRequest) -> Result<BrowserModel, EngineError> {
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
    let files = Files::of(request)?;
    let mut session = session_options(request)?;
    if device == Device::Webnn {
        // It takes no node of an unknown size.
        session["freeDimensionOverrides"] = json!(files.sizes);
    }
    let webnn = webnn_device(request)?;
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
    files.offer(&server);

    let mut steps = Vec::new();
    let mut step = |name: &str, time| steps.push(LoadStep { name: name.to_owned(), time });
    let mut chromium = None;
    let mut begin = Instant::now();
    if elsewhere.is_none() {
        let browser = locate::browser(&request.places, device)?;
        let mut started = Chromium::start(&browser.program, device, &server.shared)?;
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
    let question = json!({
        "device": device.to_string(),
        "model": "model/graph",
        "data": files.names(),
        "options": session,
        "webnn": { "deviceType": webnn },
    });
    let loaded: Loaded =
        page.ask("load", question).map_err(|error| explain(error, device, &name))?;
    step("model download", duration(loaded.download));
    step("session", duration(loaded.create));
    let placements = loaded.said.iter().filter_map(|line| placement(line)).collect();
    let mut model =
        BrowserModel::new(request, page, chromium, surroundings, loaded, prepared, placements);
    model.runtime = runtime.version;
    model.threads = threads;
    model.steps = steps;
    model.complete()?;
    Ok(model)
}

/// The files of a model.
struct Files {
    graph: PathBuf,
    /// Sizes by the names that the graph has for them, as far as the inputs tell.
    sizes: BTreeMap<String, usize>,
    /// By the names that the graph has for them.
    data: Vec<(String, PathBuf)>,
}

impl Files {
    fn of(request: &LoadRequest) -> Result<Files, EngineError> {
        let onnx = &request.onnx;
        let bad = |why: String| {
            let message = format!("could not read `{}`", onnx.display());
            EngineError::new(EngineErrorKind::BadModel, message).with_source(why)
        };
        let model = Model::read(onnx).map_err(|error| bad(error.to_string()))?;
        let names: BTreeSet<PathBuf> = model
            .graph
            .tensors()
            .into_iter()
            .filter_map(|tensor| match &tensor.data {
                TensorData::External { path, .. } => Some(path.clone()),
                _ => None,
            })
            .collect();
        let data = names.into_iter().map(|name| {
            let path = model.locate(&name);
            (name.to_string_lossy().into_owned(), path)
        });
        let sizes = sizes(&model, request);
        let files = Files { graph: onnx.clone(), sizes, data: data.collect() };
        files.check_sizes()?;
        Ok(files)
    }

    fn check_sizes(&self) -> Result<(), EngineError> {
        let size = |path: &Path| fs::metadata(path).map_or(0, |metadata| metadata.len());
        let all = self.data.iter().map(|(_, path)| path).chain([&self.graph]);
        let sizes: Vec<(&PathBuf, u64)> = all.map(|path| (path, size(path))).collect();
        if let Some((path, size)) = sizes.iter().find(|(_, size)| *size >= LARGEST_FILE) {
            return Err(refused(format!(
                "`{}` has {}: a browser loads files of less than 2 GiB",
                path.display(),
                number::bytes(*size)
            ))
            .with_hint("`modelmeter quantize` makes it smaller; several files of weights may be larger together"));
        }
        let total: u64 = sizes.iter().map(|(_, size)| size).sum();
        if total >= LARGEST_MODEL {
            return Err(refused(format!(
                "the model has {}: WebAssembly addresses 4 GiB",
                number::bytes(total)
            ))
            .with_hint("`modelmeter quantize` makes it smaller"));
        }
        Ok(())
    }

    fn offer(&self, server: &Server) {
        server.put("model/graph", Content::File(self.graph.clone()));
        for (number, (_, path)) in self.data.iter().enumerate() {
            server.put(format!("model/data-{number}"), Content::File(path.clone()));
        }
    }

    fn names(&self) -> Value {
        let name = |(number, (name, _)): (usize, &(String, PathBuf))| json!({ "name": name, "path": format!("model/data-{number}") });
        self.data.iter().enumerate().map(name).collect()
    }
}

/// The sizes that the graph's inputs have names for.
fn sizes(model: &Model, request: &LoadRequest) -> BTreeMap<String, usize> {
    let mut sizes = BTreeMap::new();
    for input in &model.graph.inputs {
        let given = request.input_dims.get(&input.name).into_iter().flatten();
        for (dim, size) in input.shape.iter().flatten().zip(given) {
            if let Dim::Symbol(name) = dim {
                sizes.insert(name.clone(), *size);
            }
        }
    }
    sizes
}

/// What the user set, in the runtime's words.
fn session_options(request: &LoadRequest) -> Result<Value, EngineError> {
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

fn webnn_device(request: &LoadRequest) -> Result<&str, EngineError> {
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
    fn a_file_that_no_page_can_hold_is_refused_before_a_browser_starts() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, size: u64| {
            let path = folder.path().join(name);
            fs::File::create(&path).unwrap().set_len(size).unwrap();
            path
        };
        let graph = file("model.onnx", 10);
        let part = |name: &str, size| (name.to_owned(), file(name, size));
        let of = |data| Files { graph: graph.clone(), sizes: BTreeMap::new(), data };
        let error = of(vec![part("a", LARGEST_FILE)]).check_sizes().unwrap_err();
        assert!(error.to_string().contains("2 GiB"), "{error}");
        let many = vec![part("b", 3 << 29), part("c", 3 << 29), part("d", 3 << 29)];
        let error = of(many).check_sizes().unwrap_err();
        assert!(error.to_string().contains("4 GiB"), "{error}");
        assert!(of(vec![part("e", 5), part("f", 1 << 30)]).check_sizes().is_ok());
    }

    #[test]
    fn the_names_of_sizes_get_what_the_inputs_have() {
        let mut builder = graph::GraphBuilder::new("g");
        let dims: [Dim; 3] = ["batch".into(), "length".into(), 8.into()];
        let x = builder.input("x", graph::DataType::Float, &dims);
        builder.output("y", &x, graph::DataType::Float, &dims);
        let model = builder.finish_model();
        let mut request = LoadRequest::of_onnx("m.onnx", Device::Webnn, Precision::Fp32, 1);
        assert!(sizes(&model, &request).is_empty());
        request.input_dims.insert("x".into(), vec![4, 128, 8]);
        let expected = BTreeMap::from([("batch".to_owned(), 4), ("length".to_owned(), 128)]);
        assert_eq!(sizes(&model, &request), expected);
    }

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
