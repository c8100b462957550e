"""`PruningConfig` and `ModelPruner`: weights, heads or neurons taken out of a model."""

from __future__ import annotations

import copy
import os
import sys
import tempfile
import weakref
from typing import Any

from . import _commands
from ._errors import UsageError
from ._torch_module import is_module

METHODS = ("magnitude", "global-magnitude", "structured", "n-m", "random")


class PruningConfig:
    """How a model is pruned.

    Args:
        method: `magnitude`, `global-magnitude`, `structured` (heads and neurons), `n-m`, `random`.
        sparsity: the share that is removed, above 0 and below 1.
        options: further options of `modelmeter prune`.
    """

    def __init__(self, method: str = "magnitude", sparsity: float = 0.5, **options: Any) -> None:
        if method not in METHODS:
            raise UsageError(f"`{method}` is not a method of pruning", hint=f"methods are {', '.join(METHODS)}")
        if isinstance(sparsity, bool) or not isinstance(sparsity, (int, float)) or not 0 < sparsity < 1:
            raise UsageError(f"`sparsity` must be above 0 and below 1, not {sparsity!r}", hint="0.5 removes half")
        self.method = method
        self.sparsity: float = float(sparsity)
        self.options = options

    def __repr__(self) -> str:
        return f"PruningConfig(method={self.method!r}, sparsity={self.sparsity})"


class ModelPruner:
    """Prunes models; the original is not changed."""

    def __init__(self, config: PruningConfig | None = None) -> None:
        self.config: PruningConfig = config or PruningConfig()

    def prune(
        self, model: Any, output: str | os.PathLike[str] | None = None, *, proof: bool = False, **options: Any
    ) -> Any:
        """Prunes a model.

        A name, a path or a `TransformerEncoder` becomes a folder (`result.path`), which `profile` takes and which lives as long
        as the result if `output` does not name one. `proof=True` compares it with the original, interleaved. A
        `torch.nn.Module` becomes another one, by magnitude or at random.
        """
        if is_module(model):
            return _prune_module(model, self.config)
        asked = {**self.config.options, **options}
        if self.config.method != "n-m":
            asked["sparsity"] = self.config.sparsity
        folder = None
        if output is None:
            folder = tempfile.TemporaryDirectory(prefix="modelmeter-pruned-")
            output = os.path.join(folder.name, "model")
        changed = _commands.prune(model, output, method=self.config.method, proof=proof, **asked)
        if folder is not None:
            # The folder goes with the result.
            weakref.finalize(changed, folder.cleanup)
        return changed


def _prune_module(module: Any, config: PruningConfig) -> Any:
    """A copy in which exactly the share of each weight of more than one dimension is 0."""
    torch: Any = sys.modules["torch"]
    if config.method not in ("magnitude", "random", "global-magnitude"):
        raise UsageError(
            f"`{config.method}` pruning of a torch.nn.Module is not supported",
            hint="export it to ONNX and prune the file, or use magnitude",
        )
    pruned = copy.deepcopy(module)
    tables = [part for part in pruned.modules() if isinstance(part, (torch.nn.Embedding, torch.nn.EmbeddingBag))]
    skipped = {id(weight) for table in tables for weight in table.parameters()}
    weights = [weight for weight in pruned.parameters() if weight.dim() > 1 and id(weight) not in skipped]
    if not weights:
        raise UsageError(f"`{type(module).__name__}` has no weights to prune")
    groups = [weights] if config.method == "global-magnitude" else [[weight] for weight in weights]
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for group in groups:
            if config.method == "random":
                scores = [torch.rand(weight.shape, generator=generator).flatten() for weight in group]
            else:
                scores = [weight.detach().abs().flatten().float().cpu() for weight in group]
            order = torch.cat(scores).argsort(stable=True)
            kept = torch.ones(order.numel(), dtype=torch.bool)
            kept[order[: round(config.sparsity * order.numel())]] = False
            for weight, mask in zip(group, kept.split([weight.numel() for weight in group]), strict=True):
                weight.mul_(mask.view(weight.shape).to(weight.device, weight.dtype))
    return pruned
