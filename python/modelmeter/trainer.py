"""A callback for the Trainer of transformers: where the time of training steps goes.

```python
from modelmeter.trainer import ModelmeterCallback

callback = ModelmeterCallback()
Trainer(..., callbacks=[callback]).train()
print(callback.result)
```

Phases of a step: `data` (fetching the batch, which the Trainer does before it says that a step begins), `forward-backward`,
`optimizer`, and `other` (schedules, zeroing gradients). Evaluation, saving and logging are between the steps: they count for none.
On CUDA the moments are events in the stream, and the device
is waited for once, at the end. Only the first rank measures.
"""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback  # type: ignore[import-not-found, unused-ignore]

from ._measure import Measure, Measurement, result_of


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
        self._is_running = False

    @property
    def result(self) -> Measurement:
        """What was measured; there is one when the training has ended."""
        return result_of(self._measure, self._seen, self._skip, "Trainer(..., callbacks=[callback]).train()")

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Starts."""
        self._measure, self._step_end, self._begin, self._seen, self._is_running = None, None, None, 0, False
        if state.is_world_process_zero:
            device = getattr(args, "device", None)
            self._measure = Measure(self._name, device)
            self._measure.__enter__()
            self._is_running = True
            self._step_end = self._measure.mark()

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The batch is here."""
        if self._measure is not None and self._is_running:
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

    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """What was done since the last step is not the fetching of a batch."""
        if self._measure is not None and self._is_running and self._begin is None:
            self._step_end = self._measure.mark()

    on_evaluate = on_save = on_log

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Reads the clocks."""
        if self._measure is not None and self._is_running and self._seen > self._skip:
            self._measure.__exit__(None, None, None)
        self._is_running = False
