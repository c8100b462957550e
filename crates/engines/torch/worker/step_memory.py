# Where the memory of a training step goes: what is held by module, and every allocation by part of the step and module.


class StepFound(Found):
    """The allocations of steps. A node of the backward pass belongs to the module that made it, which its number tells."""

    def __init__(self, place, modules):
        super().__init__(place, 1 + 2 * modules + 2)
        self.modules, self.makers = modules, {}

    def name(self, part, module):
        """The place of a name: forward modules, backward modules, loss, optimiser."""
        if part in (FORWARD, BACKWARD):
            return 1 + (self.modules if part == BACKWARD else 0) + module
        return 1 + 2 * self.modules + (0 if part == LOSS else 1)

    def learn(self, roots):
        """Which module made each node; the last operator before a number is given made it."""
        for event, part, module in self.events(roots):
            number = number_of(event)
            if number is not None and part in (FORWARD, LOSS):
                self.makers[number] = (part, module)

    def read(self, roots):
        for event, part, module in self.events(roots):
            if event.name == RUN:
                self.ends.append(event.end_time_ns)
            elif event.name == "[memory]":
                self.keep(event, 0 if part is None else self.name(part, module))

    def events(self, roots):
        """Every event in time with its part of the step and its module; by hand, for modules nest deep."""
        last = (BACKWARD, 0)
        waiting = [(root, None, 0) for root in sorted(roots, key=lambda root: root.start_time_ns, reverse=True)]
        while waiting:
            event, part, module = waiting.pop()
            name = event.name
            if name.startswith(PHASE):
                part, module = STEP_PARTS.index(name[len(PHASE) :]), 0
            elif name.startswith(MODULE):
                module = int(name[len(MODULE) :])
            elif name.startswith(AUTOGRAD) and self.makers:
                maker, module = self.makers.get(number_of(event), last)
                # What follows the loss is the loss's own gradient.
                part = LOSS if maker == LOSS else BACKWARD
                last = (BACKWARD, module)
            yield event, part, module
            waiting.extend((child, part, module) for child in reversed(event.children))


def number_of(event):
    try:
        number = event.typed[1].sequence_number
    except (AttributeError, IndexError):
        return None
    return number if number >= 0 else None


def remember_step(trainer, count, path):
    """Answers with every allocation and free of steps, and with what they hold by module."""
    if trainer.place.device.type not in ("cpu", "cuda") or not trainer.can_be_looked_into():
        return {"answer": "remembered", "record": None}
    held = held_by_module(trainer)
    ranges = Ranges(trainer.module)
    trainer.result = None
    trainer.place.wait()
    base = allocated(trainer)
    trainer.note = lambda name: torch.profiler.record_function(PHASE + name)

    def step():
        trainer.step_alone()
        # The outputs of the last step would live on beside the next.
        trainer.result = None

    try:
        each, roots, reserved = watch(trainer, max(count, 1), step)
    finally:
        trainer.note = None
        ranges.remove()
    found = StepFound(trainer.place, len(ranges.names))
    found.learn(roots)
    found.read(roots)
    names = [{"name": "", "kind": ""}]
    for part in ("forward", "backward"):
        names += [dict(name, name=step_path(part, name["name"])) for name in ranges.names]
    names += [{"name": "loss", "kind": "loss"}, {"name": "optimizer", "kind": "optimizer"}]
    reply = told(found, path, names, True, each, base, reserved)
    reply["record"]["step"] = held
    return reply


def step_path(part, path):
    return part + "." + path if path else part


def held_by_module(trainer):
    """What a step holds, by module: weights, gradients, what the optimiser remembers, what the backward pass waits for."""
    rows, stack = {}, [""]

    def row(path):
        return rows.setdefault(path, {"path": path, "weights": 0, "gradients": 0, "optimizer": 0, "activations": 0})

    def keep(size):
        row(stack[-1])["activations"] += size

    def opened(path):
        def open_module(_part, _arguments):
            stack.append(path)

        return open_module

    def closed(_part, _arguments, _result):
        stack.pop()

    counted = set()

    def look(module):
        for path, part in module.named_modules():
            for weight in part.parameters(recurse=False):
                if id(weight) in counted:
                    continue
                counted.add(id(weight))
                own = row(path)
                own["weights"] += sum(storages([weight]).values())
                own["gradients"] += sum(storages([weight.grad]).values())
                own["optimizer"] += sum(storages([trainer.optimizer.state.get(weight, {})]).values())

    hooks = []
    for path, part in trainer.module.named_modules():
        row(path)
        hooks += [part.register_forward_pre_hook(opened(path)), part.register_forward_hook(closed)]
    try:
        weigh(trainer, keep, look)
    finally:
        for hook in hooks:
            hook.remove()
    modules = [own for own in rows.values() if own["weights"] or own["activations"]]
    return {"modules": modules}
