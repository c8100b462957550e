# What a module needs so that it can learn: gradients, no dropout, an optimiser, the number formats of a training.


def check_training(precision, place, plan):
    """Refuses what cannot be trained, before anything is built or timed."""
    if plan.module["kind"] == "archive" and plan.kind != "pickle":
        raise Failure(
            "unsupported",
            "a saved program can be run, not trained",
            hint="`--torch-module file.py:function` takes a function that creates the module",
        )
    if precision == "int8":
        raise Failure(
            "unsupported",
            "weights in int8 cannot be trained",
            hint="`--precision bf16` trains in bf16 with weights in fp32",
        )
    if precision == "fp16" and place.is_cpu:
        raise Failure(
            "unsupported",
            "training in fp16 needs a GPU: its gradients must be scaled",
            hint="`--precision bf16` trains on the cpu",
        )


def open_for_training(plan, module, training, remarks):
    """Puts a module into the state it learns in; dropout is none, because our graphs have none."""
    module.train()
    if not plan.by_order:
        # A user's own module says itself what of it is frozen.
        for parameter in module.parameters():
            if parameter.is_floating_point():
                parameter.requires_grad_(True)
    if switch_dropout_off(module):
        remarks.append(remark("dropout-off", "dropout is off: the graphs of the other engines have none"))
    if training["checkpointing"]:
        compute_again(module)


def switch_dropout_off(module):
    """Whether there was any."""
    found = False
    for part in module.modules():
        if isinstance(part, torch.nn.modules.dropout._DropoutNd) and part.p > 0:
            part.p, found = 0.0, True
        # Attention keeps its share as a plain number, and some modules read their configuration while they run.
        for place in (part, getattr(part, "config", None)):
            for name, value in list(getattr(place, "__dict__", {}).items()):
                if "drop" in name and isinstance(value, float) and value > 0:
                    setattr(place, name, 0.0)
                    found = True
    return found


def compute_again(module):
    """Lets the backward pass compute activations again instead of keeping them."""
    options = {"use_reentrant": False, "preserve_rng_state": False}
    if getattr(module, "supports_gradient_checkpointing", False):
        module.gradient_checkpointing_enable(gradient_checkpointing_kwargs=options)
        return
    blocks = [block for part in module.modules() for block in repeated_blocks(part)]
    if not blocks:
        raise Failure(
            "unsupported",
            "this module has no repeated blocks whose activations could be computed again",
            hint="omit `--gradient-checkpointing`",
        )
    for block in blocks:
        wrap_in_checkpoint(block, options)


def repeated_blocks(part):
    """The blocks of a list of like modules with parts of their own, as a transformer's layers are."""
    if not isinstance(part, torch.nn.ModuleList) or len(part) < 2 or len({type(block) for block in part}) > 1:
        return []
    return list(part) if next(part[0].children(), None) is not None else []


def wrap_in_checkpoint(block, options):
    from torch.utils.checkpoint import checkpoint

    forward = block.forward

    def again(*arguments, **keywords):
        return checkpoint(forward, *arguments, **options, **keywords)

    block.__dict__["forward"] = again


def make_optimizer(training, module, remarks):
    """PyTorch's optimiser with its own defaults, in one kernel where the device has one."""
    kinds = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    kind = kinds[training["optimizer"]]
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    if not parameters:
        raise Failure("bad-model", "the module has no weight that can be trained")
    try:
        return kind(parameters, lr=training["learning_rate"], fused=True)
    except (RuntimeError, TypeError, ValueError):
        optimizer = kind(parameters, lr=training["learning_rate"])
    device = parameters[0].device.type
    text = "PyTorch %s has no fused %s for %s" % (torch.__version__, kind.__name__, device)
    remarks.append(remark("optimizer-not-fused", text))
    return optimizer


class Formats:
    """Number formats of a training: weights stay as they are, the forward pass and the loss may be shorter."""

    def __init__(self, precision, place, remarks):
        self.device, self.dtype = place.device.type, element_type(precision)
        self.is_mixed, self.scaler = precision != "fp32", None
        if self.is_mixed:
            text = "weights in fp32, forward pass and loss in %s where PyTorch's autocast says so" % precision
            remarks.append(remark("mixed-precision", text))
        if precision == "fp16":
            remarks.append(remark("loss-scaled", "the loss is scaled, so that gradients fit into fp16"))
            try:
                self.scaler = torch.amp.GradScaler(self.device)
            except AttributeError:
                # Before 2.3 there was one for CUDA only.
                self.scaler = torch.cuda.amp.GradScaler()

    def shorten(self):
        """The context in which a forward pass and its loss are computed."""
        return torch.autocast(self.device, dtype=self.dtype) if self.is_mixed else contextlib.nullcontext()

    def scale(self, loss):
        return loss if self.scaler is None else self.scaler.scale(loss)

    def unscale(self, optimizer):
        """Gradients as they are without scaling."""
        if self.scaler is not None:
            self.scaler.unscale_(optimizer)

    def step(self, optimizer):
        if self.scaler is None:
            optimizer.step()
        else:
            self.scaler.step(optimizer)
            self.scaler.update()
