//! Training in a page: graphs, weights and the optimiser are there, and its clock times the phases of a step.

use crate::{
    convert::{Part, pack, unpack},
    files::{Files, check_sizes},
    load,
    model::BrowserModel,
    page::duration,
};
use engine::{
    EngineError, EngineErrorKind, GraphTrainer, LoadRequest, LoadStep, LoadedModel, StepInputs,
    StepTaken, TrainingFiles, first_values,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path};
use types::{Bytes, Elements, HostTensor, Machine, Phase, Remark};

/// The graphs of a step, as the page calls them.
const GRAPHS: [&str; 3] = ["forward", "loss", "backward"];

/// Where the page finds tensors.
const WEIGHTS: &str = "weights";
const VALUES: &str = "values";
const MASKS: &str = "masks";

/// A model in training in a page.
pub(crate) struct BrowserTrainer {
    model: BrowserModel,
}

/// Milliseconds of the phases of a step.
#[derive(Deserialize)]
struct Times {
    forward: f64,
    loss: f64,
    backward: f64,
    optimizer: f64,
    total: f64,
}

#[derive(Deserialize)]
struct Stepped {
    times: Times,
    /// Nothing where it is not a number, for which JSON has no word.
    loss: Option<f64>,
    broken: Option<String>,
    kept: u64,
    gradients: u64,
    #[serde(default)]
    sums: Vec<Part>,
}

#[derive(Deserialize)]
struct Told {
    outputs: Vec<Part>,
}

/// Brings the graphs of a step and the first values of the weights into a page.
pub(crate) fn load(
    request: &LoadRequest,
    files: &TrainingFiles,
) -> Result<BrowserTrainer, EngineError> {
    load::check_request(request)?;
    let paths = [&files.forward, &files.loss, &files.backward];
    let mut graphs = Vec::with_capacity(paths.len());
    for path in paths {
        graphs.push(Files::of(&LoadRequest { onnx: path.clone(), ..request.clone() })?);
    }
    let elements = |dims: &[usize]| dims.iter().product::<usize>() as u64;
    let weights: u64 = files.parameters.iter().map(|weight| 4 * elements(&weight.dims)).sum();
    let mut sizes: Vec<(&Path, u64)> = graphs.iter().flat_map(Files::all).collect();
    sizes.push((Path::new("the weights"), weights));
    check_sizes(&sizes)?;
    let (parts, bytes) = weights_of(files)?;
    let opened = load::open(request, |server| {
        for (files, place) in graphs.iter().zip(GRAPHS) {
            files.offer(server, place);
        }
        server.put(WEIGHTS, crate::server::Content::Bytes(bytes.into()));
    })?;
    let parameters: Value = files
        .parameters
        .iter()
        .map(|weight| json!({ "name": weight.name, "gradient": weight.gradient, "rows": weight.rows }))
        .collect();
    let prepared: Value = files
        .prepared
        .iter()
        .map(|value| json!({ "name": value.name, "of": value.of, "dims": value.dims, "turned": value.turned }))
        .collect();
    let question = json!({
        "device": request.device.to_string(),
        "options": load::session_options(request)?,
        "webnn": { "deviceType": load::webnn_device(request)? },
        "graphs": graphs.iter().zip(GRAPHS).map(|(files, place)| files.question(place)).collect::<Value>(),
        "weights": { "path": WEIGHTS, "parts": parts },
        "parameters": parameters,
        "prepared": prepared,
        "saved": files.saved,
        "lossValue": files.loss_value,
    });
    let model = opened.load(request, "loadSteps", question)?;
    // The page has them now.
    model.page.offer(WEIGHTS, Vec::new());
    Ok(BrowserTrainer { model })
}

/// The first values of all weights, one after the other.
fn weights_of(files: &TrainingFiles) -> Result<(Vec<Part>, Vec<u8>), EngineError> {
    let (mut parts, mut bytes) = (Vec::new(), Vec::new());
    for parameter in &files.parameters {
        let elements = Elements::F32(first_values(parameter)?);
        let (name, dims) = (parameter.name.clone(), parameter.dims.clone());
        let (packed, own) = pack(&[HostTensor { name, dims, elements }])?;
        parts.extend(packed.into_iter().map(|part| Part { offset: bytes.len(), ..part }));
        bytes.extend(own);
        // Arrays begin at a multiple of the size of their elements.
        bytes.resize(bytes.len().next_multiple_of(8), 0);
    }
    Ok((parts, bytes))
}

impl BrowserTrainer {
    fn take_step(&self, inputs: StepInputs, sums: bool) -> Result<Stepped, EngineError> {
        let page = &self.model.page;
        let counts: Vec<usize> = inputs.masks.iter().map(Vec::len).collect();
        let masks: Vec<HostTensor> = inputs.masks.into_iter().flatten().collect();
        let (parts, bytes) = pack(&masks)?;
        page.offer(MASKS, bytes);
        let mut parts = parts.into_iter();
        let batches: Vec<Vec<Part>> =
            counts.into_iter().map(|count| parts.by_ref().take(count).collect()).collect();
        let question = json!({
            "path": MASKS, "batches": batches, "factors": inputs.factors, "sums": sums,
        });
        let stepped: Stepped = page.ask("step", question)?;
        if page.was_hidden() {
            let message = "the page was in the background, where browsers slow it down";
            return Err(EngineError::new(EngineErrorKind::Failed, message)
                .with_hint("keep the page open and in front"));
        }
        Ok(stepped)
    }
}

fn taken(stepped: &Stepped) -> StepTaken {
    let Times { forward, loss, backward, optimizer, total } = stepped.times;
    let times = [
        (Phase::Forward, forward),
        (Phase::Loss, loss),
        (Phase::Backward, backward),
        (Phase::Optimizer, optimizer),
        (Phase::Total, total),
    ];
    StepTaken {
        times: times.into_iter().map(|(phase, time)| (phase, duration(time))).collect(),
        loss: stepped.loss.unwrap_or(f64::NAN),
        broken: stepped.broken.clone(),
        kept: Bytes(stepped.kept),
        gradients: Bytes(stepped.gradients),
    }
}

impl GraphTrainer for BrowserTrainer {
    fn placement(&self) -> String {
        self.model.placement()
    }

    fn remarks(&self) -> Vec<Remark> {
        self.model.remarks()
    }

    fn versions(&self) -> BTreeMap<String, String> {
        self.model.versions()
    }

    fn steps(&self) -> Vec<LoadStep> {
        self.model.steps()
    }

    fn machine(&self) -> Option<Machine> {
        self.model.machine()
    }

    fn bind(&mut self, values: &[HostTensor]) -> Result<(), EngineError> {
        let (parts, bytes) = pack(values)?;
        self.model.page.offer(VALUES, bytes);
        let question = json!({ "path": VALUES, "values": parts });
        self.model.page.ask::<Value>("bindStep", question).map(drop)
    }

    fn step(&mut self, inputs: StepInputs) -> Result<StepTaken, EngineError> {
        self.take_step(inputs, false).map(|stepped| taken(&stepped))
    }

    fn step_with_gradients(
        &mut self,
        inputs: StepInputs,
    ) -> Result<(StepTaken, Vec<HostTensor>), EngineError> {
        let stepped = self.take_step(inputs, true)?;
        let sums = unpack(&stepped.sums, &self.model.page.server.take_upload())?;
        Ok((taken(&stepped), sums))
    }

    fn output(&mut self, masks: Vec<HostTensor>, name: &str) -> Result<HostTensor, EngineError> {
        let page = &self.model.page;
        let (parts, bytes) = pack(&masks)?;
        page.offer(MASKS, bytes);
        let question = json!({ "path": MASKS, "masks": parts, "name": name });
        let told: Told = page.ask("outputOfStep", question)?;
        let found = unpack(&told.outputs, &page.server.take_upload())?;
        found.into_iter().next().ok_or_else(|| {
            let message = format!("the forward graph gave no `{name}`");
            EngineError::new(EngineErrorKind::BadModel, message)
        })
    }
}
