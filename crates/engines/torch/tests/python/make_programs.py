"""Writes one small network as every kind of file that PyTorch writes.

Usage: make_programs.py FOLDER. `trap.pt` is a pickle that makes the file `sprung` when it is read.
"""

import pickle
import sys
from pathlib import Path

import torch

CODE = """
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2, bias=False)
        with torch.no_grad():
            self.layer.weight.copy_(torch.tensor([[1.0, 3.0], [2.0, -4.0]]))

    def forward(self, x):
        return self.layer(x)

class Twins(Net):
    def forward(self, x):
        y = self.layer(x)
        return y, y + y
"""


class Trap:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    (folder / "network_code.py").write_text(CODE)
    sys.path.insert(0, str(folder))
    from network_code import Net, Twins

    example = torch.ones(2, 2)
    torch.save(Net(), folder / "module.pt")
    torch.save(Net(), folder / "old.pt", _use_new_zipfile_serialization=False)
    torch.save(Net().state_dict(), folder / "weights.pth")
    (folder / "trap.pt").write_bytes(pickle.dumps(Trap(folder / "sprung")))
    torch.jit.trace(Twins(), example).save(folder / "script.ts")
    torch.export.save(torch.export.export(Twins(), (example,)), folder / "exported.pt2")
