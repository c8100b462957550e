"""A callback for the Trainer of transformers: where the time of training steps goes.

```python
from modelmeter.trainer import ModelmeterCallback

callback = ModelmeterCallback()
Trainer(..., callbacks=[callback]).train()
print(callback.result)
```

Phases of a step: `data` (fetching the batch, which the Trainer does before it says that a step begins), `forward-backward`,
`optimizer`, and `other` (schedules, zeroing gradients, logging). On CUDA the moments are events in the stream, and the device
is waited for once, at the end. Only the first rank measures.
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback  # type: ignore[import-not-found, unused-ignore]

from ._measure import Measure, Measurement


class ModelmeterCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Measures every step of a training.

    Args:
        name: what the result is called.
        skip: first steps that do not count: they compile, allocate and fill caches.
    """

    def __init__(self, name: str = "training", skip: int = 3) -> None:
        self._name = name
        self._skip = skip
        self._measure: Measure | None = None
        self._step_end: Any = None
        self._begin: Any = None
        self._computed: Any = None
        self._stepped: Any = None
        self._seen = 0

    @property
    def result(self) -> Measurement:
        """What was measured; there is one when the training has ended."""
        if self._measure is None:
            from ._errors import UsageError

            raise UsageError("no training was measured", hint="Trainer(..., callbacks=[callback]).train()")
        return self._measure.result

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Starts."""
        self._measure, self._step_end, self._seen = None, None, 0
        if state.is_world_process_zero:
            device = getattr(args, "device", None)
            self._measure = Measure(self._name, device)
            self._measure.__enter__()
            self._step_end = self._measure.mark()

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The batch is here."""
        if self._measure is not None:
            self._begin = self._measure.mark()
            self._computed = self._stepped = None

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The gradients are here."""
        if self._measure is not None:
            self._computed = self._measure.mark()

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The weights are changed."""
        if self._measure is not None:
            self._stepped = self._measure.mark()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The step is over."""
        measure = self._measure
        if measure is None or self._begin is None:
            return
        end = measure.mark()
        self._seen += 1
        if self._seen > self._skip:
            measure.span("data", self._step_end, self._begin)
            measure.span("forward-backward", self._begin, self._computed or end)
            if self._computed is not None and self._stepped is not None:
                measure.span("optimizer", self._computed, self._stepped)
            measure.whole(self._step_end, end)
        self._step_end, self._begin = end, None

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Reads the clocks."""
        if self._measure is None:
            return
        if self._seen <= self._skip:
            from ._errors import UsageError

            steps = "1 step" if self._seen == 1 else f"{self._seen} steps"
            raise UsageError(
                f"the training had {steps}, and the first {self._skip} do not count", hint="ModelmeterCallback(skip=0)"
            )
        self._measure.__exit__(None, None, None)
