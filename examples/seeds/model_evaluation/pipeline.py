"""`from model_evaluation.pipeline import ModelProfiler` and `python -m model_evaluation.pipeline profile …`."""

import sys

import modelmeter.pipeline
from device import device_here
from modelmeter.pipeline import detect_regressions, load_baseline, main

__all__ = ["ModelProfiler", "detect_regressions", "load_baseline", "main"]


class ModelProfiler(modelmeter.pipeline.ModelProfiler):
    """The profiler, on the device of the code or of `MODELMETER_EXAMPLES_DEVICE`."""

    def __init__(self, model_path=None, device=None, precision=None, **options):
        super().__init__(model_path, device_here(device), precision, **options)


if __name__ == "__main__":
    sys.exit(main())
