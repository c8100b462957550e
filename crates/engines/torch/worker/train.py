# A module that learns: every sample is a step, timed phase by phase.

STEP_PHASES = ["forward", "loss", "backward", "optimizer", "total"]


class Trainer(Bench):
    """Everything a step needs. The device has finished whenever a phase ends."""

    phases = ["preprocess"] + STEP_PHASES

    def __init__(self, job, plan, module, runner, place, call, outputs, remarks):
        super().__init__(job, plan, module, runner, place, call, outputs)
        training = job["training"]["training"]
        self.accumulation = max(training["accumulation"], 1)
        self.goal = Goal(job, place)
        self.formats = Formats(job["request"]["precision"], place, remarks)
        self.optimizer = make_optimizer(training, module, remarks)
        # What runs without the other ranks, where there are some.
        self.alone, self.rank = runner, job.get("rank", 0)
        self.ring = self.world = None
        self.is_alone = False
        # What looks into steps, in a pass of its own: writes down modules, puts names on phases.
        self.watch = self.note = None
        if self.rank > 0:
            self.shuffle(job["seed"] + self.rank)
        self.nanos = []
        self.steps, self.last_loss, self.losses, self.broken = 0, None, [], None

    def mode(self):
        return torch.enable_grad()

    def infer(self):
        """A forward pass of which nothing is learnt."""
        self.result = None
        with torch.no_grad(), self.formats.shorten():
            self.result = self.alone(*self.call.arguments, **self.call.keywords)
        self.place.wait()

    def shuffle(self, seed):
        """A batch of this rank's own: masks and kinds of tokens stay, everything else comes in another order."""
        seed %= 1 << 63
        self.goal.shuffle(seed)
        if not self.specs:
            return
        for place, (spec, value) in enumerate(zip(self.specs, self.values)):
            if value is not None and (value.is_floating_point() or spec["role"].endswith("token-ids")):
                self.values[place] = shuffled(value, seed)
        self.bind()

    def join(self, store, size):
        """Trains with the other ranks from now on."""
        self.ring = Ring(self, store, self.rank, size)
        self.runner = self.ring.module

    def freeze_untrained(self):
        """Ranks wait for the gradient of every weight that may have one."""
        try:
            with self.formats.shorten():
                result = self.alone(*self.call.arguments, **self.call.keywords)
                loss = self.goal.measure(self.goal.pick(result))
            loss.backward()
            for parameter in self.module.parameters():
                parameter.requires_grad_(parameter.grad is not None)
        finally:
            self.optimizer.zero_grad(set_to_none=True)

    def step(self, look=None):
        """Takes a step and returns its times by phase; `look` is called when the gradients are there."""
        if self.world is None:
            return self.step_alone(look)
        spent = self.world.step(lambda: self.step_alone(look))
        self.nanos.append(spent["total"])
        return spent

    def step_alone(self, look=None):
        try:
            return self.take_step(look)
        except BaseException:
            # Half a gradient must not count in the next step.
            self.result = None
            self.optimizer.zero_grad(set_to_none=True)
            raise

    def steps_alone(self, count):
        """Times steps that share nothing, while the other ranks wait: what one process would need."""
        groups, known = self.optimizer.param_groups, len(self.losses)
        rates = [group["lr"] for group in groups]
        self.is_alone = True
        try:
            # The weights of all ranks stay the same.
            for group in groups:
                group["lr"] = 0.0
            return [self.step_alone()["total"] for _ in range(count)]
        finally:
            self.is_alone = False
            del self.losses[known:]
            for group, rate in zip(groups, rates):
                group["lr"] = rate

    def take_step(self, look):
        clock, wait = time.perf_counter_ns, self.place.wait
        spent, value = dict.fromkeys(STEP_PHASES, 0), 0.0
        begin = clock()
        for batch in range(self.accumulation):
            with self.sharing(batch + 1 == self.accumulation or self.is_alone):
                value += self.take_batch(spent)
        if self.ring is not None and not self.is_alone:
            self.ring.close()
        if look is not None:
            self.formats.unscale(self.optimizer)
            look()
        with self.looking(OPTIMIZER):
            start = clock()
            self.formats.step(self.optimizer)
            self.optimizer.zero_grad(set_to_none=True)
            wait()
            end = clock()
        spent["optimizer"], spent["total"] = end - start, end - begin
        if self.watch is not None:
            self.watch.end()
            spent["total"] -= self.watch.paused
        self.steps, self.last_loss = self.steps + 1, value
        if self.broken is None:
            self.losses.append(value)
        return spent

    def take_batch(self, spent):
        """Forward, loss and backward of one batch, added to the times; returns its part of the loss."""
        clock, wait = time.perf_counter_ns, self.place.wait
        # What shares would wait for the others, if only for a buffer.
        runner = self.alone if self.is_alone else self.runner
        self.result = None
        with self.looking(FORWARD):
            start = clock()
            with self.formats.shorten():
                self.result = runner(*self.call.arguments, **self.call.keywords)
            wait()
            spent["forward"] += clock() - start

        with self.looking(LOSS):
            output = self.goal.pick(self.result)
            start = clock()
            with self.formats.shorten():
                loss = self.goal.measure(output)
            if self.accumulation > 1:
                loss = loss / self.accumulation
            scaled = self.formats.scale(loss)
            wait()
            spent["loss"] += clock() - start
            value = float(loss.detach())
        self.notice(value)
        if self.watch is not None:
            self.watch.follow(scaled)
        # The loss's own gradient is of the phase `loss`, as in the graphs of the other engines.
        between = []

        def passed(_gradient):
            wait()
            between.append(clock())
            if self.watch is not None:
                self.watch.enter(BACKWARD)

        output.register_hook(passed)
        with self.noting(BACKWARD):
            start = clock()
            scaled.backward()
            wait()
            end = clock()
        spent["loss"] += between[0] - start
        spent["backward"] += end - between[0]
        return value

    def remembered(self):
        states = [state for state in self.optimizer.state.values()]
        return [value for state in states for value in state.values() if isinstance(value, torch.Tensor)] + [self.goal.labels]

    def can_be_looked_into(self):
        """A compiled module has no parts left, and other ranks would wait for what one rank does alone."""
        return not self.compiled and self.plan.has_parts and self.world is None

    def looking(self, part):
        """The context of a part of a step, for who looks into it."""
        if self.watch is not None:
            self.watch.enter(part)
        return self.noting(part)

    def noting(self, part):
        return contextlib.nullcontext() if self.note is None else self.note(STEP_PARTS[part])

    def sharing(self, is_last):
        """The context of a batch; ranks share gradients in the last one only."""
        return contextlib.nullcontext() if self.ring is None or is_last else self.runner.no_sync()

    def notice(self, value):
        """Finds out where the first loss that is not finite came from, while the weights are those that made it."""
        import math

        if self.broken is None and not math.isfinite(value):
            self.broken = {"step": self.steps + 1, "place": self.first_not_finite()}

    def first_not_finite(self):
        """The first module that gives numbers which are not finite, or its weight where that is none of them any more."""
        found = []

        def catcher(path, part):
            def catch(_part, _arguments, result):
                if not found and not all(map(is_finite, flatten(result).values())):
                    found.append((path, part))

            return catch

        catchers = [part.register_forward_hook(catcher(path, part)) for path, part in self.module.named_modules()]
        try:
            with torch.no_grad(), self.formats.shorten():
                self.module(*self.call.arguments, **self.call.keywords)
        finally:
            for one in catchers:
                one.remove()
        if not found:
            return "loss"
        path, part = found[0]
        own = {id(weight) for weight in part.parameters(recurse=False) if not is_finite(weight)}
        names = [name for name, weight, _ in self.weights() if id(weight) in own]
        return names[0] if names else path or type(part).__name__

    def first(self):
        spent = self.step()
        outputs = self.outputs()
        broken = [name for name, value in outputs.items() if not is_finite(value)]
        if self.broken is not None and self.goal.output not in broken:
            broken.append(self.goal.output)
        return {
            "answer": "first",
            "inference": duration(spent["total"]),
            "outputs": [[name, list(value.shape)] for name, value in outputs.items()],
            "non_finite": broken,
        }

    def sample(self, samples):
        if self.media is not None:
            begin = time.perf_counter_ns()
            for _ in range(self.accumulation):
                self.prepare_media()
            samples.setdefault("preprocess", []).append(max(time.perf_counter_ns() - begin, 1))
            self.bind()
        for phase, nanos in self.step().items():
            samples.setdefault(phase, []).append(max(int(nanos), 1))

    def weights(self):
        """Every weight: the graph's name where there is a graph, the parameter, and whether the graph has it turned."""
        parameters = dict(self.module.named_parameters(remove_duplicate=False))
        if not isinstance(self.plan, WeightedPlan):
            named = self.module.named_parameters()
            return [(name, value, False) for name, value in named if value.is_floating_point()]
        weights = []
        for tensor in self.plan.tensors:
            name = next(name for name in tensor["names"] if name in parameters)
            weights.append((tensor["stored"], parameters[name], tensor["transposed"]))
        return weights

    def write_gradients(self, path):
        found = {}

        def look():
            for name, parameter, is_turned in self.weights():
                if parameter.grad is not None:
                    gradient = parameter.grad.detach().to(torch.float32)
                    found[name] = gradient.t().clone() if is_turned else gradient.clone()

        self.step(look)
        found["loss"] = torch.tensor(self.last_loss, dtype=torch.float32)
        write_tensors(path, found)
        return {"answer": "written"}

    def trained(self):
        memory, untrained = weigh(self)
        report = {
            "losses": self.losses,
            "broken": self.broken,
            "memory": memory,
            "output": self.goal.output,
            "untrained": untrained,
            "flops": [],
        }
        if self.world is not None:
            report["world"] = self.world.report(self)
        return {"answer": "trained", "report": report}


def is_finite(value):
    return not value.is_floating_point() or bool(torch.isfinite(value).all())


def answer_training(trainer, ask):
    if trainer.rank > 0:
        return answer_rank(trainer, ask)
    kind = ask["ask"]
    if kind == "first":
        return first(trainer)
    if kind == "run":
        return trainer.run(ask["count"], ask["budget"])
    if kind == "trained":
        return trainer.trained()
    if kind == "gradients":
        return trainer.write_gradients(ask["path"])
    if kind == "outputs":
        return trainer.write_outputs(ask["path"], ask.get("inside", False))
    if kind == "observe":
        return {"answer": "observed", "shapes": []}
    if kind == "profile":
        return profile_step(trainer, ask["count"], ask.get("detail", "times"))
    if kind == "memory":
        return remember_step(trainer, ask["count"], ask["events"])
    if kind == "load":
        raise Failure("failed", "a worker loads one model")
    raise Failure("failed", "unknown request `%s`" % kind)
