"""Functions, and modules that cannot be sent to another process, measured in this one."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

from . import _clock
from ._errors import UsageError, WrongType
from ._measure import Measurement, measurement

LEAST_SAMPLES = 11
SECONDS = 3.0
MOST_SECONDS = 30.0
WARMUP_SECONDS = 0.2
TARGET_ERROR = 0.01


def profile_function(
    function: Any,
    inputs: object = None,
    *,
    runs: int | None = None,
    warmup: int | None = None,
    duration: str | None = None,
    device: object = None,
    name: str | None = None,
    input_data: object = None,
    remarks: tuple[tuple[str, str], ...] = (),
    **unknown: Any,
) -> Measurement:
    """Calls a function with its inputs until the median is precise."""
    unknown = {
        key: value
        for key, value in unknown.items()
        if key not in ("progress", "store") and value is not None and value is not False
    }
    if unknown:
        raise UsageError(
            f"`{next(iter(unknown))}` is not for what is measured in this process",
            hint="functions take runs, warmup, duration, device and name",
        )
    for option, value in (("runs", runs), ("warmup", warmup)):
        least = 1 if option == "runs" else 0
        if value is not None and (isinstance(value, bool) or not hasattr(value, "__index__") or value < least):
            raise WrongType(f"`{option}` must be a whole number, {least} or more, not {value!r}")
    call = _call(function, inputs if inputs is not None else input_data)
    clock = _clock.clock_of(device)
    _clock.reset_peak_memory(clock)
    _warm_up(call, clock, warmup)
    samples: list[int] = []
    begin = time.monotonic()
    seconds = _seconds(duration)
    while not _is_enough(samples, time.monotonic() - begin, runs, seconds):
        pairs: list[tuple[Any, Any]] = []
        window = time.monotonic()
        # One synchronisation for each window of 250 ms; `runs` may end a window earlier.
        while time.monotonic() - window < 0.25 and (runs is None or len(samples) + len(pairs) < runs):
            start = clock.mark()
            call()
            pairs.append((start, clock.mark()))
        samples += clock.between(pairs)
    title = name or str(getattr(function, "__qualname__", type(function).__name__))
    return measurement(title, clock.name, samples, [], _clock.peak_memory(clock), remarks)


def profile_module(module: Any, inputs: object, *, why: str, **options: Any) -> Measurement:
    """A module that cannot be sent to a fresh process."""
    torch: Any = sys.modules["torch"]
    given = {key: value for key, value in options.items() if value is not None and value is not False}
    # Already compared with the inputs.
    given.pop("batch_size", None)
    ours = {key: given.pop(key) for key in ("runs", "warmup", "duration", "device") if key in given}
    if given:
        option = next(iter(given))
        raise UsageError(
            f"`{option}` is not for what is measured in this process, and this module can only be measured here",
            causes=[why],
            hint=f"omit {option}, or move the class to a file that can be imported",
        )
    weight = next(module.parameters(), None)
    ours.setdefault("device", weight.device if weight is not None else "cpu")
    was_training = module.training
    module.eval()
    try:
        with torch.inference_mode():
            return profile_function(module, inputs, name=type(module).__name__, remarks=(("not-sent", why),), **ours)
    finally:
        module.train(was_training)


def _call(function: Any, inputs: object) -> Any:
    if isinstance(inputs, Mapping):
        return lambda: function(**inputs)
    if isinstance(inputs, tuple):
        return lambda: function(*inputs)
    return lambda: function(inputs)


def _warm_up(call: Any, clock: _clock.Clock, warmup: int | None) -> None:
    begin = time.monotonic()
    done = 0
    while done < warmup if warmup is not None else done < 1 or time.monotonic() - begin < WARMUP_SECONDS:
        start = clock.mark()
        call()
        clock.between([(start, clock.mark())])
        done += 1


def _seconds(duration: str | float | None) -> float | None:
    if duration is None:
        return None
    text = str(duration).strip()
    for ending, size in (("ms", 1e-3), ("min", 60.0), ("m", 60.0), ("s", 1.0), ("", 1.0)):
        if text.endswith(ending):
            try:
                return float(text.removesuffix(ending)) * size
            except ValueError:
                break
    raise UsageError(f"`{duration}` is not a duration", hint='write "10s" or "3m"')


def _is_enough(samples: list[int], elapsed: float, runs: int | None, seconds: float | None) -> bool:
    if runs is not None:
        return len(samples) >= runs
    if seconds is not None:
        return elapsed >= seconds and bool(samples)
    if len(samples) < LEAST_SAMPLES or elapsed < SECONDS:
        return elapsed > MOST_SECONDS and bool(samples)
    from ._measure import latency_of

    latency = latency_of(samples)
    width = (latency["ci95"]["high"] - latency["ci95"]["low"]) / 2
    return elapsed > MOST_SECONDS or width <= TARGET_ERROR * latency["median"]
