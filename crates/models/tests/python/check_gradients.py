"""Differentiates every model below FOLDER with PyTorch, and compares with our graphs on ONNX Runtime.

Usage: check_gradients.py FOLDER. A model's folder holds `training/` and `training-checkpointed/` with the four graphs
and `step.json`. Into each goes `step.safetensors`: `in:NAME` (inputs, weights, labels), `loss:` and `gradient:NAME`.
"""

import json
import math
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
import transformers
from safetensors.torch import load_file, save_file

import make_checkpoint

TOLERANCE = 1e-4
ROUNDING = 1e-6


class Convolution(torch.nn.Module):
    """The network that the Rust side draws node by node."""

    def __init__(self):
        super().__init__()
        nn = torch.nn
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.pool = nn.MaxPool2d(3, 2, padding=1)
        self.depthwise = nn.Sequential(nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8), nn.BatchNorm2d(8), nn.Hardswish())
        self.pointwise = nn.Sequential(nn.Conv2d(8, 12, 1), nn.BatchNorm2d(12), nn.SiLU())
        self.average = nn.AvgPool2d(2, 1, padding=1, count_include_pad=False)
        self.dilated = nn.Conv2d(12, 6, 2, dilation=2)
        self.classifier = nn.Linear(6, 5)

    def forward(self, x):
        x = self.pool(self.stem(x))
        x = self.average(self.pointwise(self.depthwise(x)))
        x = self.dilated(x).mean((2, 3))
        return {"logits": self.classifier(x)}


def load(folder):
    """The module with the weights of the folder, in 64-bit floats."""
    config = json.loads((folder / "config.json").read_text())
    if config.get("model_type") == "convolution":
        model = Convolution()
        model.load_state_dict(load_file(folder / "model.safetensors"), strict=False)
        return model.double().train()
    if "architectures" in config:
        name = config["architectures"][0]
        model = getattr(transformers, name, None) or getattr(make_checkpoint, name)
        model = model.from_pretrained(folder)
    else:
        kind = make_checkpoint.Encoder if "d_model" in config else make_checkpoint.FeedForward
        model = kind(config)
        model.load_state_dict(load_file(folder / "model.safetensors"), strict=False)
    # A padding row without a gradient is a choice of the module that a graph does not have.
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding):
            module.padding_idx = None
    # A batch normalisation that learns looks at the batch.
    model = model.double().train(config.get("model_type") == "resnet")
    return model.requires_grad_(True)


def labels_for(step, output, keep):
    generator = torch.Generator().manual_seed(5)
    if step["classes"] is None:
        return torch.randn(output.shape, generator=generator)
    labels = torch.randint(0, step["classes"], output.shape[:-1], generator=generator)
    if keep is not None and keep.shape == labels.shape:
        labels[keep == 0] = -100
    elif labels.dim() > 1:
        labels.view(-1)[1] = -100
    return labels


def differentiate(folder, step):
    """Inputs, labels, the loss and the gradients by PyTorch's names."""
    model = load(folder)
    cases = load_file(folder / "cases.safetensors")
    inputs = {name[5:]: value for name, value in cases.items() if name.startswith("1.in.")}
    wide = {name: value.double() if value.is_floating_point() else value for name, value in inputs.items()}
    output = model(**wide)[step["output"]]
    labels = labels_for(step, output, cases.get(f"1.keep.{step['output']}"))
    if step["classes"] is None:
        loss = torch.nn.functional.mse_loss(output, labels.double())
    else:
        loss = torch.nn.functional.cross_entropy(output.flatten(0, -2), labels.flatten())
    loss.backward()
    parameters = dict(model.named_parameters(remove_duplicate=False))
    return inputs, labels, loss.detach(), parameters


def session(path):
    onnx.checker.check_model(str(path), full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def run(path, values):
    graph = session(path)
    names = [item.name for item in graph.get_outputs()]
    inputs = {item.name: values[item.name] for item in graph.get_inputs()}
    values.update(zip(names, graph.run(names, inputs)))


def prepare(wanted, values):
    """What the backward graph takes in another form."""
    for value in wanted:
        rows = value["dims"][0] if value["dims"] else 1
        whole = values[value["of"]]
        whole = whole.reshape(-1, rows).T if value["turned"] else whole.reshape(value["dims"])
        values[value["name"]] = np.ascontiguousarray(whole)


def whole(parameter, values, like):
    """A gradient as one array, whatever form it comes in."""
    dense = values[parameter["dense"]].astype(np.float64) if parameter["dense"] else np.zeros(like.shape)
    if parameter["indices"]:
        np.add.at(dense, values[parameter["indices"]], values[parameter["values"]])
    return dense


def check(folder, target, answers):
    step = json.loads((folder / target / "step.json").read_text())
    if step["output"] not in answers:
        answers[step["output"]] = differentiate(folder, step)
    inputs, labels, loss, parameters = answers[step["output"]]
    values = {name: value.numpy() for name, value in inputs.items()}
    values[step["labels"]] = labels.numpy()
    values[step["loss_scale"]] = np.array(1, dtype=np.float32)
    expected, used = {}, {}
    for parameter in step["parameters"]:
        name = next(name for name in parameter["checkpoint"] if name in parameters)
        tensor = parameters[name]
        used.setdefault(id(tensor), []).append(parameter)
        assert tensor.grad is not None, f"{folder}: PyTorch has no gradient for {name}"
        turn = (lambda x: x.T) if parameter["transposed"] else (lambda x: x)
        values[parameter["name"]] = turn(tensor.detach()).float().contiguous().numpy()
        expected[parameter["name"]] = turn(tensor.grad).contiguous()
    left = {name for name, tensor in parameters.items() if tensor.grad is not None and id(tensor) not in used}
    assert not left, f"{folder}: weights without a gradient of ours: {left}"
    untrained = {name for names in step["untrained"] for name in names}
    alone = {name for name, tensor in parameters.items() if tensor.grad is None}
    assert alone <= untrained, f"{folder}: neither trained nor listed: {alone - untrained}"

    # Weights of ours that are one in PyTorch: their gradients are only known together.
    joined = {parameter["name"] for group in used.values() if len(group) > 1 for parameter in group}

    flat = {f"in:{name}": torch.from_numpy(value).contiguous() for name, value in values.items()}
    flat |= {f"gradient:{name}": value.float().contiguous().clone() for name, value in expected.items() if name not in joined}
    flat["loss:"] = loss.float().reshape(1)
    save_file(flat, folder / target / "step.safetensors")

    for graph in ("forward", "loss", "backward"):
        if graph == "backward":
            prepare(step["prepared"], values)
        run(folder / target / f"{graph}.onnx", values)
    found = float(values[step["loss"]])
    assert math.isclose(found, loss.item(), rel_tol=1e-5), f"{folder}: the loss is {found} instead of {loss.item()}"
    total = math.sqrt(sum(float((value**2).sum()) for value in expected.values()))
    worst = 0.0
    for group in used.values():
        parameter = group[0]
        exact = expected[parameter["name"]].numpy()
        dense = np.zeros(exact.shape)
        for part in group:
            turned = part["transposed"] != parameter["transposed"]
            dense += whole(part, values, exact.T if turned else exact).T if turned else whole(part, values, exact)
        error, size = np.linalg.norm(dense - exact), np.linalg.norm(exact)
        close = error <= TOLERANCE * size or error <= ROUNDING * total
        assert close, f"{folder} {target}: the gradient of {parameter['name']} ({size}) is off by {error}"
        worst = max(worst, min(error / max(size, 1e-30), error / total))
    # The optimiser's graph must at least be one that the engine takes; its numbers are compared elsewhere.
    session(folder / target / "optimizer.onnx")
    print(f"{folder.name} {target}: {len(step['parameters'])} gradients, worst {worst:.1e}")


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    folders = sorted(path.parent.parent for path in Path(sys.argv[1]).glob("*/training/step.json"))
    assert folders, "no graphs to check"
    for folder in folders:
        answers = {}
        check(folder, "training", answers)
        check(folder, "training-checkpointed", answers)
