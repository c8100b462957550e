"""Networks by their sizes: what the program builds, without torch."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ._errors import UsageError, WrongType
from ._results import Run


class Description:
    """A network that the program builds from its sizes, with random weights. It has no weights in this process."""

    def __init__(self, name: str, settings: dict[str, Any]) -> None:
        self._name = name
        self._settings = settings
        self.device: str | None = None

    @property
    def name(self) -> str:
        """The name that runs have."""
        return self._name

    @property
    def settings(self) -> dict[str, Any]:
        """The sizes."""
        return dict(self._settings)

    @property
    def num_parameters(self) -> int:
        """Trainable parameters."""
        raise NotImplementedError

    def to(self, device: object) -> Description:
        """Where it is measured, as torch's modules have it: `model.to(get_device())`. Returns the same model."""
        self.device = str(device)
        return self

    def toml(self) -> str:
        """The description that `modelmeter profile FILE.toml` takes."""
        return "".join(f"{key} = {_toml(value)}\n" for key, value in self._settings.items())

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Writes the description into a folder."""
        path = Path(folder) / f"{self._name}.toml"
        path.write_text(self.toml(), encoding="utf-8")
        return path

    def __repr__(self) -> str:
        settings = ", ".join(f"{key}={value!r}" for key, value in self._settings.items())
        return f"{type(self).__name__}({settings})"


def _toml(value: object) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(str, value)) + "]"
    return str(value)


class TransformerEncoder(Description):
    """A transformer encoder: embeddings, positions, layers of attention and feed-forward with norms behind them."""

    def __init__(
        self,
        vocab_size: int = 30000,
        d_model: int = 512,
        num_heads: int = 8,
        num_layers: int = 4,
        d_ff: int = 1024,
        dropout: float = 0.1,
        max_seq_length: int = 256,
        positional_encoding: str = "sinusoidal",
        *,
        name: str = "transformer-encoder",
    ) -> None:
        sizes = {
            "vocab_size": vocab_size,
            "d_model": d_model,
            "num_heads": num_heads,
            "num_layers": num_layers,
            "d_ff": d_ff,
            "max_seq_length": max_seq_length,
        }
        _check_sizes(sizes)
        if d_model % num_heads:
            raise UsageError(
                f"`d_model` {d_model} is not a multiple of `num_heads` {num_heads}",
                hint=f"num_heads={next(n for n in range(num_heads, 0, -1) if d_model % n == 0)} divides it",
            )
        if positional_encoding not in ("sinusoidal", "learned"):
            raise UsageError(
                f"`{positional_encoding}` is not a positional encoding", hint='it is "sinusoidal" or "learned"'
            )
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout < 1:
            raise UsageError("`dropout` must be a number from 0 to below 1")
        super().__init__(name, {**sizes, "dropout": float(dropout), "positional_encoding": positional_encoding})

    @property
    def num_parameters(self) -> int:
        """Trainable parameters."""
        size = self._settings
        d, ff = size["d_model"], size["d_ff"]
        layer = 4 * (d * d + d) + (d * ff + ff) + (ff * d + d) + 4 * d
        positions = size["max_seq_length"] * d if size["positional_encoding"] == "learned" else 0
        return int(size["vocab_size"] * d + positions + size["num_layers"] * layer)


class FeedForward(Description):
    """A feed-forward network: linear layers with ReLU between them."""

    def __init__(
        self,
        input_size: int = 512,
        hidden_layers: Sequence[int] = (1024, 1024, 512),
        output_size: int = 512,
        *,
        name: str = "feed-forward",
    ) -> None:
        if isinstance(hidden_layers, str) or not isinstance(hidden_layers, Sequence):
            raise WrongType(f"`hidden_layers` must be a list of sizes, not {hidden_layers!r}", hint="[1024, 512]")
        hidden = list(hidden_layers)
        _check_sizes({"input_size": input_size, "output_size": output_size})
        for size in hidden:
            _check_sizes({"hidden_layers": size})
        super().__init__(name, {"input_size": input_size, "hidden_layers": hidden, "output_size": output_size})

    @property
    def num_parameters(self) -> int:
        """Trainable parameters."""
        size = self._settings
        widths = [size["input_size"], *size["hidden_layers"], size["output_size"]]
        return sum(before * after + after for before, after in zip(widths, widths[1:], strict=False))


def _check_sizes(sizes: dict[str, Any]) -> None:
    for name, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise UsageError(f"`{name}` must be a whole number above 0, not {size!r}")


def create_custom_transformer(
    vocab_size: Any = 30000,
    d_model: int = 512,
    num_heads: int = 8,
    num_layers: int = 4,
    d_ff: int = 1024,
    dropout: float = 0.1,
    max_seq_length: int = 512,
    positional_encoding: str = "sinusoidal",
    *,
    name: str = "custom-transformer",
) -> TransformerEncoder:
    """A transformer encoder of one's own sizes. `...` in place of the first one stands for all defaults."""
    return TransformerEncoder(
        30000 if vocab_size is ... else vocab_size,
        d_model,
        num_heads,
        num_layers,
        d_ff,
        dropout,
        max_seq_length,
        positional_encoding,
        name=name,
    )


def small_transformer() -> TransformerEncoder:
    """The small encoder of the reference models: `small-transformer`."""
    return TransformerEncoder(10000, 256, 4, 2, 512, max_seq_length=512, name="small-transformer")


def medium_transformer() -> TransformerEncoder:
    """The medium encoder of the reference models: `medium-transformer`."""
    return TransformerEncoder(30000, 512, 8, 6, 2048, max_seq_length=512, name="medium-transformer")


def feed_forward_baseline() -> FeedForward:
    """The feed-forward network of the reference models: `feed-forward-baseline`."""
    return FeedForward(name="feed-forward-baseline")


class Written:
    """A model as a name or path that the program takes; files are removed at the end."""

    def __init__(self, model: object) -> None:
        self._model = model
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> list[str]:
        model = self._model
        if isinstance(model, Description):
            self._folder = tempfile.TemporaryDirectory(prefix="modelmeter-")
            return [str(model.write(self._folder.name))]
        if isinstance(model, (str, os.PathLike)):
            word = os.fspath(model)
            if not isinstance(word, str) or not word or word.startswith("-"):
                raise UsageError(
                    f"`{word!s}` is not a model", hint="give a name or a path; `./` before a name that begins with `-`"
                )
            return [word]
        if isinstance(model, Run):
            if model.was_not_stored:
                raise UsageError("this run is not in the database", hint="measure it without store=False")
            return [model.id]
        kind = type(model)
        raise WrongType(
            f"a `{kind.__module__}.{kind.__qualname__}` is not a model",
            hint="give a name, a path, a TransformerEncoder, a torch.nn.Module or a function with its inputs",
        )

    def __exit__(self, *error: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()


def get_device() -> str:
    """The best device of this machine: `cuda`, `mps` or `cpu`. Torch is asked if it is imported, else the program."""
    import sys

    torch = sys.modules.get("torch")
    if torch is not None:
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    import json

    from . import _program

    devices = json.loads(_program.data(["devices", "--json", "-"]))["devices"]
    known = {str(device["device"]).partition(":")[0] for device in devices if device["available"]}
    return next((device for device in ("cuda", "mps") if device in known), "cpu")
