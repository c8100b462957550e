# Where the time of a training step goes: forward and backward by module, loss and optimiser, in a pass of its own.
#
# A list of moments says from when on time belongs to what. In the forward pass these are the wrapped `forward`s. In the
# backward pass every node of autograd's graph calls us before it runs. It belongs to the module whose forward pass made
# it, which its number tells: autograd counts the nodes that a thread makes. What autograd does between two nodes (it
# adds up gradients that meet) belongs to the node before.

STEP_PARTS = ["forward", "loss", "backward", "optimizer"]
FORWARD, LOSS, BACKWARD, OPTIMIZER = range(4)
# Time that is ours: the graph is walked before the backward pass.
PAUSED, END = -1, -2


def node_counter():
    """How many nodes autograd made in this thread, as a function; `None` where PyTorch is too old to tell."""
    return getattr(getattr(torch._C, "_autograd", None), "_get_sequence_nr", None)


class StepWatch(Wrappers):
    """Writes down from when on a step's time belongs to which module, forward and backward."""

    def __init__(self, module, clock, note=None):
        super().__init__()
        self.clock, self.count = clock, node_counter()
        # Moments: what time belongs to from now on and the clock, in turns. Nodes: the first number and the module.
        self.moments, self.made, self.stack, self.ran = [], [], [0], {}
        self.paths, self.kinds, self.owners = [], [], {}
        self.part, self.paused, self.first_of_loss, self.callers = FORWARD, 0, 0, {}
        for path, part in module.named_modules():
            index = len(self.paths)
            self.wrap(part, index, note)
            self.paths.append(path)
            self.kinds.append(type(part).__name__)
            for weight in part.parameters(recurse=False):
                self.owners.setdefault(id(weight), index)

    def wrap(self, part, index, note):
        forward = part.forward

        def timed(*arguments, **keywords):
            self.stack.append(index)
            if self.part == FORWARD:
                self.ran[index] = self.ran.get(index, 0) + 1
            self.switch()
            try:
                return forward(*arguments, **keywords)
            finally:
                self.stack.pop()
                self.switch()

        self.replace(part, timed, None if note is None else lambda: note(index))

    def switch(self):
        """Time belongs to the innermost module from now on, and so do the nodes that are made."""
        index = self.stack[-1]
        self.moment(4 * index + self.part)
        self.made.append((self.count(), index))

    def moment(self, key):
        """From now on time belongs to this."""
        self.moments.append(key)
        self.moments.append(self.clock.read())

    def enter(self, part):
        """A part of the step begins."""
        self.part, self.stack[:] = part, [0]
        if part == LOSS:
            self.first_of_loss = self.count()
        self.switch()

    def end(self):
        self.moment(END)

    def follow(self, loss):
        """Asks every node that the backward pass will run to call us; the time for that is nobody's."""
        begin = time.perf_counter_ns()
        self.moment(PAUSED)
        numbers = [number for number, _ in self.made]
        seen, waiting = set(), [loss.grad_fn]
        while waiting:
            node = waiting.pop()
            if node is not None and node not in seen:
                seen.add(node)
                node.register_prehook(self.caller(self.key_of(node, numbers)))
                waiting += [before for before, _ in node.next_functions]
        self.switch()
        self.paused += time.perf_counter_ns() - begin

    def key_of(self, node, numbers):
        import bisect

        weight = getattr(node, "variable", None)
        if weight is not None:
            return 4 * self.running(self.owners.get(id(weight), 0)) + BACKWARD
        number = node._sequence_nr()
        if number >= self.first_of_loss:
            return LOSS
        at = bisect.bisect_right(numbers, number) - 1
        return 4 * (self.made[at][1] if at >= 0 else 0) + BACKWARD

    def running(self, index):
        """The module itself, or the innermost one around it that ran: some use the weights of parts that never run."""
        while index not in self.ran and index > 0:
            around = self.paths[index].rpartition(".")[0]
            index = self.paths.index(around) if around in self.paths else 0
        return index

    def caller(self, key):
        if key not in self.callers:
            moment, stack, index = self.moment, self.stack, key // 4

            def call(_gradients):
                # What is computed again inside a node returns to this module.
                stack[0] = index
                moment(key)

            self.callers[key] = call
        return self.callers[key]

    def restart(self):
        self.moments.clear()
        self.made.clear()
        self.ran.clear()
        self.paused = 0
        self.clock.restart()

    def add_to(self, sums, calls):
        """Adds the nanoseconds of this step by part and module, and how often each module ran forward."""
        keys, settle = self.moments[::2], self.clock.settle
        times = [settle(mark) for mark in self.moments[1::2]]
        for place, key in enumerate(keys[:-1]):
            if key >= 0:
                sums[key] = sums.get(key, 0) + max(times[place + 1] - times[place], 0)
        for index, often in self.ran.items():
            calls[index] = calls.get(index, 0) + often

    def nodes(self, sums, calls, steps):
        """Every module's own time, forward, then the loss, then backward, then the optimiser."""
        found = []
        for key in self.order(sums):
            index, part = divmod(key, 4)
            is_module = part in (FORWARD, BACKWARD)
            found.append(
                {
                    "path": self.paths[index] if is_module else "",
                    "kind": self.kinds[index] if is_module else STEP_PARTS[part],
                    "calls": steps if part == OPTIMIZER else calls.get(index if is_module else 0, 0),
                    "nanos": sums[key],
                    "phase": STEP_PARTS[part],
                }
            )
        return found

    def order(self, sums):
        """By part of the step; the module around all others comes first, as it does in a forward pass."""
        keys = []
        for part in range(len(STEP_PARTS)):
            keys += sorted((key for key in sums if key % 4 == part), key=lambda key: key != part)
        return keys


def profile_step(trainer, count, detail):
    """Answers with every module's own time in both passes, or with nothing where a module cannot be looked into."""
    parts = part_recorder() if detail == "times" else None
    if parts is not None:
        return profile_step_parts(trainer, count, parts)
    if not trainer.can_be_looked_into() or node_counter() is None:
        return {"answer": "profiled", "profile": None}
    place = trainer.place
    clock = EventClock(place) if place.has_events else HostClock(place)
    recorder = Recorder(place, is_step=True) if detail == "timeline" else None
    watch = StepWatch(trainer.module, clock, recorder and recorder.module)
    sums, calls, each, taken = {}, {}, [], []

    def step():
        taken.append(trainer.step_alone()["total"])

    def run(work):
        watch.restart()
        taken.clear()
        work()
        each.append(taken[-1])
        watch.add_to(sums, calls)

    trainer.watch, trainer.note = watch, recorder and recorder.phase
    try:
        if recorder is None:
            for _ in range(max(count, 1)):
                run(step)
        else:
            recorder.record(run, step, max(count, 1))
    finally:
        trainer.watch = trainer.note = None
        watch.remove()
    nodes = watch.nodes(sums, calls, len(each))
    found = {"runs": len(each), "total_nanos": sum(each), "run_nanos": each, "nodes": nodes, "remarks": []}
    hold_to(nodes, sum(each))
    if recorder is not None:
        found["timeline"], found["remarks"] = recorder.timeline(watch.paths)
    return {"answer": "profiled", "profile": found}
