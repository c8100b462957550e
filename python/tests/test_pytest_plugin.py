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
    again = project.runpytest_subprocess("--modelmeter-against", "times.json")
    again.assert_outcomes(passed=1)
    again.stdout.fnmatch_lines(["*against a stored session, which drift of*"])


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
