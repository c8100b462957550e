"""The fixture for pytest and its gate, in projects of their own."""

import subprocess

import pytest

CODE = """
def work(n={n}):
    total = 0
    for i in range(n):
        total += i * i
    return total
"""
TEST = """
from work import work

def test_work(modelmeter):
    assert modelmeter(work) == work()
"""


def git(folder, *words):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(pytester):
    folder = pytester.path
    (folder / "work.py").write_text(CODE.format(n=20000))
    (folder / "test_work.py").write_text(TEST)
    (folder / "conftest.py").write_text("import sys, pathlib; sys.path.insert(0, str(pathlib.Path(__file__).parent))\n")
    git(folder, "init", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "base")
    return pytester


def test_without_a_baseline_times_are_shown_and_stored(project):
    done = project.runpytest_subprocess("--modelmeter-store", "times.json")
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["*test_work.py::test_work*median*ms*n *"])
    # No test rests on speed: only ten times slower would fail, and a busy machine is told.
    again = project.runpytest_subprocess("--modelmeter-against", "times.json", "--modelmeter-alert", "9")
    again.assert_outcomes(passed=1)
    assert any(words in again.stdout.str() for words in ("against a stored session, which drift of", "too busy"))


def test_times_of_a_busy_machine_are_not_judged():
    from modelmeter import _gate

    slow, fast = [3_000_000] * 50, [1_000_000] * 50
    assert _gate.against_samples(fast, slow, 0.03).word == "failed"
    ruling = _gate.against_samples(fast, slow, 0.03, waiting=0.3)
    assert ruling.word == "cannot tell" and "30%" in ruling.words
    assert _gate.waiting_share(0, 500_000_000, 1.0) == 0.5 and _gate.waiting_share(None, None, 1.0) == 0.0


def test_slower_code_fails(project):
    # Three times: what other programs do must not hide it.
    (project.path / "work.py").write_text(CODE.format(n=60000))
    done = project.runpytest_subprocess("--modelmeter-against", "HEAD", "--modelmeter-rounds", "8")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*failed: slower by +*against HEAD*"])


def test_the_same_code_never_fails(project):
    done = project.runpytest_subprocess("--modelmeter-against", "main", "--modelmeter-rounds", "4")
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["*against main*"])


def test_a_new_test_has_no_baseline(project):
    (project.path / "test_new.py").write_text("def test_new(modelmeter):\n    modelmeter(sum, [1, 2])\n")
    done = project.runpytest_subprocess("test_new.py", "--modelmeter-against", "main")
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["*new: main has no such test*"])


def test_what_cannot_be_is_refused(project):
    done = project.runpytest_subprocess("--modelmeter-against", "no-such-revision")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*`no-such-revision` is neither a file nor a revision*"])
    (project.path / "bad.json").write_text("{}")
    done = project.runpytest_subprocess("--modelmeter-against", "bad.json")
    assert done.ret == pytest.ExitCode.USAGE_ERROR


def test_beside_other_tests_nothing_is_timed(project):
    pytest.importorskip("xdist")
    done = project.runpytest_subprocess("-n", "2", "--modelmeter-against", "main")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*times nothing under xdist*"])
    done = project.runpytest_subprocess("-n", "1")
    done.assert_outcomes(passed=1, warnings=1)


def test_two_functions_in_a_test_are_refused(pytester):
    pytester.makepyfile("def test_two(modelmeter):\n    modelmeter(sum, [1])\n    modelmeter(sum, [2])\n")
    done = pytester.runpytest_subprocess()
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*times one function in a test*"])


@pytest.mark.parametrize(("ratio", "word"), [(1.5, "failed"), (1.0, "held"), (1.04, "cannot tell")])
def test_rounds_are_judged(ratio, word):
    import math

    from modelmeter import _gate, _native

    scatter = {"failed": 0.01, "held": 0.001, "cannot tell": 0.05}[word]
    rounds = [math.log(ratio) + scatter * offset for offset in (-1, 1, -0.5, 0.5, 0, 1, -1, 0)]
    ruling = _gate._ruled("base", _native.judge(rounds, 0.03, 0.01 / 3), len(rounds), 0.03)
    assert ruling.word == word and ruling.ratio == pytest.approx(ratio)


BENCH = """
import pytest, sys, pathlib

sys.path.insert(0, str(pathlib.Path(__file__).parent))

def pytest_addoption(parser):
    parser.addoption("--bench", action="store_true")

def pytest_collection_modifyitems(config, items):
    if not config.getoption("--bench"):
        for item in items:
            item.add_marker(pytest.mark.skip(reason="needs --bench"))
"""


def test_options_of_the_session_reach_both_sides(project):
    (project.path / "conftest.py").write_text(BENCH)
    git(project.path, "commit", "-am", "bench")
    done = project.runpytest_subprocess("--bench", "--modelmeter-against", "main", "--modelmeter-rounds", "2")
    done.stdout.no_fnmatch_line("*new: main has no such test*")
    done.stdout.fnmatch_lines(["*against main, 2 processes per side*"])


def test_a_test_that_does_not_run_by_itself_is_an_error(project):
    (project.path / "test_work.py").write_text(
        "import os, pytest\nfrom work import work\n\n"
        "@pytest.mark.skipif('MODELMETER_PYTEST_TURNS' in os.environ, reason='not here')\n"
        "def test_work(modelmeter):\n    modelmeter(work)\n"
    )
    git(project.path, "commit", "-am", "skipped")
    done = project.runpytest_subprocess("--modelmeter-against", "main", "--modelmeter-strict")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*the test does not run by itself*"])


def test_a_test_that_fails_in_the_baseline_is_an_error(project):
    (project.path / "helper.py").write_text("")
    (project.path / "test_work.py").write_text("import helper\n" + TEST)
    git(project.path, "rm", "-q", "work.py")
    git(project.path, "commit", "-am", "broken")
    (project.path / "work.py").write_text(CODE.format(n=20000))
    done = project.runpytest_subprocess("--modelmeter-against", "main")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*the test does not run in main*"])


def test_an_installed_package_is_the_same_code_on_both_sides(project, tmp_path_factory, monkeypatch):
    installed = tmp_path_factory.mktemp("site-packages")
    (installed / "work.py").write_text(CODE.format(n=20000))
    (project.path / "src").mkdir()
    (project.path / "work.py").rename(project.path / "src" / "work.py")
    (project.path / "conftest.py").write_text("")
    git(project.path, "add", "-A")
    git(project.path, "commit", "-m", "src")
    monkeypatch.setenv("PYTHONPATH", str(installed))
    done = project.runpytest_subprocess("--modelmeter-against", "main")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["*nothing to compare: both sides import `work` from*"])


def test_options_for_children():
    from modelmeter import _gate

    words = "--bench -k name --modelmeter-against main --junitxml=x.xml --rootdir . tests/a.py -x --lf --basetemp t"
    kept = _gate.options_for_children([*words.split(), "-p", "plug"], ["tests/a.py"])
    assert kept == "--bench -k name -x -p plug".split()
