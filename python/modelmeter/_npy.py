"""Arrays as `.npy` files: what torch, numpy and nested lists have in common, without numpy."""

from __future__ import annotations

import struct
import sys
from importlib import import_module
from typing import Any

from ._errors import UsageError

_KINDS = {"f": "<f4", "i": "<i8"}


def write(path: str, value: Any) -> None:
    """Writes an array, a tensor, something with DLPack, or nested lists of numbers."""
    numpy: Any = sys.modules.get("numpy")
    torch: Any = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        value = (value.float() if value.dtype in (torch.bfloat16, torch.float16) else value).numpy()
        numpy = sys.modules["numpy"]
    elif hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        numpy = import_module("numpy")
        value = numpy.from_dlpack(value)
    elif hasattr(value, "__array__"):
        numpy = import_module("numpy")
        value = numpy.asarray(value)
    if numpy is not None and isinstance(value, numpy.ndarray):
        if value.dtype == object:
            raise UsageError("the inputs are not numbers of one shape", hint="give a tensor, an array or nested lists")
        numpy.save(path, value)
        return
    shape = _shape(value)
    numbers = list(_flat(value, shape))
    if not numbers or not all(isinstance(number, (int, float)) for number in numbers):
        raise UsageError(
            f"inputs cannot be {type(value).__name__}", hint="give a tensor, an array, nested lists of numbers or texts"
        )
    kind = "f" if any(isinstance(number, float) for number in numbers) else "i"
    head = f"{{'descr': '{_KINDS[kind]}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode("ascii"))
        file.write(struct.pack(f"<{len(numbers)}{'f' if kind == 'f' else 'q'}", *numbers))


def _shape(value: Any) -> list[int]:
    shape = []
    while isinstance(value, (list, tuple)):
        shape.append(len(value))
        if not value:
            break
        value = value[0]
    return shape


def _flat(value: Any, shape: list[int]) -> Any:
    if not shape:
        yield value
        return
    if not isinstance(value, (list, tuple)) or len(value) != shape[0]:
        raise UsageError("the inputs are nested lists of different lengths")
    for one in value:
        yield from _flat(one, shape[1:])
