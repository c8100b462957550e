"""The one wheel on every Python here, without a network and without other packages."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
WHEELS = ROOT / "target" / "wheel" / "dist"

USE = """
import sys, modelmeter
assert "numpy" not in sys.modules
model = modelmeter.TransformerEncoder(100, 16, 2, 1, 32, max_seq_length=64, name="tiny")
run = modelmeter.profile(model, engine="rten", runs=11, warmup=1, sequence_length=16, store=False)
assert run["latency"]["samples"] == 11 and "<table>" in run._repr_html_()
with modelmeter.measure("step") as m:
    for _ in m.steps(range(12)):
        pass
print(sys.version_info[:2], run["environment"]["versions"]["modelmeter"], m["latency"]["samples"])
"""


def interpreters():
    """Every supported version that is here: on PATH, and of pyenv."""
    found = {}
    folders = [*os.environ.get("PATH", "").split(os.pathsep), *map(str, Path.home().glob(".pyenv/versions/*/bin"))]
    for minor in range(10, 14):
        for folder in folders:
            path = shutil.which(f"python3.{minor}", path=folder)
            # Shims of pyenv only work where the version is chosen.
            if path and "shims" not in path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
                found[f"3.{minor}"] = path
                break
    found.setdefault("%d.%d" % sys.version_info[:2], sys.executable)
    return found


@pytest.fixture(scope="module")
def wheel():
    (path,) = WHEELS.glob("modelmeter-*.whl")
    return path


def test_the_wheel_is_for_every_python_from_3_10(wheel):
    import zipfile

    assert re.search(r"-cp310-abi3-manylinux_2_\d+_x86_64\.whl$|-cp310-abi3-\w+\.whl$", wheel.name), wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    for part in ("modelmeter/__init__.py", "modelmeter/py.typed", "modelmeter/_native.pyi", "/scripts/modelmeter"):
        assert any(name.endswith(part) for name in names), part
    meta = next(name for name in names if name.endswith("METADATA"))
    told = zipfile.ZipFile(wheel).read(meta).decode()
    for line in ("Description-Content-Type: text/markdown", "Project-URL: Repository", "Author: "):
        assert line in told, line
    required = re.findall(r"(?m)^Requires-Dist: (.*)$", told)
    assert all("extra ==" in line for line in required), required


@pytest.mark.parametrize(("version", "python"), interpreters().items())
def test_the_wheel_runs(version, python, wheel, tmp_path):
    place = tmp_path / "venv"
    subprocess.run([python, "-m", "venv", "--without-pip", place], check=True)
    inside = place / "bin" / "python"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(inside),
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        str(wheel),
    ]
    subprocess.run(pip, check=True)
    done = subprocess.run([inside, "-c", USE], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("(%s, %s)" % tuple(version.split("."))) and done.stdout.endswith(" 12\n")
