//! Models as people have them: an ONNX file, or a folder with a configuration and weights.

use super::{config::CONFIGS, put};
use crate::{
    Outcome, Target, mutate,
    target::{ROOM, Reader},
};
use models::{Ask, Layout, Request, Resolved};
use safetensors::{Dtype, tensor::TensorView};
use std::path::Path;
use types::InputShape;

/// An ONNX file as it is opened by every command.
pub(crate) const MODEL_FILE: Target = Target {
    name: "model-file",
    what: "ONNX files: opened, and their inputs settled",
    one_of: 1,
    room: ROOM,
    seeds: super::graph::seeds,
    mutate: mutate::onnx,
    open: || -> Reader {
        let folder = super::folder();
        put(&folder, "model.data", &[1; 4096]);
        Box::new(move |bytes| {
            let path = put(&folder, "model.onnx", bytes);
            let resolved = resolve(&path, folder.path());
            if let Ok(resolved) = &resolved {
                settle(resolved);
            }
            Outcome::from(&resolved)
        })
    },
    expected: &[],
};

/// The weights of a folder.
pub(crate) const CHECKPOINT: Target = Target {
    name: "checkpoint",
    what: "safetensors of a model's folder, made ready to run",
    // Whole ones are written again to the cache.
    one_of: 2,
    room: ROOM,
    seeds: || [Dtype::F32, Dtype::F16].map(checkpoint).into(),
    mutate: mutate::safetensors,
    open: || -> Reader {
        let folder = super::folder();
        put(&folder, "config.json", CONFIGS[0].as_bytes());
        Box::new(move |bytes| {
            put(&folder, "model.safetensors", bytes);
            let cache = super::folder();
            let resolved = resolve(folder.path(), cache.path());
            Outcome::from(&resolved)
        })
    },
    expected: &[],
};

pub(super) fn resolve(path: &Path, cache: &Path) -> Result<Resolved, models::ModelError> {
    let name = path.to_str().expect("a temporary folder has a plain name");
    let request = Request {
        offline: true,
        hub_cache: Some(cache.join("hub")),
        ..Request::new(name, cache.join("cache"))
    };
    models::resolve(&request, &mut |_| {})
}

/// Asks for inputs in several ways; those that come out can be addressed. States of nothing yet are empty.
fn settle(resolved: &Resolved) {
    let given: Vec<InputShape> = resolved
        .model
        .graph
        .inputs
        .iter()
        .take(1)
        .map(|input| InputShape { name: input.name.clone(), dims: vec![2, 3] })
        .collect();
    for (batch, length, given) in
        [(1, None, &[][..]), (3, Some(5), &[][..]), (usize::MAX, None, &[]), (2, None, &given)]
    {
        let ask = Ask { batch, length, given, ..Ask::default() };
        let Ok(settled) = resolved.settlement(&ask) else { continue };
        for input in &settled.inputs {
            let bytes = input.dims.iter().try_fold(input.dtype.size(), |b, d| b.checked_mul(*d));
            assert!(bytes.is_some(), "`{}` of {:?}", input.name, input.dims);
        }
        let _ = resolved.trials(&ask, false);
    }
    let _ = (resolved.default_batch(&given), resolved.length(&given), resolved.state_batch());
}

/// A whole checkpoint of the first configuration.
fn checkpoint(dtype: Dtype) -> Vec<u8> {
    let config = serde_json::from_str(CONFIGS[0]).expect("whole JSON");
    let blueprint = models::build(&config).expect("a whole configuration");
    let mut weights: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
    for weight in &blueprint.weights {
        let mut dims = weight.dims.clone();
        if weight.layout == Layout::Transposed {
            dims.reverse();
        }
        let size = dims.iter().product::<usize>() * dtype.bitsize() / 8;
        let name = weight.checkpoint.first().cloned().unwrap_or_default();
        if !weights.iter().any(|(known, ..)| *known == name) {
            weights.push((name, dims, vec![0x2f; size]));
        }
    }
    let views = weights.iter().map(|(name, dims, bytes)| {
        (name, TensorView::new(dtype, dims.clone(), bytes).expect("the bytes fit"))
    });
    safetensors::serialize(views, None).expect("whole weights")
}
