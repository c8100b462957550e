"""`ModelProfiler` and `ModelBenchmarkSuite`: one object that keeps a model, its last input and its last result."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _commands, _frames
from ._errors import CannotTell, Error, NotFound, NotSupportedError, UsageError, WrongType
from ._frames import Column, Frame
from ._models import Description
from ._results import Result, Run
from ._torch_module import is_module

BATCH, LENGTH, VOCABULARY = 4, 128, 1000
"""What an input generator is called with, if neither the model nor the caller says more."""
_OF_ONE = (UsageError, NotSupportedError, CannotTell)
"""Errors of one model or setting; the others are measured all the same."""


class Benchmark(Frame):
    """Several measured models or settings, in order. One that failed is its exception in `failures`."""

    def __init__(self, entries: Iterable[tuple[str, Result | Error]]) -> None:
        entries = list(entries)
        self._labels = [label for label, entry in entries if isinstance(entry, Result)]
        self._results = [entry for _, entry in entries if isinstance(entry, Result)]
        self.failures: dict[str, Error] = {label: entry for label, entry in entries if isinstance(entry, Error)}

    def __getitem__(self, at: Any) -> Any:
        if not isinstance(at, str):
            return self._results[at]
        if at not in self._labels:
            failed = self.failures.get(at)
            raise NotFound(
                f"`{at}` failed" if failed else f"nothing called `{at}` was measured",
                causes=[failed.message] if failed else [],
                hint=f"there is {', '.join(self._labels)}" if self._labels else None,
            )
        return self._results[self._labels.index(at)]

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    def _rows(self) -> list[dict[str, Any]]:
        rows = []
        for label, result in zip(self._labels, self._results, strict=True):
            latency = result["latency"]
            rows.append(
                {
                    "model": label,
                    "engine": result.get("engine"),
                    "device": result.get("device"),
                    "precision": result.get("precision"),
                    "batch_size": result.get("batch_size"),
                    "latency_median_ms": latency["median"],
                    "latency_p95_ms": latency["p95"],
                    "samples_per_second": result["throughput"].get("samples_per_second"),
                    "memory_peak_bytes": result["memory"]["peak"],
                    "valid": result["verdict"]["valid"],
                }
            )
        return rows

    def _columns(self) -> Iterable[Column]:
        kinds = ["text"] * 4 + ["integer", "number", "number", "number", "integer", "truth"]
        rows = self._rows()
        names = list(rows[0]) if rows else []
        return [(name, kind, [row[name] for row in rows]) for name, kind in zip(names, kinds, strict=False)]

    def _cells(self) -> list[list[str]]:
        """What people see: one line of words for each result."""
        cells = [["model", "engine", "format", "batch", "median", "samples/s", "memory", "verdict"]]
        for row in self._rows():
            rate, memory = row["samples_per_second"], row["memory_peak_bytes"]
            cells.append(
                [
                    row["model"],
                    str(row["engine"] or "-"),
                    str(row["precision"] or "-"),
                    str(row["batch_size"] or "-"),
                    f"{row['latency_median_ms']:.2f} ms",
                    "-" if rate is None else f"{rate:,.0f}",
                    "-" if memory is None else f"{memory / 1e6:,.0f} MB",
                    "valid" if row["valid"] else "NOT VALID",
                ]
            )
        return cells

    def _failed(self) -> list[str]:
        return [f"{label}: failed: {error.message}" for label, error in self.failures.items()]

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]

        def line(row: list[str]) -> str:
            padded = [
                cell.ljust(width) if at in (0, 1, 2, 7) else cell.rjust(width)
                for at, (cell, width) in enumerate(zip(row, widths, strict=True))
            ]
            return "  ".join(padded).rstrip()

        return "\n".join([*map(line, cells), *self._failed()])

    __repr__ = __str__

    def _repr_markdown_(self) -> str:
        head, *rows = self._cells()
        rule = ["---"] * 3 + ["---:"] * 4 + ["---"]
        lines = ["| " + " | ".join(row).replace("_", "\\_") + " |" for row in (head, rule, *rows)]
        return "\n".join([*lines, "", *(f"- {words}" for words in self._failed())]) + "\n"

    def _repr_html_(self) -> str:
        from . import _markup

        return _markup.fragment(self._repr_markdown_())


class ModelProfiler:
    """Profiles models.

    ```python
    profiler = ModelProfiler(model_path="models/bert", device="cuda", precision="fp16")
    results = profiler.profile(input_data=inputs, num_runs=100, warmup_runs=10)
    print(results["latency"]["mean"], results["throughput"]["samples_per_second"], results["memory"]["peak"])
    ```

    Args:
        model_path: a name, a path, a `TransformerEncoder` or a `torch.nn.Module`; may also be given to `profile`.
        device: `auto`, `cpu`, `cuda`, `cuda:1`, `mps`. A device that is not there is an error.
        precision: `fp32`, `fp16`, `bf16`, `int8`; by default the model's own.
        engine: `rten`, `onnxruntime`, `openvino`, `torch`; by default the first that runs the model.
        options: further options of `modelmeter profile`, for every measurement.
    """

    def __init__(
        self,
        model_path: Any = None,
        device: str | None = None,
        precision: str | None = None,
        *,
        engine: str | None = None,
        **options: Any,
    ) -> None:
        self.model = model_path
        self._options = {"device": device, "precision": precision, "engine": engine, **options}
        self._input: Any = None
        self._result: Result | None = None

    @property
    def results(self) -> Result:
        """The last result."""
        if self._result is None:
            raise UsageError("nothing was profiled yet", hint="profiler.profile() comes first")
        return self._result

    def profile(
        self,
        input_data: Any = None,
        num_runs: int | None = None,
        warmup_runs: int | None = None,
        detailed_analysis: bool = False,
        *,
        model: Any = None,
        **options: Any,
    ) -> Any:
        """Measures the model.

        Args:
            input_data: a tensor, an array, nested lists, a mapping of them by the names of inputs, or texts; by default
                random inputs. A path or a name here is the model: `profiler.profile("models/latest")`.
            num_runs: number of samples; by default until the median is precise.
            warmup_runs: warm-up runs; by default until the latency is stable.
            detailed_analysis: also times by layer and where the memory goes.
            model: another model than the profiler's.
            options: further options of `modelmeter profile`.

        Returns:
            A mapping: `["latency"]["mean"]` in milliseconds, `["throughput"]["samples_per_second"]`,
            `["memory"]["peak"]` in bytes.
        """
        if isinstance(input_data, (str, os.PathLike, Description)) and model is None:
            model, input_data = input_data, None
        if detailed_analysis:
            options = {"layers": True, "memory": True, **options}
        counts = {"runs": num_runs, "warmup": warmup_runs}
        return self._measure(model, input_data, {**counts, **options})

    def profile_model(self, model: Any, input_generator: Any = None, **options: Any) -> Any:
        """Measures a model with inputs of a generator: a function of `batch_size`, `seq_length`, `vocab_size`, or inputs."""
        inputs = input_generator
        if callable(input_generator):
            inputs = _generate(input_generator, model, options)
        return self._measure(model, inputs, options)

    def benchmark(self, configurations: Iterable[Mapping[str, Any]], **options: Any) -> Benchmark:
        """Measures the model in several settings: `[{"batch_size": 1, "precision": "fp32"}, …]`."""

        def measured(configuration: Mapping[str, Any]) -> tuple[str, Result | Error]:
            if not isinstance(configuration, Mapping):
                raise WrongType(
                    f"a configuration is a mapping, not {configuration!r}", hint='[{"batch_size": 1, "precision": "fp32"}]'
                )
            label = ", ".join(f"{key} {value}" for key, value in configuration.items())
            try:
                return label, self._measure(None, None, {**options, **configuration})
            except _OF_ONE as error:
                return label, error

        return Benchmark([measured(configuration) for configuration in configurations])

    def profile_layers(self, input_data: Any = None, layer_names: Sequence[str] | None = None, **options: Any) -> Any:
        """Times by layer: of all, or of these kinds or paths: `["attention", "mlp", "embedding"]`."""
        names = list(layer_names or [])
        result = self._measure(None, self._last(input_data), {"layers": names or True, **options})
        result.layer_names = names
        return result

    def memory_profile(
        self,
        track_allocations: bool = True,
        track_deallocations: bool = True,
        memory_snapshots: bool = False,
        input_data: Any = None,
        **options: Any,
    ) -> Any:
        """Where the memory goes: predicted, allocated and observed; allocations by layer, and what lives at the peak.

        Without `input_data` the last input is used, else random ones; `result.notes` says which. Allocations are recorded
        with their ends, so `track_deallocations` needs nothing more.
        """
        parts = ["allocations"] if track_allocations or track_deallocations else []
        parts += ["snapshots"] if memory_snapshots else []
        return self._measure(None, self._last(input_data), {"memory": parts or True, **options}, notes=True)

    def gpu_profile(
        self,
        track_kernels: bool = True,
        track_memory_transfers: bool = True,
        profile_nvtx: bool = True,
        input_data: Any = None,
        **options: Any,
    ) -> Any:
        """What the GPU does, out of the timeline of torch's profiler: kernels, copies, and times by module. Needs an NVIDIA GPU.

        `modelmeter.profile(model, gpu=True)` also has idle time and its causes.
        Without `input_data` the last input is used, else random ones; `result.notes` says which.
        """
        from . import _gpu

        device = self._options.get("device")
        asked = {**options, "device": "cuda" if device in (None, "auto", "cpu") else device}
        parts = {"kernels": track_kernels, "copies": track_memory_transfers, "ranges": profile_nvtx}
        _gpu.needs_gpu(str(asked["device"]))
        with _gpu.trace() as path:
            run = self._measure(
                None, self._last(input_data), {**asked, "trace": [path], "layers": profile_nvtx}, notes=True
            )
            self._result = _gpu.with_events(run, path, parts)
        return self._result

    def generate_html_report(
        self,
        output_path: str | os.PathLike[str] = "profiling_report.html",
        include_graphs: bool = True,
        include_details: bool = True,
    ) -> Path:
        """Writes the last result as one self-contained page."""
        from . import _pages

        return _pages.write([self.results], output_path, include_graphs, include_details)

    def export_json(self, output_path: str | os.PathLike[str] = "profiling_results.json") -> str:
        """Writes the last result as JSON, which `load_baseline` reads, and returns the text."""
        return self.results.to_json(output_path)

    def export_csv(self, output_path: str | os.PathLike[str] = "profiling_metrics.csv") -> Path:
        """Writes the metrics of the last result as CSV."""
        self.results.to_csv(output_path)
        return Path(output_path)

    def _last(self, input_data: Any) -> Any:
        return self._input if input_data is None else input_data

    def measure(self, model: Any, inputs: Any, options: Mapping[str, Any]) -> Any:
        """What every measurement of this object goes through; a subclass may change its options.

        `options` are those of the call; the profiler's own stand behind them.
        """
        asked = {**{key: value for key, value in self._options.items() if value is not None}, **options}
        return _commands.profile(model, inputs, **asked)

    def _measure(self, model: Any, inputs: Any, options: Mapping[str, Any], notes: bool = False) -> Any:
        model = self.model if model is None else model
        if model is None:
            raise UsageError(
                "there is no model", hint='ModelProfiler(model_path="models/bert") or profiler.profile("models/bert")'
            )
        result = self.measure(model, inputs, options)
        if notes:
            source = "generated at random" if inputs is None else "those of the last call, or given"
            result.notes.append(f"inputs: {source}")
        if inputs is not None:
            self._input = inputs
        self._result = result
        return result


def _generate(generator: Callable[..., Any], model: Any, options: dict[str, Any]) -> Any:
    """Inputs of a generator: its parameters have the sizes of the model or of the call."""
    settings = model.settings if isinstance(model, Description) else {}
    batch = options.pop("batch_size", None) or BATCH
    length = options.pop("sequence_length", None) or min(LENGTH, settings.get("max_seq_length", LENGTH))
    sizes = {
        "batch_size": batch,
        "seq_length": length,
        "seq_len": length,
        "sequence_length": length,
        "vocab_size": settings.get("vocab_size", VOCABULARY),
        "input_size": settings.get("input_size", 512),
    }
    given: dict[str, Any] = {}
    for name, parameter in inspect.signature(generator).parameters.items():
        if name in sizes:
            given[name] = sizes[name]
        elif parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_KEYWORD,
            parameter.VAR_POSITIONAL,
        ):
            raise UsageError(
                f"the input generator asks for `{name}`",
                hint=f"it may ask for {', '.join(sizes)}; give others a default",
            )
    return generator(**given)


class ModelBenchmarkSuite:
    """Several models, measured by one profiler and reported together."""

    def __init__(self, models: Iterable[Any] = (), profiler: ModelProfiler | None = None) -> None:
        if isinstance(models, str) or not isinstance(models, Iterable):
            raise WrongType(
                f"the models of a suite are a list, not {models!r}", hint="ModelBenchmarkSuite([first, second])"
            )
        self._models = list(models)
        self._profiler = profiler or ModelProfiler()
        self._results: Benchmark | None = None

    @property
    def results(self) -> Benchmark:
        """What `run` found."""
        if self._results is None:
            raise UsageError("the suite did not run yet", hint="benchmark_suite.run() comes first")
        return self._results

    def add_model(self, model: Any) -> None:
        """Adds a model."""
        self._models.append(model)

    def run(self, **options: Any) -> Benchmark:
        """Measures every model. One that cannot be measured costs only itself.

        A `torch.nn.Module` gets the last inputs of the profiler: it has none of its own.
        """
        if not self._models:
            raise UsageError("the suite has no models", hint="benchmark_suite.add_model(...)")
        entries: list[tuple[str, Result | Error]] = []
        for model in self._models:
            try:
                inputs = self._profiler._input if is_module(model) else None
                entries.append((_label(model), self._profiler.profile_model(model, inputs, **options)))
            except _OF_ONE as error:
                entries.append((_label(model), error))
        self._results = Benchmark(entries)
        return self._results

    def generate_report(self, output_path: str | os.PathLike[str] = "benchmark_report.html") -> Path:
        """Writes one page about all models: times, memory, use of the processors, charts."""
        from . import _pages

        results = list(self.results)
        if not results:
            raise NotSupportedError(
                "no model was measured, so there is nothing to report",
                causes=[f"{label}: {error.message}" for label, error in self.results.failures.items()],
            )
        return _pages.write(results, output_path, True, True)


def _label(model: Any) -> str:
    if isinstance(model, Description):
        return model.name
    return os.path.basename(os.fspath(model)) if isinstance(model, (str, os.PathLike)) else type(model).__name__


__all__ = ["Benchmark", "ModelBenchmarkSuite", "ModelProfiler", "Run", "_frames"]
