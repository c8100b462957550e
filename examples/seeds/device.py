"""Another device than the one that the code says, for machines without it; only where it is asked for."""

import os
import sys


def device_here(device):
    """The device of the code, or that of `MODELMETER_EXAMPLES_DEVICE`."""
    here = os.environ.get("MODELMETER_EXAMPLES_DEVICE")
    if not here or device in (None, here):
        return device
    print(f"note: measuring on {here} instead of {device}, because MODELMETER_EXAMPLES_DEVICE says so", file=sys.stderr)
    return here
