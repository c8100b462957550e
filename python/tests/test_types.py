"""What type checkers and notebooks see."""

import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "modelmeter"

USE = """
import modelmeter

run = modelmeter.profile("small-transformer", runs=11)
reveal_type(run)
reveal_type(modelmeter.compare("a"))
with modelmeter.measure("step") as m:
    reveal_type(m)
    for batch in m.steps([1, 2]):
        reveal_type(batch)

@modelmeter.profile
def f(x: int) -> str:
    return str(x)

reveal_type(f)
"""


def test_types_of_the_package_are_right(tmp_path):
    use = tmp_path / "use.py"
    use.write_text(USE)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(use)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for words in (
        '"modelmeter._results.Run"',
        '"modelmeter._results.Result"',
        '"modelmeter._measure.Measure"',
        "int",
    ):
        assert words in done.stdout, done.stdout


SETTINGS = """
[mypy]
[mypy-transformers.*,lightning.*,pytorch_lightning.*,torch.*,IPython.*,numpy.*]
follow_imports = skip
ignore_missing_imports = True
"""


def test_what_type_checkers_see_is_what_runs(tmp_path):
    settings = tmp_path / "mypy.ini"
    settings.write_text(SETTINGS)
    command = [sys.executable, "-m", "mypy.stubtest", "modelmeter", "--ignore-missing-stub"]
    command += ["--mypy-config-file", str(settings)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_help_shows_names_and_defaults():
    import inspect

    import modelmeter

    signature = str(inspect.signature(modelmeter.ModelProfiler.profile))
    assert "num_runs: 'int | None' = None" in signature and "detailed_analysis: 'bool' = False" in signature
