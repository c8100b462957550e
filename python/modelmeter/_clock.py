"""Clocks: moments that are noted while code runs and read afterwards.

A mark on a GPU is an event in the current stream, which costs the host some microseconds and stops nothing; all are read after
one synchronisation. So the time between two marks is the time of the device's own timeline. On the host a mark is the
monotonic clock.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, Protocol


class Clock(Protocol):
    """Notes moments."""

    name: str

    def mark(self) -> Any:
        """A moment."""

    def between(self, pairs: Sequence[tuple[Any, Any]]) -> list[int]:
        """Nanoseconds between moments; waits until the device has reached them."""


class HostClock:
    """The monotonic clock of the system."""

    name = "cpu"

    def mark(self) -> int:
        """A moment."""
        return time.perf_counter_ns()

    def between(self, pairs: Sequence[tuple[int, int]]) -> list[int]:
        """Nanoseconds between moments."""
        return [end - begin for begin, end in pairs]


class SynchronisedClock(HostClock):
    """The clock of the host after the device has finished; for devices whose events cannot be compared."""

    def __init__(self, name: str, synchronise: Any) -> None:
        self.name = name
        self._synchronise = synchronise

    def mark(self) -> int:
        """A moment at which the device has finished."""
        self._synchronise()
        return time.perf_counter_ns()


class CudaClock:
    """Events in the current stream of a CUDA device."""

    def __init__(self, torch: Any, device: Any = None) -> None:
        self._torch = torch
        self._device = device
        self.name = f"cuda:{torch.cuda.current_device() if device is None or device.index is None else device.index}"

    def mark(self) -> Any:
        """An event, now in the stream."""
        event = self._torch.cuda.Event(enable_timing=True)
        event.record(self._torch.cuda.current_stream(self._device))
        return event

    def between(self, pairs: Sequence[tuple[Any, Any]]) -> list[int]:
        """Nanoseconds between events."""
        self._torch.cuda.synchronize(self._device)
        return [round(begin.elapsed_time(end) * 1e6) for begin, end in pairs]


def clock_of(device: object = None) -> Clock:
    """The clock of a device; without one, of CUDA if this process uses it already."""
    name = "" if device is None else str(device)
    kind = name.partition(":")[0]
    if kind == "cpu" or (not kind and "torch" not in sys.modules):
        return HostClock()
    torch: Any = None
    with suppress(ImportError):
        torch = import_module("torch")
    if torch is not None and not kind:
        return CudaClock(torch) if torch.cuda.is_available() and torch.cuda.is_initialized() else HostClock()
    if torch is not None and kind == "cuda" and torch.cuda.is_available():
        return CudaClock(torch, torch.device(name))
    if torch is not None and kind in ("mps", "xpu") and getattr(torch, kind).is_available():
        return SynchronisedClock(kind, getattr(torch, kind).synchronize)
    from ._errors import NotSupportedError

    raise NotSupportedError(
        f"this process has no device `{name}`", hint="torch.cuda.is_available() says whether torch sees it"
    )


def reset_peak_memory(clock: Clock) -> None:
    """Begins to watch the memory of a CUDA device."""
    if isinstance(clock, CudaClock):
        sys.modules["torch"].cuda.reset_peak_memory_stats(clock.name)


def peak_memory(clock: Clock) -> tuple[int | None, str]:
    """The largest memory so far in bytes, and what it is of."""
    if isinstance(clock, CudaClock):
        return int(sys.modules["torch"].cuda.max_memory_allocated(clock.name)), f"torch's allocator on {clock.name}"
    try:
        import resource
    except ImportError:
        return None, "this system does not tell it"
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit, "the whole process since its start"
