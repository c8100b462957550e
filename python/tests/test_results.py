"""Measuring models, and what results are: mappings, text, pages, tables."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import modelmeter
import pytest


@pytest.fixture(scope="module")
def run(fast):
    model = modelmeter.TransformerEncoder(100, 16, 2, 1, 32, max_seq_length=64, name="tiny")
    return modelmeter.profile(model, layers=True, **fast)


def test_a_run_is_a_mapping_with_the_units_of_its_document(run):
    assert run["latency"]["unit"] == "ms" and run["latency"]["mean"] > 0
    assert run["throughput"]["samples_per_second"] > 0
    assert run["memory"]["peak"] > 1 << 20
    assert run.schema == "modelmeter.run/1" and run["model"] == "tiny"
    assert dict(run) == run.to_dict() and len(run) == len(list(run))
    assert len(run.samples) == run["latency"]["samples"] == 12
    assert run.layers


def test_a_run_prints_as_in_a_terminal(run):
    assert "tiny" in str(run) and "median" in str(run) and repr(run) == str(run)


def test_a_notebook_gets_tables_without_script(run):
    page = run._repr_html_()
    assert "<table>" in page and "<script" not in page and "tiny" in page
    assert "#" not in page.split("</style>")[1].split("<")[1]
    assert run._repr_markdown_().startswith("# ")


def test_the_description_counts_as_the_program_does(run, tiny):
    assert run["compute"]["parameters"] == tiny.num_parameters
    network = modelmeter.FeedForward(8, [4], 2)
    assert network.num_parameters == 8 * 4 + 4 + 4 * 2 + 2


def test_summaries_are_those_of_the_program(run):
    from modelmeter import _measure

    latency = _measure.latency_of(run.samples)
    for key in ("mean", "std", "min", "max", "median", "p95"):
        assert latency[key] == pytest.approx(run["latency"][key], rel=1e-6)


def test_inputs_are_given_in_many_ways(fast):
    import torch

    network = modelmeter.FeedForward(4, [8], 2, name="network")
    fast = {key: fast[key] for key in ("runs", "warmup", "engine")}
    for inputs in ([[1.0, 2.0, 3.0, 4.0]], torch.zeros(3, 4), torch.zeros(3, 4).numpy(), {"input": torch.zeros(3, 4)}):
        found = modelmeter.profile(network, inputs, **fast)
        assert found["batch_size"] == len(next(iter(inputs.values())) if isinstance(inputs, dict) else inputs)


def test_stored_runs_are_one_table_everywhere(run):
    import pyarrow

    runs = modelmeter.Runs(model="tiny")
    assert len(runs) >= 1 and runs[0].model == "tiny"
    rows = runs.to_rows()
    mine = next(row for row in rows if row["run_id"] == run.id)
    assert mine["samples_ns"] == run.samples
    assert mine["latency_median_seconds"] == pytest.approx(run["latency"]["median"] / 1e3)
    table = pyarrow.table(runs)
    assert table.num_rows == len(runs)
    assert table.to_pylist() == rows
    assert table.schema.field("samples_ns").type == pyarrow.large_list(pyarrow.uint64())
    stream = runs.__arrow_c_stream__()
    del stream  # a capsule that nobody read frees what it holds
    assert runs.to_arrow().equals(table)
    assert "tiny" in repr(runs) and "<table>" in runs._repr_html_()


def test_pandas_and_polars_read_the_same(run):
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    runs = modelmeter.Runs(model="tiny")
    frame, other = runs.to_pandas(), runs.to_polars()
    assert list(frame.columns) == other.columns
    assert frame["samples_ns"].tolist() == other["samples_ns"].to_list()
    assert isinstance(frame, pandas.DataFrame) and isinstance(other, polars.DataFrame)


def test_a_thousand_runs_with_gaps_survive_the_trip():
    import pyarrow
    from modelmeter._frames import Frame

    class Many(Frame):
        def _columns(self):
            n = 1001
            return [
                ("text", "text", [None if i % 7 == 0 else f"µ{i}" for i in range(n)]),
                ("whole", "integer", [None if i % 3 == 0 else i - 500 for i in range(n)]),
                ("share", "number", [None if i % 5 == 0 else i / 7 for i in range(n)]),
                ("truth", "truth", [None if i % 11 == 0 else i % 2 == 0 for i in range(n)]),
                ("samples", "integers", [None if i % 13 == 0 else list(range(i % 4)) for i in range(n)]),
                ("full", "integer", list(range(n))),
                ("none", "text", [None] * n),
            ]

    table = pyarrow.table(Many())
    table.validate(full=True)
    assert table.to_pylist() == Many().to_rows()


def test_results_of_other_commands_are_mappings_too(tiny, tmp_path):
    pruned = modelmeter.prune(tiny, tmp_path / "pruned", method="magnitude", sparsity=0.5, proof=False)
    assert pruned.schema == "modelmeter.proof/1" and pruned.path.is_dir()
    assert pruned.profile(runs=11, warmup=1, engine="rten", sequence_length=16)["latency"]["mean"] > 0
    held = modelmeter.check(
        tiny, threshold="latency:60s", engine="rten", processes=3, sequence_length=16, sampling="50ms"
    )
    assert held.ruling in ("held", "cannot tell") and held.schema == "modelmeter.check/1"
    assert "auto" in modelmeter.devices()
    assert any(row["model"] if "model" in row else row for row in modelmeter.models().to_rows())


def test_a_failed_gate_is_a_result(tiny):
    failed = modelmeter.check(
        tiny, threshold="memory.peak:1kB", engine="rten", processes=3, sequence_length=16, sampling="50ms"
    )
    assert failed.has_failed and failed.ruling == "failed" and failed.exit_code == 1


def children(parent):
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True).stdout.split()
    return [int(pid) for pid in found]


INTERRUPTED = """
import os, sys, modelmeter
model = modelmeter.TransformerEncoder(100, 16, 2, 1, 32, max_seq_length=64, name="interrupted")
print("ready", flush=True)
try:
    modelmeter.profile(model, engine="rten", duration="60s", sequence_length=16)
except KeyboardInterrupt:
    print("interrupted", len(modelmeter.Runs(model="interrupted")), flush=True)
    sys.exit(5)
"""


def test_ctrl_c_ends_the_program_and_stores_nothing():
    child = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    workers = []
    while len(workers) < 2:  # the program, and its worker
        workers = [grand for own in children(child.pid) for grand in [own, *children(own)]]
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    assert child.stdout.read() == "interrupted 0\n"
    assert child.wait() == 5
    for pid in workers:
        with pytest.raises(ProcessLookupError):
            for _ in range(200):
                os.kill(pid, 0)
                time.sleep(0.02)


def test_a_killed_kernel_leaves_no_program():
    child = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    workers = []
    while len(workers) < 2:
        workers = [grand for own in children(child.pid) for grand in [own, *children(own)]]
        time.sleep(0.02)
    child.kill()
    child.wait()
    for pid in workers:
        with pytest.raises(ProcessLookupError):
            for _ in range(250):
                os.kill(pid, 0)
                time.sleep(0.02)


def test_a_worker_that_dies_is_an_exception(tmp_path):
    import torch

    broken = modelmeter.TransformerEncoder(100, 16, 2, 1, 32, max_seq_length=64)
    with pytest.raises(modelmeter.Error) as caught:
        modelmeter.profile(broken, engine="rten", memory_limit="1MiB", limit_by="rlimit", runs=11)
    assert caught.value.message
    assert torch is not None


def test_calls_leave_descriptors_and_threads_as_they_were():
    before = len(os.listdir("/proc/self/fd")), threading.active_count()
    for _ in range(20):
        modelmeter.devices()
    assert (len(os.listdir("/proc/self/fd")), threading.active_count()) == before


def test_a_fork_after_the_import_works():
    import multiprocessing

    modelmeter.devices()
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=lambda: queue.put(modelmeter.devices().schema))
    child.start()
    assert queue.get() == "modelmeter.devices/1"
    child.join()
    assert child.exitcode == 0


def test_calls_from_threads_work(tiny, fast):
    found = []
    threads = [threading.Thread(target=lambda: found.append(modelmeter.models().schema)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["modelmeter.models/1"] * 3


def test_a_result_is_read_back(run, tmp_path):
    path = tmp_path / "run.json"
    run.to_json(path)
    again = modelmeter.load_baseline(path)
    assert again == run and json.loads(path.read_text())["id"] == run.id
    assert not modelmeter.detect_regressions(again, run)
    slower = {**run, "latency": {**run["latency"], **{key: 2 * run["latency"][key] for key in ("mean", "median")}}}
    slower["latency"]["ci95"] = {end: 2 * value for end, value in run["latency"]["ci95"].items()}
    found = modelmeter.detect_regressions(run, slower)
    unsure = run["latency"]["ci95"]["low"] * 2 / run["latency"]["ci95"]["high"] < 1.3
    assert [one.metric for one in (found.unclear if unsure else found)] == ["latency.median"]
    assert "latency.median" in str(found)
    with pytest.raises(modelmeter.UsageError, match="batch_size"):
        modelmeter.detect_regressions(run, {**run, "batch_size": 99})


def test_a_result_is_a_table_of_polars(run):
    polars = pytest.importorskip("polars")
    for result in (run, modelmeter.devices(), modelmeter.models()):
        frame = result.to_polars()
        assert isinstance(frame, polars.DataFrame) and frame.to_dicts() == result.to_rows()
        assert result.to_arrow().to_pylist() == result.to_rows()
    assert run.to_polars().height == 1 and {"name", "parameters"} <= set(modelmeter.models().to_polars().columns)


def test_a_result_cannot_be_changed(run):
    import copy
    import pickle

    mean = run["latency"]["mean"]
    for change in (
        lambda: run["latency"].__setitem__("mean", 0),
        lambda: run["latency"].update(mean=0),
        lambda: run["latency"].pop("mean"),
        lambda: run["verdict"]["reasons"].append({}),
        lambda: run["latency"]["ci95"].clear(),
    ):
        with pytest.raises(TypeError, match="read-only"):
            change()
    assert run["latency"]["mean"] == mean
    assert json.loads(json.dumps(dict(run))) == json.loads(run.to_json()) == run.to_dict()
    assert pickle.loads(pickle.dumps(run)) == copy.deepcopy(run) == run
    mine = run.to_dict()
    mine["latency"]["mean"] = 0


def test_a_page_of_a_run_that_is_not_in_the_default_database(tiny, fast, tmp_path):
    for options in ({"store": False}, {"db": str(tmp_path / "other.db")}):
        profiler = modelmeter.ModelProfiler(tiny, **{**fast, **options})
        profiler.profile()
        page = profiler.generate_html_report(tmp_path / "page.html").read_text()
        assert "tiny" in page


def test_a_baseline_has_rows(run, tmp_path):
    run.to_json(tmp_path / "run.json")
    (row,) = modelmeter.load_baseline(tmp_path / "run.json").to_rows()
    assert row["model"] == "tiny" and row["latency_median_ms"] == run["latency"]["median"]
    assert row["memory_peak"] == run["memory"]["peak"]


def test_a_run_stands_for_itself(run):
    found = modelmeter.compare(run, run)
    assert found.schema == "modelmeter.comparison/1"
    with pytest.raises(modelmeter.CannotTell):
        modelmeter.capacity(run, rate=5, slo="p99:200ms")


def test_one_wrong_entry_costs_only_itself(tiny, fast, tmp_path):
    import torch

    profiler = modelmeter.ModelProfiler(tiny)
    found = profiler.benchmark([{**fast, "batch_size": 1}, {**fast, "precision": "fp99"}, {**fast, "batch_size": 2}])
    assert len(found) == 2 and len(found.failures) == 1
    module = torch.nn.Linear(16, 4)
    suite = modelmeter.ModelBenchmarkSuite([module, "no-such-model"], profiler)
    profiler.profile_model(module, torch.zeros(2, 16), runs=11, warmup=1)
    results = suite.run(runs=11, warmup=1)
    assert [result["model"] for result in results] == ["Linear"] and "no-such-model" in results.failures
    bad = modelmeter.ModelBenchmarkSuite(["no-such-model"])
    bad.run()
    with pytest.raises(modelmeter.NotSupportedError, match="no model was measured") as caught:
        bad.generate_report(tmp_path / "page.html")
    assert "no-such-model" in caught.value.causes[0]


def test_words_in_tables_read_from_the_left_and_wrap():
    from modelmeter import _markup

    words = "other programs used more than half of the machine while this was measured"
    texts = f"| | |\n| --- | ---: |\n| a | CPU |\n| b | {words} |\n\n"
    page = _markup.fragment(texts + "| x | n |\n| --- | ---: |\n| y | 1.2 ms |\n")
    assert "<td>CPU</td>" in page and f'<td class="long">{words}</td>' in page
    assert '<td class="right">1.2 ms</td>' in page
    assert "scrollbar-color" in page


def test_progress_fits_the_terminal(monkeypatch, capsys):
    import shutil

    from modelmeter import _progress

    monkeypatch.setattr(shutil, "get_terminal_size", lambda fallback=None: os.terminal_size((40, 24)))
    monkeypatch.setattr(_progress, "PATIENCE", 0)
    progress = _progress.Progress(True, "profile")
    progress.hear(b"x" * 200 + b"\n")
    progress.tick()
    assert len(capsys.readouterr().err.strip("\r")) == 39
