"""Modules of PyTorch and given inputs on their way to the program: files in a folder of their own, gone afterwards."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from ._errors import UsageError
from ._models import Written

_FACTORY = """\
# {digest}
import os
import sys

sys.path += [folder for folder in {path!r} if folder not in sys.path]

import torch

HERE = os.path.dirname(os.path.abspath(__file__))


def make():
    return torch.load(os.path.join(HERE, "module.pt"), map_location="cpu", weights_only=False).eval()


def example_inputs():
    return torch.load(os.path.join(HERE, "inputs.pt"), map_location="cpu", weights_only=False)
"""


class NotSent(Exception):
    """A module that cannot pass to another process; the text says why."""


def is_module(value: object) -> bool:
    """Whether this is a `torch.nn.Module`. Nobody has one without having imported torch."""
    torch = sys.modules.get("torch")
    return torch is not None and hasattr(torch, "nn") and isinstance(value, torch.nn.Module)


def written(model: Any, asked: dict[str, Any]) -> AbstractContextManager[list[str]]:
    """A model as words for the program."""
    from ._commands import _WithInputs
    from ._models import Description

    if isinstance(model, _WithInputs):
        _agree_on_batch(model.inputs, asked)
        return _module(model.module, model.inputs)
    if is_module(model):
        return _module(model, None)
    if isinstance(model, Description) and model.device is not None and not asked.get("device"):
        asked["device"] = model.device
    return Written(model)


def _agree_on_batch(inputs: object, asked: dict[str, Any]) -> None:
    """The batch is that of the inputs; another number would only change what the times are divided by."""
    if inputs is None:
        return
    first = next((tensor for tensor in tensors_of(inputs) if tensor.dim()), None)
    if first is None:
        first = next((tensor for tensor in tensors_of(_for_worker(inputs)) if tensor.dim()), None)
    if first is None:
        return
    # As torch has it: the first dimension is the batch.
    size = int(first.shape[0])
    if asked.get("batch_size") not in (None, size):
        raise UsageError(
            f"`batch_size` is {asked['batch_size']}, and the inputs are a batch of {size}", hint="omit batch_size"
        )
    asked["batch_size"] = size


@contextmanager
def _module(module: Any, inputs: object) -> Iterator[list[str]]:
    import hashlib

    torch = sys.modules["torch"]
    if inputs is None:
        raise UsageError(
            f"the inputs of `{type(module).__qualname__}` are unknown",
            hint="give example inputs: modelmeter.profile(module, torch.randn(1, 3, 224, 224))",
        )
    _check_devices(module, inputs)
    name = type(module).__name__
    with tempfile.TemporaryDirectory(prefix="modelmeter-") as folder:
        here = Path(folder)
        _save(module, here / "module.pt")
        torch.save(_for_worker(inputs), here / "inputs.pt")
        digest = hashlib.blake2b(digest_size=20)
        with open(here / "module.pt", "rb") as file:
            while part := file.read(1 << 20):
                digest.update(part)
        # Not the name of the class: a user's module may have it.
        factory = here / "modelmeter_factory.py"
        path = [os.path.abspath(entry or ".") for entry in sys.path]
        factory.write_text(_FACTORY.format(digest=digest.hexdigest(), path=path), encoding="utf-8")
        yield ["--model", name, "--torch-module", f"{factory}:make"]


def _save(module: Any, path: Path) -> None:
    """Pickles a module, with its classes where nobody could import them."""
    torch = sys.modules["torch"]
    ours = [kind for kind in {type(part) for part in module.modules()} if kind.__module__ == "__main__"]
    local = [kind for kind in {type(part) for part in module.modules()} if "<locals>" in kind.__qualname__]
    pickler: Any = None
    if ours or local:
        try:
            pickler = import_module("cloudpickle")
        except ImportError:
            kind = (ours or local)[0]
            where = "`__main__`" if ours else "a function"
            raise NotSent(
                f"`{kind.__qualname__}` is defined in {where}, where a fresh process cannot import it; "
                "with the package cloudpickle installed it can be sent"
            ) from None
    try:
        if pickler is None:
            torch.save(module, path)
        else:
            torch.save(module, path, pickle_module=pickler)
    except Exception as error:
        raise NotSent(f"`{type(module).__qualname__}` cannot be pickled: {error}") from error


def _check_devices(module: Any, inputs: object) -> None:
    """A module and its inputs are on one device."""
    weights = {str(weight.device) for weight in module.parameters()}
    given = {str(tensor.device) for tensor in tensors_of(inputs)}
    if weights and given and weights != given:
        raise UsageError(
            f"the module is on {', '.join(sorted(weights))}, its inputs are on {', '.join(sorted(given))}",
            hint=f'move them: inputs.to("{sorted(weights)[0]}")',
        )


def tensors_of(inputs: object) -> Iterator[Any]:
    """Every tensor in nested inputs."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(inputs, torch.Tensor):
        yield inputs
    elif isinstance(inputs, Mapping):
        for value in inputs.values():
            yield from tensors_of(value)
    elif isinstance(inputs, (list, tuple)):
        for value in inputs:
            yield from tensors_of(value)


def _for_worker(inputs: object) -> object:
    """Inputs as the worker takes them: tensors on the cpu, in a tuple or a mapping."""
    torch = sys.modules["torch"]

    def tensor(value: object) -> Any:
        if isinstance(value, torch.Tensor):
            return value.detach().cpu()
        try:
            return torch.as_tensor(value)
        except (TypeError, ValueError, RuntimeError) as error:
            raise UsageError(
                f"the inputs cannot become a tensor: a {type(value).__name__}",
                causes=[str(error)],
                hint="give tensors or arrays, or a tuple or mapping of them",
            ) from error

    if isinstance(inputs, Mapping):
        return {name: tensor(value) for name, value in inputs.items()}
    is_several = isinstance(inputs, list) and any(isinstance(value, torch.Tensor) for value in inputs)
    if is_several or isinstance(inputs, tuple):
        return tuple(tensor(value) for value in inputs)  # type: ignore[attr-defined]
    return (tensor(inputs),)


@contextmanager
def given_inputs(inputs: object) -> Iterator[dict[str, Any]]:
    """Given inputs of a model that the program runs, as files."""
    if inputs is None:
        yield {}
        return
    if isinstance(inputs, (str, os.PathLike)):
        path = os.fspath(inputs)
        # Nothing else can be both: a file is data, other words are text for the tokenizer.
        yield {"data": path} if os.path.exists(path) else {"text": [path]}
        return
    if isinstance(inputs, (list, tuple)) and inputs and all(isinstance(one, str) for one in inputs):
        yield {"text": list(inputs)}
        return
    with tempfile.TemporaryDirectory(prefix="modelmeter-") as folder:
        from . import _npy

        if isinstance(inputs, Mapping):
            given: dict[str, str] = {}
            for name, value in inputs.items():
                file = os.path.join(folder, f"{len(given)}.npy")
                _npy.write(file, value)
                given[name] = f"@{file}"
            yield {"input": given}
        else:
            if isinstance(inputs, tuple) and len(inputs) == 1:
                inputs = inputs[0]
            file = os.path.join(folder, "inputs.npy")
            _npy.write(file, inputs)
            yield {"data": file}
