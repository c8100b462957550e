//! The engines, one line each.

use engine::Engine;

/// Every engine this build knows, in the order in which `auto` tries them: what was fastest on a CPU comes first, what
/// takes seconds to start last.
pub const ENGINES: &[&dyn Engine] = &[
    &engine_onnxruntime::OnnxRuntime,
    &engine_openvino::OpenVino,
    &engine_rten::Rten,
    &engine_torch::Torch,
];
