"""Profiles and benchmarks neural models, and says how reliable the numbers are.

```python
import modelmeter

run = modelmeter.profile("small-transformer")
print(run["latency"]["median"], run.is_valid)
```

The work is done by the program `modelmeter`, which is inside this package. More: docs/PYTHON.md
"""

TYPE_CHECKING = False  # type checkers take it for true; importing `typing` would take longer than all of this

__version__ = "0.1.0"

# Where each name lives. A name is imported when it is first used, so that importing this package costs nothing.
_PLACES = {
    "_commands": "profile compare check generate load fit recommend advise capacity prune quantize predict devices models run",
    "_errors": "Error UsageError CannotTell NotSupportedError ProgramError BugError",
    "_measure": "measure annotate Measure Measurement",
    "_models": "TransformerEncoder FeedForward create_custom_transformer get_device small_transformer "
    "medium_transformer feed_forward_baseline",
    "_profiler": "ModelProfiler ModelBenchmarkSuite Benchmark",
    "_pruner": "PruningConfig ModelPruner",
    "_regressions": "load_baseline detect_regressions Regression Regressions",
    "_results": "Result Run Check Changed",
    "_runs": "Runs",
    "_runtime_profiler": "MLRuntimeProfiler OnnxComparison",
}
_PLACE = {name: module for module, names in _PLACES.items() for name in names.split()}

if TYPE_CHECKING:
    from ._commands import advise as advise
    from ._commands import capacity as capacity
    from ._commands import check as check
    from ._commands import compare as compare
    from ._commands import devices as devices
    from ._commands import fit as fit
    from ._commands import generate as generate
    from ._commands import load as load
    from ._commands import models as models
    from ._commands import predict as predict
    from ._commands import profile as profile
    from ._commands import prune as prune
    from ._commands import quantize as quantize
    from ._commands import recommend as recommend
    from ._commands import run as run
    from ._errors import BugError as BugError
    from ._errors import CannotTell as CannotTell
    from ._errors import Error as Error
    from ._errors import NotSupportedError as NotSupportedError
    from ._errors import ProgramError as ProgramError
    from ._errors import UsageError as UsageError
    from ._measure import Measure as Measure
    from ._measure import Measurement as Measurement
    from ._measure import annotate as annotate
    from ._measure import measure as measure
    from ._models import FeedForward as FeedForward
    from ._models import TransformerEncoder as TransformerEncoder
    from ._models import create_custom_transformer as create_custom_transformer
    from ._models import feed_forward_baseline as feed_forward_baseline
    from ._models import get_device as get_device
    from ._models import medium_transformer as medium_transformer
    from ._models import small_transformer as small_transformer
    from ._profiler import Benchmark as Benchmark
    from ._profiler import ModelBenchmarkSuite as ModelBenchmarkSuite
    from ._profiler import ModelProfiler as ModelProfiler
    from ._pruner import ModelPruner as ModelPruner
    from ._pruner import PruningConfig as PruningConfig
    from ._regressions import Regression as Regression
    from ._regressions import Regressions as Regressions
    from ._regressions import detect_regressions as detect_regressions
    from ._regressions import load_baseline as load_baseline
    from ._results import Changed as Changed
    from ._results import Check as Check
    from ._results import Result as Result
    from ._results import Run as Run
    from ._runs import Runs as Runs
    from ._runtime_profiler import MLRuntimeProfiler as MLRuntimeProfiler
    from ._runtime_profiler import OnnxComparison as OnnxComparison

# Written out, because type checkers read it; a test compares it with the places.
__all__ = [
    "__version__",
    "Benchmark",
    "BugError",
    "CannotTell",
    "Changed",
    "Check",
    "Error",
    "FeedForward",
    "MLRuntimeProfiler",
    "Measure",
    "Measurement",
    "ModelBenchmarkSuite",
    "ModelProfiler",
    "ModelPruner",
    "NotSupportedError",
    "OnnxComparison",
    "ProgramError",
    "PruningConfig",
    "Regression",
    "Regressions",
    "Result",
    "Run",
    "Runs",
    "TransformerEncoder",
    "UsageError",
    "advise",
    "annotate",
    "capacity",
    "check",
    "compare",
    "create_custom_transformer",
    "detect_regressions",
    "devices",
    "feed_forward_baseline",
    "fit",
    "generate",
    "get_device",
    "load",
    "load_baseline",
    "measure",
    "medium_transformer",
    "models",
    "predict",
    "profile",
    "prune",
    "quantize",
    "recommend",
    "run",
    "small_transformer",
]


def __getattr__(name: str) -> object:
    place = _PLACE.get(name)
    if place is None:
        raise AttributeError(f"module 'modelmeter' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{place}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PLACE])
