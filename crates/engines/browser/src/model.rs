//! A model in a page, and what is known of where it runs.

use crate::{
    chromium::Chromium,
    convert::element_type,
    load::unconfined,
    page::{Adapter, Loaded, Page, Port, Prepared, Surroundings},
    session::BrowserSession,
    user_agent,
};
use engine::{
    EngineError, EngineErrorKind, LoadRequest, LoadStep, LoadedModel, Session, Signature,
    SignatureValue,
};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use types::{Bytes, Cpu, Device, Machine, Remark, RemarkCode};

/// The providers of the runtime by device.
fn provider(device: Device) -> &'static str {
    match device {
        Device::Webgpu => "WebGpuExecutionProvider",
        Device::Webnn => "WebNNExecutionProvider",
        _ => "CPUExecutionProvider",
    }
}

/// A model in a page.
pub(crate) struct BrowserModel {
    pub(crate) page: Page,
    pub(crate) device: Device,
    /// The browser that we started; `None` where a person opened the page.
    chromium: Option<Chromium>,
    surroundings: Surroundings,
    signature: Signature,
    /// Nodes by provider; empty where everything runs in WebAssembly.
    placements: Vec<(String, u64)>,
    pub(crate) runtime: String,
    pub(crate) threads: u32,
    asked_threads: u32,
    pub(crate) steps: Vec<LoadStep>,
    remarks: Vec<Remark>,
}

impl BrowserModel {
    pub(crate) fn new(
        request: &LoadRequest,
        page: Page,
        chromium: Option<Chromium>,
        surroundings: Surroundings,
        loaded: Loaded,
        prepared: Prepared,
        placements: Vec<(String, u64)>,
    ) -> BrowserModel {
        let ports = |ports: Vec<Port>| ports.into_iter().map(value).collect();
        BrowserModel {
            page,
            device: request.device,
            chromium,
            surroundings,
            signature: Signature { inputs: ports(loaded.inputs), outputs: ports(loaded.outputs) },
            placements,
            runtime: prepared.version.unwrap_or_default(),
            threads: 1,
            asked_threads: request.threads.max(1),
            steps: Vec::new(),
            remarks: Vec::new(),
        }
    }

    /// Says what a reader must know; a device that took no node is an error.
    pub(crate) fn complete(&mut self) -> Result<(), EngineError> {
        if self.device != Device::Wasm {
            let wanted = provider(self.device);
            let took_none = |(name, count): &(String, u64)| name != wanted || *count == 0;
            if !self.placements.is_empty() && self.placements.iter().all(took_none) {
                let message = format!("`{}` of the browser took no node of the model", self.device);
                return Err(EngineError::new(EngineErrorKind::Unsupported, message).with_hint(
                    "`--device wasm` runs it, and every node would have run there anyway",
                ));
            }
            self.remarks.extend(elsewhere(wanted, &self.placements));
        }
        if let (Device::Webgpu, Some(adapter)) = (self.device, &self.surroundings.adapter)
            && is_software(adapter)
        {
            let text = format!(
                "WebGPU ran on {}, which computes on the processor: no claim about a GPU",
                name_of(adapter)
            );
            self.remarks.push(Remark::new(RemarkCode::SoftwareAdapter, text));
        }
        if self.device == Device::Webnn {
            let text = "WebNN does not tell which hardware it used";
            self.remarks.push(Remark::new(RemarkCode::UnknownPlacement, text));
        }
        if self.threads != self.asked_threads {
            let text = format!(
                "the page is not isolated from others, so WebAssembly has 1 thread and not {}",
                self.asked_threads
            );
            self.remarks.push(Remark::new(RemarkCode::OtherThreads, text));
        }
        let unconfined_by = self.chromium.as_ref().and_then(|browser| browser.unconfined);
        self.remarks.extend(unconfined_by.map(unconfined));
        Ok(())
    }

    /// `Chrome 153.0.8010.0, headless`.
    fn browser(&self) -> String {
        let agent = &self.surroundings.user_agent;
        let name = match &self.chromium {
            Some(chromium) => chromium.version.clone(),
            None => user_agent::browser(agent),
        };
        let window = if user_agent::is_headless(agent) { "headless" } else { "in a window" };
        format!("{}, {window}", name.replace("HeadlessChrome", "Chrome"))
    }
}

/// Which nodes do not run on the device.
fn elsewhere(wanted: &str, placements: &[(String, u64)]) -> Option<Remark> {
    if placements.is_empty() {
        let text = "ONNX Runtime Web did not report which nodes run on the device";
        return Some(Remark::new(RemarkCode::UnknownPlacement, text));
    }
    let all: u64 = placements.iter().map(|(_, count)| count).sum();
    let others: Vec<String> = placements
        .iter()
        .filter(|(name, _)| name != wanted)
        .map(|(name, count)| {
            let place = if name == "CPUExecutionProvider" { "WebAssembly" } else { name };
            format!("{count} of {all} nodes of the optimised graph run in {place}")
        })
        .collect();
    (!others.is_empty()).then(|| Remark::new(RemarkCode::OtherDevice, others.join(", ")))
}

/// An adapter that computes on the processor; browsers that do not say so are known by the names of such adapters.
fn is_software(adapter: &Adapter) -> bool {
    let says = |word: &str| {
        [&adapter.architecture, &adapter.description, &adapter.vendor]
            .iter()
            .any(|text| text.to_ascii_lowercase().contains(word))
    };
    adapter.is_fallback || ["swiftshader", "llvmpipe", "lavapipe", "warp"].iter().any(|w| says(w))
}

fn name_of(adapter: &Adapter) -> String {
    let words = [&adapter.vendor, &adapter.architecture, &adapter.description];
    let words: Vec<&str> =
        words.into_iter().map(|word| word.trim()).filter(|word| !word.is_empty()).collect();
    if words.is_empty() { "an adapter without a name".to_owned() } else { words.join(" ") }
}

/// What a page knows of its machine: too little to tell two of a kind apart, enough to tell kinds apart.
fn machine_of(around: &Surroundings) -> Machine {
    let os = user_agent::system(&around.user_agent).to_owned();
    let browser = user_agent::browser(&around.user_agent);
    let adapter = around.adapter.as_ref().map(name_of);
    let told = [Some(os.clone()), Some(around.cores.to_string()), adapter.clone()];
    let told: Vec<String> = told.into_iter().flatten().collect();
    let digest = Sha256::digest(told.join("\n"));
    let hash: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Machine {
        key: Machine::browser_key(&hash),
        hostname: format!("a device with {browser} on {os}"),
        os,
        cpu: Cpu {
            model: adapter.map_or_else(String::new, |adapter| format!("GPU: {adapter}")),
            architecture: "unknown".into(),
            cores: around.cores,
            threads: around.cores,
            sockets: 1,
            numa_nodes: 1,
            features: Vec::new(),
            cache: None,
        },
        memory: Bytes(around.memory.map_or(0, |memory| (memory * 1e3) as u64 * (1 << 30) / 1000)),
        gpus: Vec::new(),
        hypervisor: None,
    }
}

fn value(port: Port) -> SignatureValue {
    let dim = |dim: &serde_json::Value| dim.as_u64().and_then(|dim| usize::try_from(dim).ok());
    SignatureValue {
        name: port.name,
        dtype: port.kind.as_deref().and_then(element_type),
        dims: port.shape.map(|shape| shape.iter().map(dim).collect()),
    }
}

impl LoadedModel for BrowserModel {
    fn signature(&self) -> Signature {
        self.signature.clone()
    }

    fn placement(&self) -> String {
        let plural = if self.threads == 1 { "" } else { "s" };
        let place = match (self.device, &self.surroundings.adapter) {
            (Device::Webgpu, Some(adapter)) => {
                let kind = if is_software(adapter) { "software" } else { "hardware" };
                format!("webgpu on {} ({kind})", name_of(adapter))
            }
            (Device::Wasm, _) => format!("wasm, {} thread{plural}", self.threads),
            (device, _) => device.to_string(),
        };
        let all: u64 = self.placements.iter().map(|(_, count)| count).sum();
        let wanted = provider(self.device);
        let on = self.placements.iter().filter(|(name, _)| name == wanted);
        let on: u64 = on.map(|(_, count)| count).sum();
        let share = if all > 0 { format!(", {on} of {all} nodes") } else { String::new() };
        format!("{place}{share}, {}", self.browser())
    }

    fn remarks(&self) -> Vec<Remark> {
        self.remarks.clone()
    }

    fn versions(&self) -> BTreeMap<String, String> {
        let around = &self.surroundings;
        let mut versions = BTreeMap::from([
            ("browser".to_owned(), self.browser()),
            ("onnxruntime-web".to_owned(), self.runtime.clone()),
            ("browser clock step".to_owned(), format!("{:.0} µs", around.clock_step * 1e3)),
        ]);
        if let Some(chromium) = &self.chromium {
            versions.insert("browser script engine".into(), chromium.script_engine.clone());
        }
        if let Some(adapter) = &around.adapter {
            let kind = if is_software(adapter) { "software" } else { "hardware" };
            versions.insert("webgpu adapter".into(), format!("{}, {kind}", name_of(adapter)));
        }
        versions
    }

    fn machine(&self) -> Option<Machine> {
        self.chromium.is_none().then(|| machine_of(&self.surroundings))
    }

    fn steps(&self) -> Vec<LoadStep> {
        self.steps.clone()
    }

    fn session(&self) -> Result<Box<dyn Session + '_>, EngineError> {
        Ok(Box::new(BrowserSession::new(self)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_went_elsewhere_are_counted() {
        let on = |name: &str, count| (name.to_owned(), count);
        let wanted = provider(Device::Webgpu);
        let mixed = [on(wanted, 241), on("CPUExecutionProvider", 12)];
        let remark = elsewhere(wanted, &mixed).unwrap();
        assert_eq!(remark.text, "12 of 253 nodes of the optimised graph run in WebAssembly");
        assert_eq!(elsewhere(wanted, &mixed[..1]), None);
        assert_eq!(elsewhere(wanted, &[]).unwrap().code, RemarkCode::UnknownPlacement);
    }

    #[test]
    fn an_adapter_on_the_processor_is_known_even_where_the_browser_does_not_say_so() {
        let adapter = |vendor: &str, architecture: &str, is_fallback| Adapter {
            vendor: vendor.into(),
            architecture: architecture.into(),
            description: String::new(),
            is_fallback,
            half_floats: false,
        };
        assert!(is_software(&adapter("google", "swiftshader", false)));
        assert!(is_software(&adapter("", "", true)));
        assert!(!is_software(&adapter("apple", "metal-3", false)));
        assert_eq!(name_of(&adapter("apple", "metal-3", false)), "apple metal-3");
        assert_eq!(name_of(&adapter("", "", true)), "an adapter without a name");
    }
}
