# A module with its inputs on the bench: run it, time it, show what comes out.

PHASES = ["preprocess", "tokenise", "inference", "device", "postprocess", "total"]


class Bench:
    """Everything a sample needs. Only what stands between two readings of the clock is timed."""

    phases = PHASES

    def __init__(self, job, plan, module, runner, place, call, outputs):
        self.specs, self.kind = job["inputs"], job["postprocess"]
        self.plan, self.module, self.runner, self.place, self.call = plan, module, runner, place, call
        self.expected, self.compiled = outputs, runner is not module
        self.dtype = floating_type(module)
        self.result = self.mask = self.real_tokens = self.tokeniser = self.media = self.serving = None
        text = job.get("text")
        if text is not None:
            self.tokeniser = Tokeniser(text)
        if not self.specs and text is None and plan.by_order:
            self.call.bind_example(to_device(plan.example(), place.device, self.dtype))
            return
        self.values = read_inputs(job, TOKEN_ROLES if text is not None else ())
        if job.get("media") is not None:
            self.media = Media(job["media"], self.specs)
            self.given = self.values[self.media.place]
        if self.tokeniser is not None:
            encoded = self.tokeniser.encode()
            self.real_tokens = encoded["real"]
            self.feed(encoded)
        self.bind()

    def feed(self, encoded):
        feed(self.values, self.specs, encoded)
        self.mask = torch.tensor(encoded["mask"])

    def prepare_media(self):
        """Makes pictures or recordings ready and puts them in."""
        self.values[self.media.place] = self.media.make()

    def bind(self):
        self.call.bind([to_device(value, self.place.device, self.dtype) for value in self.values])
        self.place.wait()

    def mode(self):
        """The context in which everything is answered."""
        return torch.inference_mode()

    def infer(self):
        """Runs once and returns when the device has finished."""
        # The last outputs would otherwise live on beside the new ones.
        self.result = None
        self.result = self.runner(*self.call.arguments, **self.call.keywords)
        self.place.wait()

    def remembered(self):
        """Tensors that live beside the module and its inputs, between two runs."""
        return []

    def outputs(self):
        named = flatten(self.result)
        if not named:
            raise Failure("failed", "the module returned %s, which contains no tensor" % type(self.result).__name__)
        return named

    def first(self):
        begin = time.perf_counter_ns()
        self.infer()
        taken = time.perf_counter_ns() - begin
        outputs = self.outputs()
        floats = {name: value for name, value in outputs.items() if value.is_floating_point()}
        return {
            "answer": "first",
            "inference": duration(taken),
            "outputs": [[name, list(value.shape)] for name, value in outputs.items()],
            "non_finite": [name for name, value in floats.items() if not bool(torch.isfinite(value).all())],
        }

    def run(self, count, budget):
        samples = {}
        limit = budget["secs"] * 1_000_000_000 + budget["nanos"]
        begin, taken = time.perf_counter_ns(), 0
        while taken < max(count, 1):
            self.sample(samples)
            taken += 1
            if time.perf_counter_ns() - begin >= limit:
                break
        phases = [{"phase": phase, "nanos": samples[phase]} for phase in self.phases if phase in samples]
        return {"answer": "window", "samples": phases}

    def sample(self, samples):
        """One end-to-end sample. Binding new token ids lies between the phases and inside the total."""

        def push(phase, nanos):
            samples.setdefault(phase, []).append(max(int(nanos), 1))

        clock = time.perf_counter_ns
        begin = clock()
        if self.media is not None:
            self.prepare_media()
            push("preprocess", clock() - begin)
        begin_text = clock()
        if self.tokeniser is not None:
            encoded = self.tokeniser.encode()
            push("tokenise", clock() - begin_text)
            self.feed(encoded)
        is_new = self.media is not None or self.tokeniser is not None
        if is_new:
            self.bind()
        if self.place.has_events:
            stream = torch.cuda.current_stream(self.place.device)
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            self.result = None
            before = clock()
            start.record(stream)
            self.result = self.runner(*self.call.arguments, **self.call.keywords)
            end.record(stream)
            self.place.wait()
            after = clock()
            push("device", start.elapsed_time(end) * 1e6)
        else:
            before = clock()
            self.infer()
            after = clock()
        push("inference", after - before)
        if self.kind != "none":
            # Reading the device's own clock is ours, not the answer's.
            after = clock()
            first = next(iter(flatten(self.result).values()), None)
            if first is not None:
                postprocess(self.kind, first, self.mask)
            done = clock()
            push("postprocess", done - after)
            push("total", done - begin)
        elif is_new:
            push("total", clock() - begin)

    def write_outputs(self, path, inside):
        if self.media is not None:
            # Engines are compared on the same numbers: the last bit of a picture depends on who decoded it.
            self.values[self.media.place] = self.given
            self.bind()
        leaving = {}
        catchers = catch_all(self.module, leaving) if inside and not self.compiled and self.plan.has_parts else []
        try:
            self.infer()
        finally:
            for catcher in catchers:
                catcher.remove()
        leaving.update(self.outputs())
        write_tensors(path, leaving)
        return {"answer": "written"}

    def signature(self):
        inputs = [
            {"name": spec["name"], "dtype": spec["dtype"], "dims": [None] * len(spec["dims"])} for spec in self.specs
        ]
        outputs = [{"name": name, "dtype": None, "dims": None} for name in self.expected]
        return {"inputs": inputs, "outputs": outputs}


class Wrappers:
    """Functions in the place of the `forward` of modules, until they are removed."""

    def __init__(self):
        self.wrapped = []

    def replace(self, part, forward, context=None):
        """Lets a module run this function from now on, each time in a context of its own where one is given."""

        def inside(*arguments, **keywords):
            with context():
                return forward(*arguments, **keywords)

        self.wrapped.append((part, part.__dict__.get("forward")))
        part.__dict__["forward"] = forward if context is None else inside

    def remove(self):
        for part, before in self.wrapped:
            if before is None:
                del part.__dict__["forward"]
            else:
                part.__dict__["forward"] = before


def catch_all(module, leaving):
    """Keeps what leaves every module, by its path, in the order it does."""

    def catcher(path):
        def catch(_part, _arguments, result):
            first = next((v for v in flatten(result).values() if v.is_floating_point()), None)
            if first is not None:
                # Modules write into each other's outputs; what left is what counts.
                leaving["module:" + path] = first.detach().clone()

        return catch

    return [part.register_forward_hook(catcher(path)) for path, part in module.named_modules() if path]


def duration(nanos):
    """Never nothing: the clock may be coarser than the work."""
    nanos = max(int(nanos), 1)
    return {"secs": nanos // 1_000_000_000, "nanos": nanos % 1_000_000_000}


def flatten(result, name="output"):
    """The tensors of whatever a module returned, by name."""
    found = {}
    if isinstance(result, torch.Tensor):
        if declared_name(result.dtype) is not None and result.layout is torch.strided:
            found[name] = result
    elif hasattr(result, "to_tuple") and hasattr(result, "items"):
        # An output of `transformers`: its own names, without caches and looks inside.
        for key, value in result.items():
            if is_output(key) and isinstance(value, torch.Tensor):
                found[key] = value
    elif isinstance(result, (tuple, list)) and not hasattr(result, "_asdict"):
        for place, value in enumerate(result):
            found.update(flatten(value, name if len(result) == 1 else "%s.%d" % (name, place)))
    else:
        for key, value in fields_of(result).items():
            found.update(flatten(value, str(key) if name == "output" else "%s.%s" % (name, key)))
    return found


def fields_of(result):
    import dataclasses

    if hasattr(result, "_asdict"):
        return result._asdict()
    if hasattr(result, "items"):
        return dict(result.items())
    if dataclasses.is_dataclass(result) and not isinstance(result, type):
        return {field.name: getattr(result, field.name) for field in dataclasses.fields(result)}
    return {}
