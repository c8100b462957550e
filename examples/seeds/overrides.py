"""Other settings than those that the code says; only where they are asked for.

`MODELMETER_EXAMPLES=device=cpu,precision=fp32` measures every example on the cpu, in fp32, and says so.
"""

import os
import sys


def overrides(options):
    """The options of a call, with those of `MODELMETER_EXAMPLES` instead of its own."""
    asked = dict(pair.split("=", 1) for pair in os.environ.get("MODELMETER_EXAMPLES", "").split(",") if pair)
    if options.get("runs") is not None:
        # A number of samples and a duration exclude each other.
        asked.pop("duration", None)
    if asked:
        words = ", ".join(f"{key} {value}" for key, value in asked.items())
        print(f"note: measuring with {words}, because MODELMETER_EXAMPLES says so", file=sys.stderr)
    return {**options, **asked}
