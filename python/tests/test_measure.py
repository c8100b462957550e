"""Timing one's own code."""

import asyncio
import inspect
import time

import modelmeter
import pytest


def test_phases_and_other_add_up_to_the_steps():
    with modelmeter.measure("step") as m:
        for number in m.steps(range(20)):
            with m.phase("forward"):
                time.sleep(0.002)
            with m.phase("backward"):
                sum(range(1000 + number))
    phases = m["phases"]
    assert list(phases) == ["data", "forward", "backward", "other"]
    assert m["latency"]["samples"] == 20 and m.result.is_valid
    assert sum(part["share"] for part in phases.values()) == pytest.approx(1, abs=1e-9)
    assert m["closure"] == pytest.approx(1, abs=1e-9)
    assert phases["forward"]["latency"]["min"] >= 2
    assert sum(m.result.samples) / 20e6 == pytest.approx(m["latency"]["mean"])
    assert m["isolation"] == "in-process" and m["device"] == "cpu"
    assert "forward" in str(m.result) and "<table>" in m.result._repr_html_()
    assert [row["phase"] for row in m.result.to_rows()] == ["step", *phases]


def test_a_phase_twice_in_a_step_is_one_time():
    with modelmeter.measure() as m:
        for _ in range(3):
            with m.step():
                for _ in range(2):
                    with m.phase("half"):
                        time.sleep(0.001)
    assert m["phases"]["half"]["latency"]["samples"] == 3
    assert m["phases"]["half"]["latency"]["min"] >= 2


def test_a_block_alone_is_one_step():
    with modelmeter.measure("block") as m:
        time.sleep(0.001)
    assert m["latency"]["samples"] == 1 and not m.result.is_valid
    assert "1 sample; the median needs 11" in str(m.result)


def test_what_cannot_be_measured_is_said():
    with modelmeter.measure() as m:
        with pytest.raises(modelmeter.UsageError, match="has not ended"):
            _ = m.result
        with m.phase("one"), pytest.raises(modelmeter.UsageError, match="inside phase `one`"), m.phase("two"):
            pass
    with pytest.raises(modelmeter.UsageError, match="not in progress"), m.phase("late"):
        pass
    with pytest.raises(modelmeter.UsageError, match="has been used"), m:
        pass
    with pytest.raises(modelmeter.UsageError, match="had no step"), modelmeter.measure() as empty:
        for _ in empty.steps([]):
            pass
    with pytest.raises(modelmeter.Error, match="cuda:9"):
        modelmeter.measure(device="cuda:9").__enter__()


def test_an_exception_passes_through():
    with pytest.raises(KeyError), modelmeter.measure() as m, m.phase("broken"):
        raise KeyError
    with pytest.raises(modelmeter.UsageError):
        _ = m.result


def test_a_decorated_function_is_the_same_function():
    @modelmeter.profile
    def add(a, b=2):
        """Adds."""
        return a + b

    assert [add(n) for n in range(12)] == [n + 2 for n in range(12)]
    assert add.__name__ == "add" and add.__doc__ == "Adds." and str(inspect.signature(add)) == "(a, b=2)"
    assert add.measurement["latency"]["samples"] == 12 and add.measurement.is_valid
    with pytest.raises(TypeError):
        add()
    assert add.measurement["latency"]["samples"] == 12


def test_a_decorated_coroutine_and_method():
    @modelmeter.profile(name="later")
    async def later(value):
        await asyncio.sleep(0.001)
        return value

    async def several():
        return await asyncio.gather(*(later(n) for n in range(3)))

    assert asyncio.run(several()) == [0, 1, 2]
    assert later.measurement["name"] == "later" and later.measurement["latency"]["min"] >= 1

    class Thing:
        @modelmeter.profile
        def double(self, value):
            return 2 * value

    assert Thing().double(4) == 8
    assert Thing.double.measurement["latency"]["samples"] == 1


def test_a_function_with_inputs_is_measured_here():
    found = modelmeter.profile(sorted, ([3, 1, 2],), runs=20)
    assert found["latency"]["samples"] == 20 and found["isolation"] == "in-process"
    assert found["name"] == "sorted"


def test_a_module_runs_in_a_fresh_process_and_a_local_one_here(tmp_path, monkeypatch):
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU())
    run = modelmeter.profile(model, torch.zeros(2, 8), runs=12, warmup=1)
    assert run["schema"] == "modelmeter.run/1" and run["engine"] == "torch" and run["model"] == "Sequential"
    assert run["compute"]["parameters"] == 36 and run["batch_size"] == 2

    class Local(torch.nn.Module):
        def forward(self, x):
            return x + 1

    monkeypatch.setitem(__import__("sys").modules, "cloudpickle", None)
    found = modelmeter.profile(Local(), torch.zeros(2), runs=12)
    assert found["isolation"] == "in-process" and "Local" in str(found)


def test_modules_that_cannot_be_are_refused_with_a_hint():
    import torch

    model = torch.nn.Linear(2, 2)
    with pytest.raises(modelmeter.UsageError, match="inputs of `Linear` are unknown"):
        modelmeter.profile(model)
    with pytest.raises(modelmeter.UsageError, match="the module is on cpu, its inputs are on meta"):
        modelmeter.profile(model, torch.zeros(2, device="meta"))
    with pytest.raises(modelmeter.UsageError, match="is a class"):
        modelmeter.profile(torch.nn.Linear)


def test_a_module_is_pruned_exactly():
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(10, 10), torch.nn.Linear(10, 3))
    before = [weight.clone() for weight in model.parameters()]
    for method in ("magnitude", "global-magnitude", "random"):
        pruned = modelmeter.ModelPruner(modelmeter.PruningConfig(method, 0.3)).prune(model)
        zeros = sum(int((weight == 0).sum()) for weight in pruned.parameters() if weight.dim() > 1)
        assert zeros == 39
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def test_annotations_name_modules_and_go_away():
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    with (
        modelmeter.annotate(model),
        torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen,
    ):
        model(torch.zeros(1, 4))
    names = {event.key for event in seen.key_averages()}
    assert {"Sequential", "0", "1"} <= names
    assert all("forward" not in module.__dict__ for module in model.modules())
    with pytest.raises(modelmeter.UsageError):
        modelmeter.annotate("model")


def test_a_phase_between_steps_has_no_share_of_them():
    with modelmeter.measure() as m:
        with m.phase("setup"):
            time.sleep(0.01)
        for _ in m.steps(range(12)):
            with m.phase("work"):
                time.sleep(0.001)
        with m.phase("validation"):
            time.sleep(0.03)
    assert set(m["phases"]) == {"data", "work", "other"}
    assert sum(part["share"] for part in m["phases"].values()) == pytest.approx(1, abs=1e-9)
    assert m["outside"]["validation"]["latency"]["min"] >= 30 and m["outside"]["setup"]["latency"]["samples"] == 1
    assert "phase `validation` ran between the steps" in str(m.result) and m.result.is_valid


def test_a_step_that_raises_leaves_no_phases():
    with modelmeter.measure() as m:
        for number in range(13):
            try:
                with m.step():
                    with m.phase("work"):
                        time.sleep(0.02 if number == 3 else 0.001)
                    if number == 3:
                        raise KeyError
            except KeyError:
                pass
    assert m["latency"]["samples"] == 12
    assert m["phases"]["work"]["latency"]["samples"] == 12 and m["phases"]["work"]["latency"]["max"] < 20


def test_break_counts_the_turn_that_was_run():
    with modelmeter.measure() as m:
        for number in m.steps(range(100)):
            with m.phase("work"):
                time.sleep(0.001)
            if number == 11:
                break
        with m.phase("later"):
            pass
    assert m["latency"]["samples"] == 12 and m["phases"]["work"]["latency"]["samples"] == 12
    assert set(m["outside"]) == {"later"}


def test_a_step_inside_a_step_is_refused():
    with modelmeter.measure() as m:
        for _ in m.steps(range(2)):
            with pytest.raises(modelmeter.UsageError, match="inside a step"), m.step():
                pass


def test_phases_that_overlap_are_not_valid():
    from modelmeter import _measure

    found = _measure.measurement("step", "cpu", [10] * 20, [(n, p, 8) for n in range(20) for p in "ab"], (None, ""))
    assert not found.is_valid and found["closure"] == pytest.approx(1.6)
    assert "add up to 160 % of the steps" in str(found)


@modelmeter.profile
def timed_here(value):
    return value + 1


def _plain(value):
    return value + 2


timed_other = modelmeter.profile(_plain)


class Timed:
    @modelmeter.profile
    def double(self, value):
        return 2 * value


def test_a_decorated_function_passes_between_processes():
    import pickle

    assert pickle.loads(pickle.dumps(timed_here)) is timed_here
    again = pickle.loads(pickle.dumps(timed_other))
    assert again(1) == 3 and again.measurement["latency"]["samples"] == 1
    assert pickle.loads(pickle.dumps(Timed().double))(2) == 4


def test_a_bound_method_has_its_measurement():
    thing = Timed()
    before = Timed.double._watch._calls
    assert thing.double(3) == 6
    assert thing.double.measurement["latency"]["samples"] == before + 1
    assert thing.double.__name__ == "double" and str(inspect.signature(thing.double)) == "(value)"


def test_a_decorated_coroutine_is_one_for_asyncio():
    @modelmeter.profile
    async def later():
        return 1

    assert asyncio.iscoroutinefunction(later)


def test_a_generator_is_refused():
    def items():
        yield 1

    async def later():
        yield 1

    for function in (items, later):
        with pytest.raises(modelmeter.UsageError, match="is a generator"):
            modelmeter.profile(function)


def test_many_calls_take_no_more_memory(monkeypatch):
    from collections import deque

    from modelmeter import _measure

    monkeypatch.setattr(_measure, "MOST_MARKS", 50)
    add = modelmeter.profile(_plain)
    for number in range(175):
        add(number)
    watch = add._watch
    assert isinstance(watch._times, deque) and len(watch._times) == 50 and len(watch._pairs) < 50
    found = add.measurement
    assert found["latency"]["samples"] == 50 and "the newest 50 of 175 calls" in str(found)


def test_options_are_not_ignored_in_this_process(monkeypatch):
    import torch

    class Local(torch.nn.Module):
        def forward(self, x):
            return x + 1

    monkeypatch.setitem(__import__("sys").modules, "cloudpickle", None)
    for options in (
        {"train": True},
        {"precision": "bf16"},
        {"engine": "onnxruntime"},
        {"threads": 7},
        {"quux": 3},
        {"layers": True},
    ):
        with pytest.raises(modelmeter.UsageError, match=next(iter(options))):
            modelmeter.profile(Local(), torch.zeros(2, 3), runs=11, **options)
    found = modelmeter.profile(Local(), torch.zeros(2, 3), runs=11, batch_size=2)
    assert found["latency"]["samples"] == 11


def test_the_batch_is_that_of_the_inputs():
    import torch

    model = torch.nn.Linear(8, 4)
    for inputs in (torch.zeros(2, 8), torch.zeros(2, 8).numpy(), [[0.0] * 8] * 2, (torch.zeros(2, 8),)):
        with pytest.raises(modelmeter.UsageError, match="a batch of 2") as caught:
            modelmeter.profile(model, inputs, batch_size=16)
        assert caught.value.hint == "omit batch_size"


def test_a_class_may_have_the_name_of_its_file(tmp_path, monkeypatch):
    import torch

    (tmp_path / "Net.py").write_text(
        "import torch\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    from Net import Net

    run = modelmeter.profile(Net(), torch.zeros(2, 8), runs=11, warmup=1, store=False)
    assert run["model"] == "Net" and run["batch_size"] == 2
