"""Profiling as a pipeline has it: `python -m modelmeter.pipeline profile --model-path DIR --output-dir DIR --threshold …`.

The options are those of `modelmeter profile`, and so are the exit codes: 0 fine, 1 a limit is crossed, 4 cannot tell.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from ._errors import Error
from ._profiler import Benchmark, ModelBenchmarkSuite, ModelProfiler
from ._regressions import Regression, Regressions, detect_regressions, load_baseline

__all__ = [
    "Benchmark",
    "ModelBenchmarkSuite",
    "ModelProfiler",
    "Regression",
    "Regressions",
    "detect_regressions",
    "load_baseline",
    "main",
]


def main(arguments: Sequence[str] | None = None) -> int:
    """Becomes the program."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    from . import _program

    try:
        path = _program.program()
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    if not os.environ.get("MODELMETER_PYTHON") and sys.executable:
        os.environ["MODELMETER_PYTHON"] = sys.executable
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(path, [path, *words])


if __name__ == "__main__":
    sys.exit(main())
