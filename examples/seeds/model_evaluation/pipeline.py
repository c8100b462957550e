"""`from model_evaluation.pipeline import ModelProfiler` and `python -m model_evaluation.pipeline profile …`."""

import sys

import modelmeter.pipeline
from modelmeter.pipeline import detect_regressions, load_baseline, main
from overrides import overrides

__all__ = ["ModelProfiler", "detect_regressions", "load_baseline", "main"]


class ModelProfiler(modelmeter.pipeline.ModelProfiler):
    """The profiler, with the settings of the code or of `MODELMETER_EXAMPLES`."""

    def measure(self, model, inputs, options):
        return super().measure(model, inputs, overrides(options))


if __name__ == "__main__":
    sys.exit(main())
