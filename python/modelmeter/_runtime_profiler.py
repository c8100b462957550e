"""`MLRuntimeProfiler`: tokenization, inference and total of a transformer, and PyTorch beside ONNX Runtime."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from . import _commands
from ._errors import Error, NotSupportedError, UsageError
from ._results import Result, Run

DEFAULT_MODEL = "distilbert-base-uncased"


class MLRuntimeProfiler:
    """Profiles a transformer by name or path.

    ```python
    profiler = MLRuntimeProfiler(model_name="microsoft/MiniLM-L12-H384-uncased", device="cuda")
    results = profiler.profile_inference(batch_size=8, sequence_length=256, num_runs=10)
    profiler.save_results("custom_analysis.json")
    profiler.print_summary()
    ```
    """

    def __init__(self, model_name: str = DEFAULT_MODEL, device: str = "cpu", **options: Any) -> None:
        self.model_name = model_name
        self.device = device
        self._options = options
        self._results: Run | None = None
        self._counts: tuple[int, int] = (0, 0)

    @property
    def results(self) -> Run:
        """The last result."""
        if self._results is None:
            raise UsageError("nothing was profiled yet", hint="profiler.profile_inference() comes first")
        return self._results

    def profile_inference(
        self, batch_size: int = 4, sequence_length: int = 128, num_runs: int = 5, **options: Any
    ) -> Run:
        """Measures texts of that length from the tokenizer to the result, with the time of attention and embeddings.

        A model without a tokenizer gets random tokens; `results["phases"]` then has no `tokenise`.
        """
        for name, value in (("batch_size", batch_size), ("sequence_length", sequence_length), ("num_runs", num_runs)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise UsageError(f"`{name}` must be a whole number above 0, not {value!r}")
        asked = {
            "device": self.device,
            "sequence_length": sequence_length,
            "runs": num_runs,
            "layers": "attention,embedding",
            **self._options,
            **options,
        }
        # Longer than the model is asked to read: the tokenizer cuts it to the length.
        text = " ".join(["time"] * sequence_length)
        try:
            self._results = _commands.profile_model(self.model_name, [text] * batch_size, **asked)
        except UsageError as error:
            if "tokenizer" not in str(error):
                raise
            self._results = _commands.profile_model(self.model_name, batch_size=batch_size, **asked)
            self._results.notes.append("the model has no tokenizer: tokens are random, and tokenization was not timed")
        self._counts = (batch_size, sequence_length)
        return self.results

    def save_results(self, filename: str = "auto") -> Path:
        """Writes the results as JSON; `auto` is a file in `results/`."""
        path = _file(filename, f"profiling_results_{_plain(self.model_name)}")
        self.results.to_json(path)
        return path

    def summary(self) -> str:
        """The results as text."""
        run = self.results
        phases = run["phases"]
        batch, length = self._counts
        lines = [
            "ML RUNTIME PROFILER RESULTS SUMMARY",
            "=" * 60,
            f" Model: {self.model_name}",
            f" Device: {run['device']}",
            f" Batch Size: {batch}",
            f" Sequence Length: {length}",
            f" Number of Runs: {run['latency']['samples']}",
            f" Timestamp: {run['started_at']}",
            "",
            "TIMING STATISTICS (milliseconds):",
            "-" * 40,
        ]
        for label, phase in (("Tokenization", "tokenise"), ("Inference", "inference"), ("Total", "total")):
            latency = phases.get(phase) or (phases.get("inference") if phase == "total" else None)
            lines += [f"{label}:", *_spread(latency), ""]
        kinds = {kind["name"]: kind for kind in (run.get("layers") or {}).get("kinds", [])}
        lines.append("DETAILED ANALYSIS:")
        for label, kind in (("Attention Layer Avg", "attention"), ("Embedding Avg", "embedding")):
            time = kinds.get(kind, {}).get("total")
            lines.append(f"  {label}: " + ("not measured" if time is None else f"{time:.2f} ms"))
        device = phases.get("device")
        whole = (phases.get("inference") or run["latency"])["mean"]
        on_device = device["mean"] if device else 0.0
        lines.append(f"  Total CPU Time: {max(0.0, whole - on_device):.2f} ms")
        lines.append(f"  Total CUDA Time: {on_device:.2f} ms")
        lines += [f"  Note: {note}" for note in run.notes]
        lines += ["" if run.is_valid else f"  NOT VALID: {run.reasons[0]}", "=" * 60]
        return "\n".join(line for line in lines if line is not None)

    def print_summary(self) -> None:
        """Prints the results."""
        print(self.summary())


def _spread(latency: Mapping[str, Any] | None) -> list[str]:
    if not latency:
        return ["  not measured"]
    std = latency["std"] or 0.0
    return [
        f"  Mean: {latency['mean']:.2f} ± {std:.2f}",
        f"  Range: {latency['min']:.2f} - {latency['max']:.2f}",
    ]


def _plain(name: str) -> str:
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")


def _file(filename: str, stem: str) -> Path:
    if filename != "auto":
        return Path(filename)
    moment = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
    path = Path("results") / f"{stem}_{moment}.json"
    path.parent.mkdir(exist_ok=True)
    return path


class OnnxComparison:
    """PyTorch beside ONNX Runtime, interleaved: `result` is `modelmeter.comparison/1`."""

    def __init__(self, model_name: str, batch_size: int, num_runs: int, **options: Any) -> None:
        self.model_name: str = model_name
        self.batch_size: int = batch_size
        self.num_runs: int = num_runs
        self.result: Result = _commands.compare(
            model_name,
            engines=["torch", "onnxruntime"],
            baseline="torch",
            batch_size=batch_size,
            runs=num_runs,
            **options,
        )

    def summary(self) -> str:
        """The comparison as text."""
        sides = {side["engine"]: side for side in self.result["sides"]}
        torch, onnx = sides.get("torch"), sides.get("onnxruntime")
        if torch is None or onnx is None:
            raise NotSupportedError("PyTorch and ONNX Runtime are both needed", hint="pip install torch onnxruntime")
        lines = [
            "ONNX RUNTIME vs PYTORCH COMPARISON SUMMARY",
            "=" * 70,
            f"Model: {self.model_name}",
            f"Batch Size: {self.batch_size}",
            f"Number of Runs: {self.num_runs}",
            f"Timestamp: {datetime.now(timezone.utc).isoformat(timespec='seconds')}",
            "",
            "INFERENCE TIMES (milliseconds):",
            "-" * 50,
        ]
        for label, side in (("PyTorch", torch), ("ONNX Runtime", onnx)):
            latency = side.get("latency")
            lines += [f"{label}:", *_spread(latency)]
            lines += [f"  Median: {latency['median']:.2f}" if latency else "  Median: not measured", ""]
        found = [one for one in self.result["comparisons"] if one["side"] == onnx["label"]]
        ratio = (found[0]["speed_up"] if found else None) or {}
        lines.append("SPEEDUP ANALYSIS:")
        for label, key in (("Mean", "ratio"), ("Best", "best"), ("Worst", "worst")):
            value = ratio.get(key)
            lines.append(f"  {label} Speedup: " + ("not measured" if value is None else f"{value:.2f}x"))
        lines += ["", _conclusion(ratio), "=" * 70]
        return "\n".join(lines)


def _conclusion(ratio: Mapping[str, Any]) -> str:
    value, interval = ratio.get("ratio"), ratio.get("ci95") or {}
    if value is None:
        return "ONNX Runtime was not compared"
    low, high = interval.get("low", 0.0), interval.get("high", float("inf"))
    if low > 1:
        return f"ONNX Runtime is {value:.2f}x faster on average"
    if high < 1:
        return f"ONNX Runtime is {1 / value:.2f}x slower on average"
    return f"cannot tell which is faster: the speed-up is between {low:.2f}x and {high:.2f}x"


def main(arguments: Sequence[str] | None = None, kind: type[MLRuntimeProfiler] = MLRuntimeProfiler) -> int:
    """`profiler.py`: profiles a model, and writes the results and a timeline for TensorBoard and Perfetto."""
    parser = argparse.ArgumentParser(prog="profiler.py", description="Profiles the inference of a transformer.")
    parser.add_argument("--model", default=DEFAULT_MODEL, help="HuggingFace model name")
    parser.add_argument("--batch-size", type=int, default=4, help="Batch size for inference")
    parser.add_argument("--sequence-length", type=int, default=128, help="Maximum sequence length")
    parser.add_argument("--device", default="cpu", help="Device (cpu or cuda)")
    parser.add_argument("--num-runs", type=int, default=5, help="Number of profiling runs")
    parser.add_argument("--output", default="auto", help="Output filename")
    asked = parser.parse_args(arguments)

    def work() -> None:
        profiler = kind(asked.model, asked.device)
        # TensorBoard looks for this ending.
        trace = _file("auto", f"trace_{_plain(asked.model)}").with_suffix(".pt.trace.json")
        profiler.profile_inference(asked.batch_size, asked.sequence_length, asked.num_runs, trace=[str(trace)])
        profiler.print_summary()
        if trace.exists():
            print(f"trace: {trace}")
        print(f"results: {profiler.save_results(asked.output)}")

    return _told(work)


def compare_main(arguments: Sequence[str] | None = None) -> int:
    """`compare_onnx.py`: compares ONNX Runtime with PyTorch."""
    parser = argparse.ArgumentParser(prog="compare_onnx.py", description="Compares ONNX Runtime with PyTorch.")
    parser.add_argument("--model", default=DEFAULT_MODEL, help="HuggingFace model name")
    parser.add_argument("--batch-size", type=int, default=4, help="Batch size for inference")
    parser.add_argument("--num-runs", type=int, default=10, help="Number of comparison runs")
    parser.add_argument("--output", default="auto", help="Output filename")
    asked = parser.parse_args(arguments)

    def work() -> None:
        comparison = OnnxComparison(asked.model, asked.batch_size, asked.num_runs)
        print(comparison.summary())
        path = _file(asked.output, f"onnx_comparison_{_plain(asked.model)}")
        comparison.result.to_json(path)
        print(f"results: {path}")

    return _told(work)


def _told(work: Any) -> int:
    """A script's exit code; errors are lines, not traces."""
    try:
        work()
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code or (2 if isinstance(error, UsageError) else 3)
    return 0
