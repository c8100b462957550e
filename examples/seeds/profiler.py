"""`from profiler import MLRuntimeProfiler` and `python profiler.py --model … --num-runs …`."""

import sys

import modelmeter
from device import device_here
from modelmeter import _runtime_profiler


class MLRuntimeProfiler(modelmeter.MLRuntimeProfiler):
    """The profiler, on the device of the code or of `MODELMETER_EXAMPLES_DEVICE`."""

    def __init__(self, model_name=_runtime_profiler.DEFAULT_MODEL, device="cpu", **options):
        super().__init__(model_name, device_here(device), **options)


if __name__ == "__main__":
    sys.exit(_runtime_profiler.main())
