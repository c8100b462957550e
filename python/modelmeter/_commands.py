"""The commands of the program as functions.

Every function takes further options of its command by name: `batch_size=8` is `--batch-size 8`, `offline=True` is
`--offline`, a list is several values. docs/COMMANDS.md lists the commands, `modelmeter COMMAND --help` their options.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ._errors import UsageError, WrongType
from ._options import arguments_of
from ._results import Changed, Check, Result, Run

if TYPE_CHECKING:
    from ._measure import Measurement
    from ._models import Description

Model = Any
"""A name, a path, a `Description`, a `torch.nn.Module`, or, where a command takes them, a `Run`."""

R = TypeVar("R", bound=Result)
Function = TypeVar("Function", bound=Callable[..., Any])


def _result(kind: type[R], words: Sequence[str | os.PathLike[str]], progress: bool | None) -> R:
    from . import _program

    answer = _program.run(words, progress=progress)
    result = kind(answer.document, text=answer.text, markdown=answer.markdown, csv=answer.csv)
    if isinstance(result, Check):
        result.exit_code = answer.exit_code
    return result


def _about(
    kind: type[R],
    command: Sequence[str],
    models: Iterable[object],
    options: Mapping[str, Any],
    progress: bool | None,
    flags: Mapping[str, object] | None = None,
) -> R:
    """A command about models; `flags` are options whose values are models too."""
    from contextlib import ExitStack

    from ._torch_module import written

    with ExitStack() as stack:
        words: list[str] = [*command]
        asked = dict(options)
        for model in models:
            words += stack.enter_context(written(model, asked))
        for flag, model in (flags or {}).items():
            if model is not None:
                words += [f"--{flag}", *stack.enter_context(written(model, {}))]
        return _result(kind, [*words, *arguments_of(asked)], progress)


@overload
def profile(
    model: str | os.PathLike[str] | Description,
    inputs: object = None,
    *,
    batch_size: int | None = None,
    sequence_length: int | None = None,
    device: object = None,
    precision: object = None,
    engine: str | None = None,
    threads: int | None = None,
    runs: int | None = None,
    warmup: int | None = None,
    duration: str | None = None,
    layers: bool | Sequence[str] = False,
    memory: bool | Sequence[str] = False,
    train: bool = False,
    store: bool = True,
    progress: bool | None = None,
    **options: Any,
) -> Run: ...
@overload
def profile(model: Function, /) -> Function: ...
@overload
def profile(*, name: str | None = None, device: object = None) -> Callable[[Function], Function]: ...
@overload
def profile(
    model: object,
    inputs: object,
    *,
    batch_size: int | None = None,
    sequence_length: int | None = None,
    device: object = None,
    precision: object = None,
    engine: str | None = None,
    threads: int | None = None,
    runs: int | None = None,
    warmup: int | None = None,
    duration: str | None = None,
    layers: bool | Sequence[str] = False,
    memory: bool | Sequence[str] = False,
    train: bool = False,
    store: bool = True,
    progress: bool | None = None,
    **options: Any,
) -> Run | Measurement: ...
def profile(model: Any = None, inputs: object = None, **options: Any) -> Any:
    """Measures a model, or times a function.

    - `profile("bert-base-uncased")`: a name, a file or a folder, as for `modelmeter profile`.
    - `profile(TransformerEncoder(...))`: a network by its sizes.
    - `profile(module, example_inputs)`: a `torch.nn.Module`, in a fresh process. If it cannot be sent there, it is measured
      in this one, and a remark says so.
    - `profile(function, inputs)`: any function, in this process.
    - `@profile`, `@profile(name="step")`: every call of the function is timed; `function.measurement` has the result.

    Args:
        model: what is measured.
        inputs: example inputs of a module or function: a tensor or array, or a tuple, list or mapping of them.
        batch_size: samples in one inference; 4 by default.
        sequence_length: tokens of each sample; 128 by default.
        device: `auto`, `cpu`, `cuda`, `cuda:1`, `mps`.
        precision: `fp32`, `fp16`, `bf16`, `int8`.
        engine: `rten`, `onnxruntime`, `openvino`, `torch`.
        threads: threads of the engine.
        runs: number of samples; by default until the median is precise.
        warmup: warm-up runs; by default until the latency is stable.
        duration: sampling time, `"10s"`.
        layers: times by layer, or only of these: `["attention", "mlp"]`.
        memory: where the memory goes.
        train: measures training steps.
        store: whether the run is stored in the database.
        progress: `False` shows none.
        options: further options of `modelmeter profile`.

    Raises:
        modelmeter.UsageError: an unknown model, a bad shape, a missing file.
        modelmeter.NotSupportedError: no such device or engine, out of memory, a worker that died.
    """
    from . import _measure
    from ._torch_module import is_module

    if model is None:
        return lambda function: _measure.timed(function, **options)
    is_function = callable(model) and not is_module(model)
    if is_function and inputs is None and "input_data" not in options:
        if isinstance(model, type):
            raise UsageError(f"`{model.__qualname__}` is a class", hint="give an object of it, with its inputs")
        return _measure.timed(model, **options)
    if is_function:
        from . import _in_process

        return _in_process.profile_function(model, inputs, **options)
    return profile_model(model, inputs, **options)


def profile_model(
    model: Any,
    inputs: object = None,
    *,
    layers: bool | str | Sequence[str] = False,
    memory: bool | Sequence[str] = False,
    store: bool = True,
    progress: bool | None = None,
    **options: Any,
) -> Any:
    """`profile` of a model."""
    from ._torch_module import NotSent, given_inputs, is_module

    if inputs is None:
        inputs = options.pop("input_data", None)
    asked: dict[str, Any] = {**options}
    # Options whose value is optional take it behind `=`.
    for name, value in (("layers", layers), ("memory", memory)):
        if value is True or not value:
            asked[name] = bool(value)
        else:
            asked[name] = value if isinstance(value, str) else ",".join(value)
    asked["no_store"] = not store or bool(options.get("no_store"))
    asked.setdefault("samples", True)
    if is_module(model):
        try:
            return _stored(_about(Run, ["profile"], [_WithInputs(model, inputs)], asked, progress), asked)
        except NotSent as why:
            from . import _in_process

            return _in_process.profile_module(model, inputs, why=str(why), layers=layers, memory=memory, **options)
    with given_inputs(inputs) as files:
        return _stored(_about(Run, ["profile"], [model], {**asked, **files}, progress), asked)


def _stored(run: Run, asked: Mapping[str, Any]) -> Run:
    """The run, with the database where it is."""
    run.was_not_stored = bool(asked.get("no_store"))
    run.database = asked.get("db")
    return run


class _WithInputs:
    """A module and its inputs, which are written together."""

    def __init__(self, module: object, inputs: object) -> None:
        self.module, self.inputs = module, inputs


def compare(
    *models: Model,
    engines: Sequence[str] | None = None,
    devices: Sequence[str] | None = None,
    precisions: Sequence[str] | None = None,
    batch_size: int | None = None,
    batch_sizes: Sequence[int] | None = None,
    sequence_length: int | None = None,
    baseline: str | None = None,
    by: str | None = None,
    processes: int | None = None,
    store: bool = True,
    progress: bool | None = None,
    **options: Any,
) -> Result:
    """Compares engines, devices, precisions, models or stored runs, interleaved (`modelmeter.comparison/1`).

    `compare("distilbert-base-uncased")` compares all engines; `compare(before, after)` two models; `compare("7f3a", "81c0")`
    two stored runs.
    """
    asked = {
        "engines": engines,
        "devices": devices,
        "precisions": precisions,
        "batch_sizes": batch_sizes if batch_sizes is not None else ([batch_size] if batch_size else None),
        "sequence_length": sequence_length,
        "baseline": baseline,
        "by": by,
        "processes": processes,
        "no_store": not store,
        **options,
    }
    return _about(Result, ["compare"], models, asked, progress)


def check(
    model: Model,
    *,
    threshold: str | Sequence[str] | None = None,
    against: Model | None = None,
    baseline: str | os.PathLike[str] | None = None,
    regression_alert: float | str | None = None,
    strict: bool = False,
    processes: int | None = None,
    store: bool = True,
    progress: bool | None = None,
    **options: Any,
) -> Check:
    """A gate: held, failed or cannot tell (`modelmeter.check/1`, docs/CI.md). A failed gate is a result, not an exception."""
    asked = {
        "threshold": [threshold] if isinstance(threshold, str) else threshold,
        "baseline": baseline,
        "regression_alert": regression_alert,
        "strict": strict,
        "processes": processes,
        "no_store": not store,
        **options,
    }
    return _about(Check, ["check"], [model], asked, progress, {"against": against})


def generate(
    model: Model,
    *,
    prompt_tokens: int | Sequence[int] | None = None,
    new_tokens: int | Sequence[int] | None = None,
    depth: int | Sequence[int] | None = None,
    engines: Sequence[str] | None = None,
    store: bool = True,
    progress: bool | None = None,
    **options: Any,
) -> Result:
    """How a language model reads a prompt and writes, token by token (`modelmeter.generation/1`)."""
    asked = {
        "prompt_tokens": prompt_tokens,
        "new_tokens": new_tokens,
        "depth": depth,
        "engines": engines,
        "no_store": not store,
        **options,
    }
    return _about(Result, ["generate"], [model], asked, progress)


def load(
    address: str,
    *,
    rate: str | float | None = None,
    concurrency: int | Sequence[int] | None = None,
    duration: str | None = None,
    slo: str | Sequence[str] | None = None,
    store: bool = True,
    progress: bool | None = None,
    **options: Any,
) -> Result:
    """Loads a served model with requests, and measures what its users wait (`modelmeter.load/1`)."""
    asked = {
        "rate": f"{rate}/s" if isinstance(rate, (int, float)) else rate,
        "concurrency": concurrency,
        "duration": duration,
        "slo": [slo] if isinstance(slo, str) else slo,
        "no_store": not store,
        **options,
    }
    return _result(Result, ["load", address, *arguments_of(asked)], progress)


def fit(
    model: Model,
    memory: int | str,
    *,
    engines: Sequence[str] | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Result:
    """The batch and precision with the best throughput under a memory limit in MiB, or `"2GiB"` (`modelmeter.fit/1`)."""
    return _about(Result, ["fit"], [model], {"memory_constrained": memory, "engines": engines, **options}, progress)


def recommend(
    *models: str, objective: str | None = None, slo: str | Sequence[str] | None = None, **options: Any
) -> Result:
    """Device, engine, precision and batch for a goal, from stored runs (`modelmeter.recommendations/1`)."""
    asked = {"objective": objective, "slo": [slo] if isinstance(slo, str) else slo, "all": not models, **options}
    return _about(Result, ["recommend"], models, asked, False)


def advise(
    model: Model,
    *,
    goal: str | None = None,
    try_: bool | Sequence[str] = False,
    progress: bool | None = None,
    **options: Any,
) -> Result:
    """What would make a model faster or smaller, from numbers; `try_=True` proves it (`modelmeter.advice/1`)."""
    return _about(Result, ["advise"], [model], {"goal": goal, "try": try_, **options}, progress)


def prune(
    model: Model,
    output: str | os.PathLike[str],
    *,
    method: str = "magnitude",
    sparsity: float | str | None = None,
    proof: bool = True,
    force: bool = False,
    progress: bool | None = None,
    **options: Any,
) -> Changed:
    """Removes weights, heads or neurons, writes the model to a folder, and measures the effect (`modelmeter.proof/1`)."""
    asked = {"method": method, "sparsity": sparsity, **options}
    return _changed("prune", model, output, asked, proof, force, progress)


def quantize(
    model: Model,
    output: str | os.PathLike[str],
    *,
    to: str = "int8",
    proof: bool = True,
    force: bool = False,
    progress: bool | None = None,
    **options: Any,
) -> Changed:
    """Converts a model to int8, fp16 or bf16, writes it to a folder, and measures the effect (`modelmeter.proof/1`)."""
    return _changed("quantize", model, output, {"to": to, **options}, proof, force, progress)


def _changed(
    command: str,
    model: Model,
    output: str | os.PathLike[str],
    options: Mapping[str, Any],
    proof: bool,
    force: bool,
    progress: bool | None,
) -> Changed:
    from pathlib import Path

    asked = {"output": output, "no_proof": not proof, "force": force, **options}
    changed = _about(Changed, [command], [model], asked, progress)
    changed.path = Path(output)
    return changed


def predict(
    model: Model | None = None,
    *,
    on: str | None = None,
    batch_size: int | None = None,
    backtest: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    held_out: Sequence[str | os.PathLike[str]] = (),
    progress: bool | None = None,
    **options: Any,
) -> Result:
    """How long a model would take on hardware where it was not measured, with an interval: `predict("gpt2", on="H100")`.

    With `backtest`, how well such answers are: files of measured times (`modelmeter.backtest/1`).
    """
    words: list[str] = ["predict"]
    for flag, files in (("--backtest", backtest), ("--held-out", held_out)):
        listed = [files] if isinstance(files, (str, os.PathLike)) else list(files or [])
        if listed:
            words += [flag, *(os.fspath(file) for file in listed)]
    asked = {"on": on, "batch_size": batch_size, **options}
    if model is None:
        return _result(Result, [*words, *arguments_of(asked)], progress)
    # The files of `--backtest` would take the name of a model behind them.
    return _about(Result, [words[0]], [model], asked, progress)


def capacity(model: Model, *, rate: str | float, slo: str, progress: bool | None = None, **options: Any) -> Result:
    """How many replicas a rate of requests takes, from stored service times (`modelmeter.capacity/1`)."""
    asked = {"rate": f"{rate}/s" if isinstance(rate, (int, float)) else rate, "slo": [slo], **options}
    return _about(Result, ["capacity"], [model], asked, progress)


def devices() -> Result:
    """This machine: its devices, engines and probes (`modelmeter.devices/1`)."""
    return _result(Result, ["devices"], False)


def models(**options: Any) -> Result:
    """The models that are known by name (`modelmeter.models/1`)."""
    return _result(Result, ["models", *arguments_of(options)], False)


def run(identity: str = "latest") -> Run:
    """One stored run, by the beginning of its id."""
    if not isinstance(identity, str) or identity.startswith("-"):
        raise WrongType(f"the name of a run is text, not {identity!r}", hint='modelmeter.run("latest")')
    return _result(Run, ["runs", "show", identity, "--samples"], False)
