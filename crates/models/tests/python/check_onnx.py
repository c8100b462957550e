"""Reads every `model.onnx` below FOLDER with ONNX's checker, and runs it on ONNX Runtime.

Usage: check_onnx.py FOLDER. The outputs must be those in the `cases.safetensors` beside the model.
"""

import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from safetensors.numpy import load_file

TOLERANCE = 1e-4


def check(path):
    onnx.checker.check_model(str(path), full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    cases = load_file(path.parent / "cases.safetensors")
    for index in sorted({name.split(".")[0] for name in cases}):
        inputs = {item.name: cases[f"{index}.in.{item.name}"] for item in session.get_inputs()}
        names = [item.name for item in session.get_outputs()]
        for name, found in zip(names, session.run(names, inputs)):
            expected = cases[f"{index}.out.{name}"]
            assert found.shape == expected.shape, f"{path}: {name} is {found.shape}, not {expected.shape}"
            difference = np.abs(found - expected)
            keep = cases.get(f"{index}.keep.{name}")
            if keep is not None:
                difference = difference[keep.astype(bool)]
            assert difference.max() <= TOLERANCE, f"{path}: {name} differs by {difference.max()}"


if __name__ == "__main__":
    models = sorted(Path(sys.argv[1]).glob("*/model.onnx"))
    assert models, "no model to check"
    for model in models:
        check(model)
