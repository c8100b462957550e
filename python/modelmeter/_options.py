"""Python's values as arguments of the program."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ._errors import UsageError, WrongType

# Options that are given again for each value; the others take several values with commas.
_REPEATED = frozenset("text input tag threshold set header shape slo layers exclude trace prices".split())

_ELSEWHERE = {"help": "help(modelmeter.profile), or `modelmeter profile --help`", "version": "modelmeter.__version__"}


def arguments_of(options: Mapping[str, Any]) -> list[str]:
    """`batch_size=4, offline=True` as `--batch-size 4 --offline`; `None` and `False` are left out."""
    arguments: list[str] = []
    for name, value in options.items():
        if name in ("help", "version"):
            raise UsageError(f"`{name}` is not an option of a measurement", hint=_ELSEWHERE[name])
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            arguments.append(flag)
        elif isinstance(value, Mapping):
            for key, one in value.items():
                arguments += [flag, f"{key}={_shape_or_word(one)}"]
        elif isinstance(value, (list, tuple, set, frozenset)):
            words = [word_of(name, one) for one in value]
            if name.rstrip("_") in _REPEATED:
                for word in words:
                    arguments.append(f"{flag}={word}")
            elif words:
                arguments.append(f"{flag}={','.join(words)}")
        else:
            arguments.append(f"{flag}={word_of(name, value)}")
    return arguments


def word_of(name: str, value: object) -> str:
    """One value as a word."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float, os.PathLike)):
        device = str(value)
        if type(value).__module__.partition(".")[0] == "torch" and type(value).__name__ in ("device", "dtype"):
            return {"torch.float32": "fp32", "torch.float16": "fp16", "torch.bfloat16": "bf16"}.get(device, device)
        raise WrongType(f"`{name}` cannot be {_kind(value)}", hint="give text, a number or a path")
    word = os.fspath(value) if isinstance(value, os.PathLike) else str(value)
    if not isinstance(word, str) or "\0" in word:
        raise UsageError(f"`{name}` is not text")
    return word


def _shape_or_word(value: object) -> str:
    """The shape of an input, or what else is said of it."""
    if isinstance(value, (list, tuple)):
        return "x".join(str(int(size)) for size in value)
    return word_of("input", value)


def _kind(value: object) -> str:
    kind = type(value)
    return f"a `{kind.__module__}.{kind.__qualname__}`".replace("`builtins.", "`")
