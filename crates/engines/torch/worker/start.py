# The worker's beginning: take the protocol's streams, greet, and only then load anything slow.
#
# The other files of this folder are joined in the order that `script.rs` lists and come as arguments: they are compiled
# after the greeting. All of it runs in the user's own Python, 3.9 or newer, and needs only PyTorch.

import sys

# A `torch.py` in the folder somebody happens to stand in is not PyTorch.
sys.path[:] = [place for place in sys.path if place]

import os
import time


def claim_standard_streams():
    """Moves the protocol to descriptors of its own, so that a module that prints cannot break it."""
    reader, writer = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return os.fdopen(reader, "rb"), os.fdopen(writer, "wb", 0)


READER, WRITER = claim_standard_streams()

# Nothing slow may come before this line; it needs no JSON library, which takes longer to import than all else here.
WRITER.write(b'{"answer":"hello","protocol":%d,"pid":%d}\n' % (int(sys.argv[1]), os.getpid()))

import json
import signal
import traceback


def become_expendable():
    """Dies with its parent, and first when memory runs out; where the system has no such knobs, nothing changes."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if not sys.platform.startswith("linux"):
        return
    try:
        import ctypes

        # PR_SET_PDEATHSIG is 1.
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except (OSError, ImportError, AttributeError):
        pass


become_expendable()
REST, sys.argv = "".join(sys.argv[2:]), [""]
exec(compile(REST, "<modelmeter worker>", "exec"))
