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
