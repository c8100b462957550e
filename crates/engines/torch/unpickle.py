# Turns the pickled weights of a folder into one safetensors file: `unpickle.py FOLDER TARGET`.
#
# Only tensors are read (`weights_only`): a pickle that wants to run code is refused by PyTorch itself.

import json
import resource
import struct
import sys
from pathlib import Path

import torch

NAMES = {
    torch.float32: "F32",
    torch.float64: "F64",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}

folder, target = Path(sys.argv[1]), Path(sys.argv[2])
# What a training leaves beside the weights.
OF_TRAINING = ("scheduler", "optimizer", "optim", "training_args", "rng_state", "scaler", "trainer_state")
files = sorted(folder.glob("pytorch_model*.bin")) or sorted([*folder.glob("*.pt"), *folder.glob("*.pth")])
files = [file for file in files if not file.name.startswith(OF_TRAINING)]
# A pickle of a few bytes may ask for any amount of memory: what it takes follows from the size of the files.
most = 3 * sum(file.stat().st_size for file in files) + (4 << 30)
resource.setrlimit(resource.RLIMIT_DATA, (most, most))
tensors = {}
for file in files:
    read = torch.load(file, map_location="cpu", weights_only=True)
    read = read.get("state_dict", read)
    tensors.update({name: value for name, value in read.items() if isinstance(value, torch.Tensor)})
header, place = {}, 0
for name, value in tensors.items():
    size = value.numel() * value.element_size()
    header[name] = {"dtype": NAMES[value.dtype], "shape": list(value.shape), "data_offsets": [place, place + size]}
    place += size
head = json.dumps(header).encode()
head += b" " * (-len(head) % 8)
with open(target, "wb") as out:
    out.write(struct.pack("<Q", len(head)))
    out.write(head)
    for value in tensors.values():
        # NumPy knows no bfloat16, but everybody knows bytes.
        out.write(value.contiguous().flatten().view(torch.uint8).numpy().tobytes())
