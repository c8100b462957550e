"""`from profiler import MLRuntimeProfiler` and `python profiler.py --model … --num-runs …`."""

import sys

import modelmeter
from modelmeter import _runtime_profiler
from overrides import overrides


class MLRuntimeProfiler(modelmeter.MLRuntimeProfiler):
    """The profiler, with the settings of the code or of `MODELMETER_EXAMPLES`."""

    def profile_inference(self, batch_size=4, sequence_length=128, num_runs=5, **options):
        options = overrides({"runs": num_runs, **options})
        return super().profile_inference(batch_size, sequence_length, options.pop("runs"), **options)


if __name__ == "__main__":
    sys.exit(_runtime_profiler.main(kind=MLRuntimeProfiler))
