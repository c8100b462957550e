"""Reads every pruned folder below FOLDER as other tools do, and says whether they agree.

Usage: check_pruned.py FOLDER. Every model's folder has `cases.safetensors` and folders `pruned-…` with `config.json`,
`model.safetensors` and `onnx/model.onnx`. ONNX's checker reads the graph, ONNX Runtime runs it, `transformers` loads the
folder. The largest difference between the two, and the sizes of the graph's weights, go to `FOLDER/pruned.json`.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
import transformers
from safetensors.numpy import load_file
from transformers.models.whisper.modeling_whisper import WhisperEncoder

transformers.logging.set_verbosity_error()


def cases_of(folder, inputs):
    cases = load_file(folder / "cases.safetensors")
    for index in sorted({name.split(".")[0] for name in cases}):
        yield index, {name: cases[f"{index}.in.{name}"] for name in inputs}, cases


def check(folder):
    path = folder / "onnx" / "model.onnx"
    onnx.checker.check_model(str(path), full_check=True)
    graph = onnx.load(str(path), load_external_data=False).graph
    outputs = [item.name for item in graph.output]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    config = json.loads((folder / "config.json").read_text())
    [name] = config["architectures"]
    # Half of a model has no name at the top.
    kind = WhisperEncoder if name == "WhisperEncoder" else getattr(transformers, name)
    model, loading = kind.from_pretrained(
        folder, output_loading_info=True, dtype=torch.float32
    )
    # Positions are counted, and a number of batches is only looked at in training.
    derived = ("position_ids", "num_batches_tracked")
    missing = [key for key in loading["missing_keys"] if not key.endswith(derived)]
    wrong = missing + list(loading["unexpected_keys"]) + list(loading["mismatched_keys"])
    assert not wrong, f"{folder}: {wrong}"
    model.eval()
    worst = 0.0
    for index, inputs, cases in cases_of(folder.parent, [item.name for item in graph.input]):
        with torch.no_grad():
            result = model(**{name: torch.from_numpy(value) for name, value in inputs.items()})
        for name, found in zip(outputs, session.run(outputs, inputs)):
            expected, keep = result[name].numpy(), cases.get(f"{index}.keep.{name}")
            if keep is not None:
                found, expected = found[keep.astype(bool)], expected[keep.astype(bool)]
            assert found.shape == expected.shape, f"{folder}: {name}"
            worst = max(worst, float(np.abs(found - expected).max()))
    weights = sum(int(np.prod(tensor.dims)) for tensor in graph.initializer if tensor.data_type == 1)
    return {"difference": worst, "weights": weights}


if __name__ == "__main__":
    root, found = Path(sys.argv[1]), {}
    folders = sorted(root.glob("*/pruned-*"))
    assert folders, "no model to check"
    for folder in folders:
        found[f"{folder.parent.name}/{folder.name}"] = check(folder)
    (root / "pruned.json").write_text(json.dumps(found, indent=1))
