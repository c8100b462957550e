"""The package itself: what importing it costs, where its program is, what goes wrong and how it says so."""

import os
import pickle
import subprocess
import sys
import sysconfig
from pathlib import Path

import modelmeter
import pytest
from modelmeter import _errors, _program

ROOT = Path(__file__).resolve().parent.parent.parent
HEAVY = ("numpy", "torch", "pandas", "polars", "pyarrow", "transformers", "subprocess")


def python(code, *flags, **environment):
    done = subprocess.run(
        [sys.executable, *flags, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_loads_nothing_of_others():
    loaded = python("import modelmeter, sys; print([n for n in %r if n in sys.modules])" % (HEAVY,))
    assert loaded.strip() == "[]"


def test_importing_costs_few_modules():
    """Not timed here, where other tests run: fifty milliseconds are some hundred modules."""
    code = "import sys; before = set(sys.modules); import modelmeter; print(len(set(sys.modules) - before))"
    assert int(python(code)) <= 10


def test_the_program_is_the_one_of_the_wheel():
    path = Path(_program.program())
    assert path.parent == Path(sysconfig.get_path("scripts")).resolve()
    told = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["modelmeter", modelmeter.__version__]


def test_every_name_exists_and_has_a_docstring():
    for name in modelmeter.__all__:
        value = getattr(modelmeter, name)
        assert name == "__version__" or value.__doc__, name


def test_every_name_is_written_out():
    assert modelmeter.__all__ == ["__version__", *sorted(modelmeter._PLACE)]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such"):
        modelmeter.no_such


def test_another_version_of_the_program_is_refused(tmp_path, monkeypatch):
    other = tmp_path / "modelmeter"
    other.write_text("#!/bin/sh\necho modelmeter 99.0.0\n")
    other.chmod(0o755)
    monkeypatch.setenv("MODELMETER_PROGRAM", str(other))
    with pytest.raises(modelmeter.ProgramError, match="is version 99.0.0, this package is") as caught:
        modelmeter.devices()
    assert "same wheel" in caught.value.hint


def test_a_program_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("MODELMETER_PROGRAM", str(tmp_path / "nothing"))
    with pytest.raises(modelmeter.ProgramError, match="nothing"):
        modelmeter.devices()


def test_the_programs_errors_are_exceptions_with_their_hints(tmp_path):
    with pytest.raises(modelmeter.UsageError) as caught:
        modelmeter.profile("small-transfomer")
    assert "small-transformer" in str(caught.value) and caught.value.hint and caught.value.exit_code == 2
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, modelmeter.Error)
    with pytest.raises(modelmeter.Error) as caught:
        modelmeter.profile("small-transformer", device="cuda:7", engine="torch")
    assert caught.value.message


def test_errors_pass_between_processes():
    error = _errors.from_program("error: it broke\n  cause: rust\nhint: oil\n", 3)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is modelmeter.NotSupportedError
    assert (again.message, again.causes, again.hint, again.exit_code) == ("it broke", ("rust",), "oil", 3)


def test_a_program_that_dies_says_how(tmp_path):
    assert "signal SIGKILL" in str(_errors.from_program("", -9))
    assert type(_errors.from_program("error: bug\n", 70)) is modelmeter.BugError


def test_wrong_arguments_are_told_before_anything_runs(tiny):
    for call in (
        lambda: modelmeter.profile(object()),
        lambda: modelmeter.profile(tiny, batch_size=object()),
        lambda: modelmeter.profile(tiny, [[1, 2], [3]]),
        lambda: modelmeter.TransformerEncoder(d_model=10, num_heads=3),
        lambda: modelmeter.TransformerEncoder(vocab_size=0),
        lambda: modelmeter.PruningConfig(method="magic"),
        lambda: modelmeter.PruningConfig(sparsity=2),
        lambda: modelmeter.load_baseline("nowhere.json"),
        lambda: modelmeter.ModelProfiler().profile(),
        lambda: modelmeter.ModelBenchmarkSuite().run(),
    ):
        with pytest.raises(modelmeter.UsageError):
            call()


def test_wrong_values_are_errors_of_this_package_and_of_python(tiny, tmp_path):
    for call, kind in (
        (lambda: modelmeter.profile(tiny, batch_size=object()), TypeError),
        (lambda: modelmeter.profile(object()), TypeError),
        (lambda: modelmeter.profile(sorted, ([1],), runs="many"), TypeError),
        (lambda: modelmeter.profile("--help"), ValueError),
        (lambda: modelmeter.profile(tiny, help=True), ValueError),
        (lambda: modelmeter.measure(5), TypeError),
        (lambda: modelmeter.run(5), TypeError),
        (lambda: modelmeter.FeedForward(4, 5, 2), TypeError),
        (lambda: modelmeter.load_baseline(None), TypeError),
        (lambda: modelmeter.load_baseline("nowhere.json"), FileNotFoundError),
        (lambda: modelmeter.detect_regressions({}, {}), LookupError),
        (lambda: modelmeter.detect_regressions(None, {}), TypeError),
        (lambda: modelmeter.ModelBenchmarkSuite(5), TypeError),
        (lambda: modelmeter.ModelProfiler(tiny).benchmark([1]), TypeError),
        (lambda: modelmeter.Benchmark([])["nothing"], LookupError),
        (lambda: modelmeter.devices().to_json(tmp_path / "no" / "x.json"), OSError),
    ):
        with pytest.raises(modelmeter.Error) as caught:
            call()
        assert isinstance(caught.value, kind), caught.value
        assert str(caught.value).startswith(caught.value.message)


def test_an_unknown_option_has_a_hint(tiny):
    with pytest.raises(modelmeter.UsageError, match="--runz") as caught:
        modelmeter.profile(tiny, runz=3)
    assert "--runs" in caught.value.hint


def test_no_answer_is_an_error_of_its_own():
    assert type(_errors.from_program("error: nothing is stored\n", 4)) is modelmeter.CannotTell


def test_module_entry_is_the_program():
    told = subprocess.run([sys.executable, "-m", "modelmeter", "--version"], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["modelmeter", modelmeter.__version__]
