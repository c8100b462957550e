"""A callback for Lightning: where the time of training steps goes.

```python
from modelmeter.lightning import ModelmeterCallback

callback = ModelmeterCallback()
Trainer(callbacks=[callback]).fit(module)
print(callback.result)
```

Phases of a step: `data`, `forward` (with the loss), `backward`, `optimizer` and `other`. With manual optimisation `backward` is all
passes of the step, and what lies between them is `other`. Validation counts for no step. On CUDA the moments are events in the
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

from ._measure import Measure, Measurement, result_of


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
        self._begin: Any = None
        self._losses: list[Any] = []
        self._gradients: list[Any] = []
        self._seen = 0
        self._is_running = False

    @property
    def result(self) -> Measurement:
        """What was measured; there is one when the training has ended."""
        return result_of(self._measure, self._seen, self._skip, "Trainer(callbacks=[callback]).fit(module)")

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Starts."""
        self._measure, self._begin, self._seen, self._is_running = None, None, 0, False
        if trainer.is_global_zero:
            self._measure = Measure(self._name, pl_module.device)
            self._measure.__enter__()
            self._is_running = True
            self._batch_end = self._measure.mark()

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """The batch is here."""
        self._losses.clear()
        self._gradients.clear()
        self._begin = self._mark()

    def on_before_backward(self, trainer: Any, pl_module: Any, loss: Any) -> None:
        """The loss is here."""
        self._losses.append(self._mark())

    def on_after_backward(self, trainer: Any, pl_module: Any) -> None:
        """The gradients are here."""
        self._gradients.append(self._mark())

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """The step is over; the optimiser has had the time since the gradients."""
        measure = self._measure
        if measure is None or self._begin is None:
            return
        end = measure.mark()
        self._seen += 1
        if self._seen > self._skip:
            measure.span("data", self._batch_end, self._begin)
            if self._losses:
                measure.span("forward", self._begin, self._losses[0])
            for loss, gradients in zip(self._losses, self._gradients, strict=False):
                measure.span("backward", loss, gradients)
            if self._gradients:
                measure.span("optimizer", self._gradients[-1], end)
            measure.whole(self._batch_end, end)
        self._batch_end, self._begin = end, None

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """What was done since the last step is not the fetching of a batch."""
        if self._is_running and self._begin is None:
            self._batch_end = self._mark()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Reads the clocks."""
        if self._measure is not None and self._is_running and self._seen > self._skip:
            self._measure.__exit__(None, None, None)
        self._is_running = False

    def _mark(self) -> Any:
        return self._measure.mark() if self._measure is not None and self._is_running else None
