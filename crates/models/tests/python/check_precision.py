"""Reads every converted model below FOLDER with ONNX's checker, runs it, and says how near it is to fp32.

Usage: check_precision.py FOLDER. Every model's folder has `cases.safetensors` and the folders `fp16`, `bf16` and `int8`
with a `model.onnx` each. ONNX Runtime runs fp16 and int8, OpenVINO int8 too, ONNX's own reference runs bf16, which
ONNX Runtime has no CPU kernels for. The smallest cosine between an output and PyTorch's fp32 answer goes to
`FOLDER/cosines.json` by model and format; what ONNX Runtime gave for int8 goes to `int8/cases.safetensors`.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator
from safetensors.numpy import load_file, save_file

SMALL = ["bert", "gpt2", "llama", "t5", "vit", "clip-end", "encoder-learned", "feed-forward"]
SMALL += ["yolos", "whisper", "wav2vec2"]


def cosine(found, expected, keep):
    if keep is not None:
        found, expected = found[keep.astype(bool)], expected[keep.astype(bool)]
    a, b = found.astype(np.float64).ravel(), expected.astype(np.float64).ravel()
    assert np.isfinite(a).all(), "not finite"
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def on_runtime(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda names, inputs: session.run(names, inputs)


def on_openvino(path):
    import openvino

    # Where the processor multiplies bf16 by itself, OpenVINO would round to it unless told otherwise.
    hints = {"INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.Core().compile_model(str(path), "CPU", hints)
    return lambda names, inputs: [compiled(inputs)[name] for name in names]


def on_reference(path):
    evaluator = ReferenceEvaluator(str(path))
    return lambda names, inputs: evaluator.run(names, inputs)


def cases_of(folder, model):
    cases = load_file(folder / "cases.safetensors")
    inputs = [item.name for item in model.graph.input]
    outputs = [item.name for item in model.graph.output]
    for index in sorted({name.split(".")[0] for name in cases}):
        expected = {name: cases[f"{index}.out.{name}"] for name in outputs}
        keep = {name: cases.get(f"{index}.keep.{name}") for name in outputs}
        yield index, {name: cases[f"{index}.in.{name}"] for name in inputs}, expected, keep


def check(folder, precision, engine):
    path = folder / precision / "model.onnx"
    onnx.checker.check_model(str(path), full_check=True)
    model = onnx.load(str(path), load_external_data=False)
    run, worst, kept = engine(path), 1.0, {}
    for index, inputs, expected, keep in cases_of(folder, model):
        # The reference evaluator is slow: one long case says no more than a short one.
        if engine is on_reference and next(iter(inputs.values())).size > 4000:
            continue
        for name, found in zip(expected, run(list(expected), inputs)):
            assert found.dtype == np.float32 and found.shape == expected[name].shape, f"{path}: {name}"
            worst = min(worst, cosine(found, expected[name], keep[name]))
            kept[f"{index}.out.{name}"] = found
        kept.update({f"{index}.in.{name}": value for name, value in inputs.items()})
        kept.update({f"{index}.keep.{name}": value for name, value in keep.items() if value is not None})
    if precision == "int8" and engine is on_runtime:
        save_file(kept, folder / "int8" / "cases.safetensors")
    return worst


if __name__ == "__main__":
    root, cosines = Path(sys.argv[1]), {}
    folders = sorted(path.parent.parent for path in root.glob("*/fp16/model.onnx"))
    assert folders, "no model to check"
    for folder in folders:
        found = {"fp16": check(folder, "fp16", on_runtime)}
        # Not every model has every format.
        if (folder / "int8").exists():
            found["int8"] = check(folder, "int8", on_runtime)
        if (folder / "bf16").exists():
            onnx.checker.check_model(str(folder / "bf16" / "model.onnx"), full_check=True)
        if folder.name in SMALL:
            found["bf16"] = check(folder, "bf16", on_reference)
            found["int8 on openvino"] = check(folder, "int8", on_openvino)
        cosines[folder.name] = found
    (root / "cosines.json").write_text(json.dumps(cosines, indent=1))
