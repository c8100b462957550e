"""A callback for Lightning: where the time of training steps goes.

```python
from modelmeter.lightning import ModelmeterCallback

callback = ModelmeterCallback()
Trainer(callbacks=[callback]).fit(module)
print(callback.result)
```

Phases of a step: `data`, `forward` (with the loss), `backward`, `optimizer` and `other`. On CUDA the moments are events in the
stream, and the device is waited for once, at the end. Only the first rank measures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lightning.pytorch.callbacks import Callback  # type: ignore[import-not-found, unused-ignore]
else:
    try:
        from lightning.pytorch.callbacks import Callback
    except ImportError:
        from pytorch_lightning.callbacks import Callback

from ._measure import Measure, Measurement


class ModelmeterCallback(Callback):  # type: ignore[misc, unused-ignore]
    """Measures every batch of a training.

    Args:
        name: what the result is called.
        skip: first batches that do not count: they compile, allocate and fill caches.
    """

    def __init__(self, name: str = "training", skip: int = 3) -> None:
        super().__init__()
        self._name = name
        self._skip = skip
        self._measure: Measure | None = None
        self._batch_end: Any = None
        self._marks: dict[str, Any] = {}
        self._seen = 0

    @property
    def result(self) -> Measurement:
        """What was measured; there is one when the training has ended."""
        if self._measure is None:
            from ._errors import UsageError

            raise UsageError("no training was measured", hint="Trainer(callbacks=[callback]).fit(module)")
        return self._measure.result

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Starts."""
        self._measure, self._seen = None, 0
        if trainer.is_global_zero:
            self._measure = Measure(self._name, pl_module.device)
            self._measure.__enter__()
            self._batch_end = self._measure.mark()

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """The batch is here."""
        self._marks.clear()
        self._note("begin")

    def on_before_backward(self, trainer: Any, pl_module: Any, loss: Any) -> None:
        """The loss is here."""
        self._note("loss")

    def on_after_backward(self, trainer: Any, pl_module: Any) -> None:
        """The gradients are here."""
        self._note("gradients")

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """The step is over; the optimiser has had the time since the gradients."""
        measure, marks = self._measure, self._marks
        if measure is None or "begin" not in marks:
            return
        end = measure.mark()
        self._seen += 1
        if self._seen > self._skip:
            measure.span("data", self._batch_end, marks["begin"])
            for name, first, last in (("forward", "begin", "loss"), ("backward", "loss", "gradients")):
                if first in marks and last in marks:
                    measure.span(name, marks[first], marks[last])
            if "gradients" in marks:
                measure.span("optimizer", marks["gradients"], end)
            measure.whole(self._batch_end, end)
        self._batch_end = end

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Reads the clocks."""
        if self._measure is not None and self._seen > self._skip:
            self._measure.__exit__(None, None, None)

    def _note(self, moment: str) -> None:
        if self._measure is not None:
            self._marks[moment] = self._measure.mark()
