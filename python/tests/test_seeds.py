"""The code blocks of the requirements, each run unchanged, with examples/seeds on the path."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import modelmeter
import pytest

HERE = Path(__file__).resolve().parent
SIZES = dict(vocab_size=1000, d_model=16, num_heads=2, num_layers=1, d_ff=32, max_seq_length=128)


def blocks(name):
    text = (HERE / "seeds" / f"{name}.md").read_text()
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def run(block, names):
    exec(compile(block, "<block>", "exec"), names)


@pytest.fixture
def folder(tmp_path, monkeypatch, examples):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_hardware_profiling(folder):
    import torch
    from model_evaluation.pipeline import ModelProfiler

    names = {name: getattr(modelmeter, name) for name in modelmeter.__all__}
    names |= {
        "torch": torch,
        "ModelProfiler": ModelProfiler,
        "model": modelmeter.TransformerEncoder(**SIZES, name="model"),
    }
    names |= {
        f"model{n}": modelmeter.TransformerEncoder(**{**SIZES, "d_model": 16 * n}, name=f"model{n}") for n in (1, 2)
    }
    generate, profile, suite, more = blocks("000")
    run(generate, names)
    names["input_generator"] = names["generate_input"]
    run(profile, names)
    results = names["profiler"].results
    assert results["batch_size"] == 4 and results["sequence_length"] == 128
    assert results["latency"]["mean"] > 0 and results["memory"]["peak"] > 0
    run(suite, names)
    assert [result.model for result in names["benchmark_suite"].results] == ["model1", "model2"]
    page = Path("benchmark_report.html").read_text()
    assert "model1" in page and "model2" in page and "<svg" in page
    run(more, names)
    assert names["new_model"].num_parameters > 1e6


def test_model_optimization(folder):
    names = {name: getattr(modelmeter, name) for name in modelmeter.__all__}
    encoder, device, prune, structured = blocks("001")
    run(encoder, names)
    assert names["model"].settings["positional_encoding"] == "sinusoidal"
    run(device, names)
    assert names["device"] in ("cpu", "cuda", "mps")
    run(prune, names)
    pruned = names["pruned_model"]
    assert pruned.path.is_dir() and pruned.schema == "modelmeter.proof/1"
    run(structured, names)
    assert (names["pruning_config"].method, names["pruning_config"].sparsity) == ("structured", 0.3)


LABELS = (
    "ML RUNTIME PROFILER RESULTS SUMMARY",
    " Model: microsoft/MiniLM-L12-H384-uncased",
    " Batch Size: 8",
    " Sequence Length: 256",
    " Number of Runs: 10",
    "TIMING STATISTICS (milliseconds):",
    "Tokenization:\n  Mean: ",
    "Inference:\n  Mean: ",
    "Total:\n  Mean: ",
    "  Range: ",
    "DETAILED ANALYSIS:",
    "  Attention Layer Avg: ",
    "  Embedding Avg: ",
    "  Total CPU Time: ",
    "  Total CUDA Time: ",
)


def test_runtime_profiler(folder, bert, capsys):
    # A folder of the model's name is taken before the hub is asked.
    Path("microsoft").mkdir()
    Path("microsoft/MiniLM-L12-H384-uncased").symlink_to(bert)
    (block,) = blocks("002")
    names = {}
    run(block, names)
    said = capsys.readouterr().out
    for label in LABELS:
        assert label in said, f"{label!r} is not in\n{said}"
    assert "not measured" not in said
    results = names["results"]
    for phase in ("tokenise", "inference", "total"):
        assert {"mean", "std", "min", "max", "median"} <= set(results["phases"][phase])
    assert modelmeter.load_baseline("custom_analysis.json") == results


def test_model_profiling(folder, bert, capsys):
    import torch

    for path in ("path/to/model", "models/bert-base-uncased"):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).symlink_to(bert)
    names = {"sample_data": torch.randint(0, 1000, (2, 16)), "model_path": "path/to/model"}
    for block in blocks("003"):
        if "gpu_profile" in block:
            # Without an NVIDIA GPU the answer is an error that says so.
            with pytest.raises(modelmeter.NotSupportedError, match="NVIDIA"):
                run(block, names)
        elif "load_baseline" in block:
            names["load_baseline"] = sys.modules["model_evaluation.pipeline"].load_baseline
            names["detect_regressions"] = sys.modules["model_evaluation.pipeline"].detect_regressions
            names["profiler"].profile(names["model_path"])
            names["profiler"].export_json("baseline_profiling.json")
            run(block, names)
            assert names["regressions"] is not None
        else:
            run(block, names)
    assert len(names["benchmark_results"]) + len(names["benchmark_results"].failures) == 4
    assert {layer["kind"] for layer in names["layer_profiles"].layers} == {"attention", "mlp", "embedding"}
    assert names["memory_profile"]["memory_profile"]
    assert "inputs: those of the last call" in str(names["memory_profile"])
    assert "profiling_report.html" in os.listdir() and "profiling_metrics.csv" in os.listdir()
    assert names["results_json"].startswith("{")
    said = capsys.readouterr().out
    results = names["results"]
    assert f"Average Latency: {results['latency']['mean']:.2f}ms" in said
    assert f"Peak Memory: {results['memory']['peak'] / 1024**3:.2f} GB" in said
    assert results["batch_size"] == 32 and results["latency"]["samples"] == 100
    assert "<svg" in Path("bert_profiling_report.html").read_text()


@pytest.mark.parametrize("module", ["modelmeter.pipeline", "model_evaluation.pipeline"])
def test_the_pipeline_as_a_command(folder, examples, bert, module):
    (folder / "models").mkdir()
    (folder / "models" / "latest").symlink_to(bert)
    command = "profile --model-path models/latest --output-dir profiling_results --runs 11 --sequence-length 16"
    limits = ["--engine", "rten", "--threshold", "latency:100s", "throughput:0.001samples/s"]
    words = [sys.executable, "-m", module, *command.split(), *limits]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(examples)})
    assert done.returncode in (0, 4), done.stderr
    written = {Path(name).suffix for name in os.listdir("profiling_results")}
    assert {".json", ".csv", ".html", ".md"} <= written


def test_the_scripts(folder, examples, bert):
    def script(*words):
        done = subprocess.run(
            [sys.executable, *words], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(examples)}
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    said = script(examples / "profiler.py", "--model", bert, "--batch-size", "2", "--sequence-length", "16")
    assert "Number of Runs: 5" in said and list(Path("results").glob("profiling_results_*.json"))
    # The timeline, with the ending that TensorBoard looks for.
    (trace,) = Path("results").glob("trace_*.pt.trace.json")
    assert json.loads(trace.read_text())["traceEvents"]
    assert "--num-runs" in script(examples / "compare_onnx.py", "--help")
    said = modelmeter.OnnxComparison(bert, 2, 11, processes=2).summary()
    for label in ("PyTorch:", "ONNX Runtime:", "Median: ", "Mean Speedup: ", "Best Speedup: ", "Worst Speedup: "):
        assert label in said, said
    said = script(examples / "demos" / "hardware_profiling_demo.py", "--runs", "3")
    for name in ("small-transformer", "medium-transformer", "feed-forward-baseline"):
        assert name in said
    assert Path("hardware_profiling.html").stat().st_size > 10_000
