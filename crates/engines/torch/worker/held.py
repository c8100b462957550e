# What a training holds in memory, by what it is; found in a pass of its own that nobody times.


class Kept:
    """Counts what a forward pass keeps for the backward pass, each storage once."""

    def __init__(self, others, keep=None):
        # Weights, buffers and inputs are there anyway.
        self.known, self.bytes, self.keep = storages(others), 0, keep

    def pack(self, tensor):
        for pointer, size in storages([tensor]).items():
            if pointer not in self.known:
                self.known[pointer] = size
                self.bytes += size
                if self.keep is not None:
                    self.keep(size)
        return tensor

    def unpack(self, tensor):
        return tensor


def storages(values):
    """The memory behind tensors, by where it lies, in bytes."""
    found, open_values = {}, list(values)
    while open_values:
        value = open_values.pop()
        if isinstance(value, dict):
            open_values += value.values()
        elif isinstance(value, (tuple, list)):
            open_values += value
        elif isinstance(value, torch.Tensor):
            try:
                storage = value.untyped_storage()
                found[storage.data_ptr()] = storage.nbytes()
            except (RuntimeError, NotImplementedError):
                # One without a storage to look at.
                pass
    return found


def weigh(trainer, keep=None, look=None):
    """Bytes by what holds them, and the weights that the loss does not depend on.

    `keep` hears of everything that is kept for the backward pass, `look` sees the module while it has gradients.
    """
    module, call = trainer.module, trainer.call
    parameters = list(module.parameters())
    trainer.result = None
    kept = Kept([parameters, list(module.buffers()), call.arguments, call.keywords], keep)
    try:
        with torch.autograd.graph.saved_tensors_hooks(kept.pack, kept.unpack), trainer.formats.shorten():
            result = trainer.alone(*call.arguments, **call.keywords)
        with trainer.formats.shorten():
            loss = trainer.goal.measure(trainer.goal.pick(result))
        loss.backward()
        gradients = storages([parameter.grad for parameter in parameters])
        if look is not None:
            look(module)
        untrained = [name for name, parameter, _ in trainer.weights() if parameter.grad is None]
    finally:
        trainer.optimizer.zero_grad(set_to_none=True)
    memory = {
        "weights": sum(storages(parameters).values()),
        "gradients": sum(gradients.values()),
        "optimizer": sum(storages(trainer.optimizer.state.values()).values()),
        "activations": kept.bytes,
    }
    return memory, untrained
