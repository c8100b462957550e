//! A compiled model: what goes in, what comes out, where it runs.

use crate::{
    names::Names,
    recipe::{Recipe, inference_precision},
    runtime::{Compiled, Port},
    session::OpenVinoSession,
};
use engine::{
    EngineError, EngineErrorKind, LoadRequest, LoadedModel, Session, Signature, SignatureValue,
};
use std::collections::BTreeMap;
use types::{Device, Remark, RemarkCode};

/// A model in OpenVINO's memory.
pub(crate) struct OpenVinoModel {
    pub(crate) compiled: Compiled,
    pub(crate) recipe: Recipe,
    /// In OpenVINO's order, under the file's names.
    pub(crate) inputs: Vec<SignatureValue>,
    /// Inputs of the file that nothing uses and OpenVINO dropped.
    pub(crate) unused: Vec<String>,
    pub(crate) outputs: Vec<SignatureValue>,
    /// The file's names of the nodes that make outputs.
    pub(crate) makers: BTreeMap<String, String>,
    placement: String,
    remarks: Vec<Remark>,
}

impl OpenVinoModel {
    pub(crate) fn new(
        recipe: Recipe,
        compiled: Compiled,
        request: &LoadRequest,
        names: Names,
        (inputs, outputs): (Vec<Port>, Vec<Port>),
    ) -> OpenVinoModel {
        let inputs = with_file_names(inputs, &names.inputs);
        let is_dropped = |name: &&String| !inputs.iter().any(|input| input.name == **name);
        OpenVinoModel {
            unused: names.inputs.iter().filter(is_dropped).cloned().collect(),
            inputs,
            outputs: with_file_names(outputs, &names.outputs),
            placement: placement(&compiled, request),
            remarks: remarks(&compiled, request),
            makers: names.makers,
            compiled,
            recipe,
        }
    }
}

impl LoadedModel for OpenVinoModel {
    fn signature(&self) -> Signature {
        let unused = self.unused.iter();
        let unused =
            unused.map(|name| SignatureValue { name: name.clone(), dtype: None, dims: None });
        Signature {
            inputs: self.inputs.iter().cloned().chain(unused).collect(),
            outputs: self.outputs.clone(),
        }
    }

    fn placement(&self) -> String {
        self.placement.clone()
    }

    fn remarks(&self) -> Vec<Remark> {
        self.remarks.clone()
    }

    fn session(&self) -> Result<Box<dyn Session + '_>, EngineError> {
        let request = self.compiled.request().map_err(|fault| {
            EngineError::new(
                EngineErrorKind::Failed,
                "OpenVINO could not create an inference request",
            )
            .with_source(fault)
        })?;
        Ok(Box::new(OpenVinoSession::new(self, request)))
    }
}

/// Ports under the file's names: by name where OpenVINO kept the names, otherwise by order.
fn with_file_names(ports: Vec<Port>, names: &[String]) -> Vec<SignatureValue> {
    let said: Vec<&str> = ports.iter().filter_map(|port| port.name.as_deref()).collect();
    let has_all = names.iter().all(|name| said.contains(&name.as_str()));
    let by_order = ports.len() == names.len() && !has_all;
    let value = |(index, port): (usize, Port)| SignatureValue {
        name: match by_order {
            true => names[index].clone(),
            false => port.name.unwrap_or_else(|| index.to_string()),
        },
        dtype: port.dtype,
        dims: port.dims,
    };
    ports.into_iter().enumerate().map(value).collect()
}

fn placement(compiled: &Compiled, request: &LoadRequest) -> String {
    let number = |key| compiled.property(key).ok().and_then(|text| text.parse::<u32>().ok());
    let mut words = vec![request.device.to_string()];
    if request.device == Device::Cpu {
        let threads = number("INFERENCE_NUM_THREADS").unwrap_or(request.threads.max(1));
        words.push(format!("{threads} thread{}", if threads == 1 { "" } else { "s" }));
    }
    if let Some(streams) = number("NUM_STREAMS").filter(|&streams| streams > 1) {
        words.push(format!("{streams} streams"));
    }
    let devices = compiled.property("EXECUTION_DEVICES").unwrap_or_default();
    if !devices.is_empty() && devices != "CPU" {
        words.push(format!("on {devices}"));
    }
    words.join(", ")
}

fn remarks(compiled: &Compiled, request: &LoadRequest) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let asked = inference_precision(request.device, request.precision);
    if let Ok(precision) = compiled.property("INFERENCE_PRECISION_HINT")
        && precision != asked
    {
        remarks.push(Remark::new(
            RemarkCode::OtherPrecision,
            format!("{asked} was requested, but OpenVINO computes in {precision}"),
        ));
    }
    if request.device == Device::Cpu
        && let Ok(threads) = compiled.property("INFERENCE_NUM_THREADS")
        && threads != request.threads.max(1).to_string()
    {
        let asked = request.threads;
        remarks.push(Remark::new(
            RemarkCode::OtherThreads,
            format!("{asked} threads were requested, but OpenVINO uses {threads}"),
        ));
    }
    let options = &request.options;
    let idle = [
        (options.graph_optimisation.is_some(), "a level of graph optimisation"),
        (options.inter_threads.is_some(), "threads between operators"),
        (options.compile.is_some(), "a compilation mode"),
    ];
    for (_, what) in idle.iter().filter(|(said, _)| *said) {
        remarks.push(Remark::new(
            RemarkCode::OptionWithoutEffect,
            format!("OpenVINO does not have {what}; the setting had no effect"),
        ));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(ports: &[&str], file: &[&str]) -> Vec<String> {
        let port = |name: &&str| Port { name: Some((*name).into()), dtype: None, dims: None };
        let file: Vec<String> = file.iter().map(|&name| name.into()).collect();
        with_file_names(ports.iter().map(port).collect(), &file)
            .into_iter()
            .map(|v| v.name)
            .collect()
    }

    #[test]
    fn the_names_of_the_file_win() {
        assert_eq!(names(&["a", "b"], &["a", "b"]), ["a", "b"]);
        assert_eq!(names(&["b", "a"], &["a", "b"]), ["b", "a"]);
        // Merged names: OpenVINO says the same one twice, or one from inside the graph.
        assert_eq!(names(&["a", "a"], &["z", "a"]), ["z", "a"]);
        assert_eq!(names(&["hidden"], &["y"]), ["y"]);
        // A dropped input leaves nothing to count.
        assert_eq!(names(&["b"], &["a", "b"]), ["b"]);
    }
}
