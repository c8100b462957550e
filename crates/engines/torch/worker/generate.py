# A language model that reads a prompt or writes token by token, with a cache of `transformers`.

# Tokens that are fed at once while the cache is filled to the depth; no sample sees them.
FILL = 512


class Writer(Bench):
    """The same samples as those of engines in our own worker: a prompt, or a step."""

    def __init__(self, job, plan, module, runner, place, outputs):
        transformers = import_transformers("the cache")
        if not hasattr(transformers, "DynamicCache"):
            raise Failure(
                "unsupported",
                "`transformers` %s has no cache that grows" % transformers.__version__,
                hint="`%s -m pip install --upgrade transformers`" % sys.executable,
            )
        self.job = job["generation"]
        self.test = self.job["generation"]
        self.is_decode = self.test["test"] == "decode"
        self.batch, self.vocabulary = self.job["batch"], self.job["shape"]["vocabulary"]
        self.plan, self.module, self.runner, self.place = plan, module, runner, place
        self.expected, self.compiled = outputs, runner is not module
        self.dtype = floating_type(module) or torch.float32
        self.kind = plan.options.get("settings", {}).get("cache", "dynamic")
        if self.kind not in ("dynamic", "static"):
            raise Failure("unsupported", "there is no cache `%s`" % self.kind, hint="use `--set cache=dynamic` or `static`")
        self.make_cache = transformers.DynamicCache if self.kind == "dynamic" else transformers.StaticCache
        import inspect

        parameters = inspect.signature(module.forward).parameters
        self.last_only = next((name for name in ("logits_to_keep", "num_logits_to_keep") if name in parameters), None)
        self.random = torch.Generator().manual_seed(job.get("seed") or 0)
        self.tokeniser = Tokeniser(job["text"]) if job.get("text") is not None else None
        self.real_tokens, self.filled, self.step, self.written, self.first_round = None, False, 0, [], True
        self.scores = self.next = None
        # The cache at the end of the first whole round: where sampling stops in a later one is chance.
        self.fullest = None
        self.opening = self.encoded_opening()
        self.clear()

    def encoded_opening(self):
        """What is written on for the comparison; a tokenizer that cannot be read costs nothing but that."""
        if self.job.get("opening") is None:
            return []
        try:
            row = Tokeniser(self.job["opening"]).encode()["ids"][0]
        except Failure:
            return []
        return row if len(row) + self.job["greedy"] <= self.job["context"] else []

    def signature(self):
        return {"inputs": [], "outputs": []}

    def clear(self):
        if self.kind == "static":
            self.cache = self.make_cache(config=self.module.config, max_cache_len=self.job["context"])
        else:
            self.cache = self.make_cache()
        self.held = self.marked = 0

    def rewind(self):
        if self.kind == "static":
            # What lies behind the mark is written again before it is read; the mask hides it until then.
            self.held = self.marked
            for layer in getattr(self.cache, "layers", ()):
                length = getattr(layer, "cumulative_length", None)
                if torch.is_tensor(length):
                    length.fill_(self.marked)
                elif length is not None:
                    layer.cumulative_length = self.marked
        elif self.marked == 0:
            self.clear()
        else:
            if self.held > self.marked:
                # Negative: so many less. What a positive number means differs between versions.
                self.cache.crop(self.marked - self.held)
            self.held = self.marked

    def feed(self, tokens):
        """Reads `[batch, n]` tokens; the scores of the last ones are then on the host."""
        new = tokens.shape[1]
        if self.held + new > self.job["context"]:
            raise Failure("bad-input", "%d tokens do not fit in a context of %d" % (self.held + new, self.job["context"]))
        tokens = tokens.to(self.place.device)
        places = torch.arange(self.held, self.held + new, device=self.place.device)
        more = {} if self.last_only is None else {self.last_only: 1}
        result = self.runner(
            input_ids=tokens,
            past_key_values=self.cache,
            position_ids=places.unsqueeze(0).expand(self.batch, new),
            use_cache=True,
            **more
        )
        self.scores = result.logits[:, -1].float().to("cpu")
        self.place.wait()
        self.held += new

    def drawn(self, count):
        return torch.randint(0, self.vocabulary, (self.batch, count), generator=self.random)

    def encoded(self):
        row = self.tokeniser.encode()
        ids = [token for token, real in zip(row["ids"][0], row["mask"][0]) if real]
        if not ids:
            raise Failure("bad-input", "the text has no token")
        return torch.tensor([ids] * self.batch)

    def choose(self):
        sampling = self.test.get("sampling") or {"how": "greedy"}
        if sampling["how"] == "greedy":
            self.next = self.scores.argmax(-1, keepdim=True)
            return
        scores = self.scores / sampling["temperature"]
        if sampling["top_k"]:
            least = scores.topk(min(sampling["top_k"], scores.shape[-1])).values[:, -1:]
            scores = scores.masked_fill(scores < least, float("-inf"))
        self.next = torch.multinomial(scores.softmax(-1), 1, generator=self.random)

    def fill(self):
        """Brings the cache to the depth and marks it."""
        if self.filled:
            return
        self.clear()
        self.start = None
        if self.tokeniser is not None and self.is_decode:
            whole = self.encoded()
            depth, self.start = whole[:, :-1], whole[:, -1:]
        else:
            depth = self.drawn(self.test["depth"])
        for piece in depth.split(FILL, dim=1) if depth.shape[1] else ():
            self.feed(piece)
        self.marked, self.filled, self.step = self.held, True, 0
        self.next = self.begin()

    def begin(self):
        return self.start if self.start is not None else self.drawn(1)

    def sample(self, samples):
        def push(phase, nanos):
            samples.setdefault(phase, []).append(max(int(nanos), 1))

        self.fill()
        clock = time.perf_counter_ns
        if not self.is_decode:
            self.rewind()
            begin = clock()
            if self.tokeniser is not None:
                prompt = self.encoded()
                push("tokenise", clock() - begin)
            else:
                prompt = self.drawn(self.test["tokens"])
                begin = clock()
            before = clock()
            self.feed(prompt)
        else:
            if self.step == self.test["tokens"]:
                if self.fullest is None:
                    self.fullest = (self.held, held_by_cache(self.cache))
                self.rewind()
                self.step, self.first_round, self.next = 0, False, self.begin()
            begin = before = clock()
            self.feed(self.next)
        after = clock()
        push("inference", after - before)
        self.choose()
        end = clock()
        push("sample", end - after)
        if self.is_decode:
            if self.tokeniser is not None:
                self.tokeniser.tokenizer.decode([int(self.next[0, 0])])
                last, end = end, clock()
                push("detokenise", end - last)
            self.step += 1
        push("total", end - begin)
        if self.first_round and (self.is_decode or not self.written):
            self.written.append(int(self.next[0, 0]))

    def infer(self):
        """One sample whose times nobody wants."""
        self.sample({})

    phases = ["tokenise", "inference", "sample", "detokenise", "total"]

    def first(self):
        samples = {}
        self.sample(samples)
        finite = bool(torch.isfinite(self.scores).all())
        return {
            "answer": "first",
            "inference": duration(samples["inference"][0]),
            "outputs": [["logits", list(self.scores.shape)]],
            "non_finite": [] if finite else ["logits"],
        }

    def write_outputs(self, path, inside):
        """The scores of the job's prompt, half of it read at once and half token by token, and what is then written."""
        self.filled = False
        self.clear()
        prompt = torch.tensor(self.job["prompt"]).reshape(self.batch, -1)
        half = prompt.shape[1] // 2
        self.feed(prompt[:, :half])
        scores = [self.scores]
        for place in range(half, prompt.shape[1]):
            self.feed(prompt[:, place : place + 1])
            scores.append(self.scores)
        if self.opening:
            self.clear()
            self.feed(torch.tensor([self.opening] * self.batch))
        written = []
        for step in range(self.job["greedy"]):
            best = self.scores.argmax(-1, keepdim=True)
            written.append(best)
            if step + 1 < self.job["greedy"]:
                self.feed(best)
        self.clear()
        write_tensors(path, {"logits": torch.stack(scores), "tokens": torch.cat(written, dim=1)})
        return {"answer": "written"}

    def report(self):
        shape = self.job["shape"]
        element = torch.empty((), dtype=self.dtype).element_size()
        line = 2 * shape["key_heads"] * shape["head_dim"] * element
        window = shape.get("window")
        held, (reported, why) = self.held, held_by_cache(self.cache)
        if self.fullest is not None and self.fullest[0] > held:
            held, (reported, why) = self.fullest
        kept = held if window is None else min(window, held)
        full = shape["layers"] - shape.get("sliding_layers", 0)
        formula = line * (full * held + shape.get("sliding_layers", 0) * kept) * self.batch
        answer = self.tokeniser.tokenizer.decode(self.written) if self.tokeniser is not None else None
        return {
            "answer": "generated",
            "report": {
                "shape": shape,
                "cache_type": {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}.get(
                    self.dtype, str(self.dtype).replace("torch.", "")
                ),
                "cache_per_token": line * shape["layers"],
                "cache_tokens": held,
                "cache": formula,
                "cache_reported": {"value": reported} if why is None else {"value": None, "code": "not-reported", "why": why},
                "cache_kept": "by `%s` of transformers, %s"
                % (type(self.cache).__name__, "appended in place" if self.kind == "static" else "copied in every step"),
                "tokens": self.written,
                "answer": answer,
            },
        }


def held_by_cache(cache):
    """Bytes of the tensors in a cache; its attributes differ between versions of `transformers`."""
    tensors = []
    for layer in getattr(cache, "layers", None) or ():
        tensors += [getattr(layer, "keys", None), getattr(layer, "values", None)]
    if not tensors:
        tensors = list(getattr(cache, "key_cache", ())) + list(getattr(cache, "value_cache", ()))
    tensors = [tensor for tensor in tensors if torch.is_tensor(tensor)]
    if not tensors:
        return None, "this version of `transformers` does not show its tensors"
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors), None


def profile_writing(writer, count, detail):
    """Every module's own time in samples; only what goes through the module is looked at, not choosing a token."""
    if writer.compiled or not writer.plan.has_parts or detail != "times":
        return {"answer": "profiled", "profile": None}
    writer.fill()
    clock = EventClock(writer.place) if writer.place.has_events else HostClock(writer.place)
    watch = Watch(writer.module, clock)
    feed, sums, each = writer.feed, {}, []

    def watched(tokens):
        watch.restart()
        begin = time.perf_counter_ns()
        feed(tokens)
        each.append(time.perf_counter_ns() - begin)
        watch.add_to(sums)

    writer.feed = watched
    try:
        for _ in range(max(count, 1)):
            writer.infer()
    finally:
        del writer.feed
        watch.remove()
    nodes = [
        {"path": watch.paths[index], "kind": watch.kinds[index], "calls": calls, "nanos": nanos}
        for index, (calls, nanos) in sums.items()
    ]
    hold_to(nodes, sum(each))
    found = {"runs": len(each), "total_nanos": sum(each), "run_nanos": each, "nodes": nodes, "remarks": []}
    return {"answer": "profiled", "profile": found}


def answer_writing(writer, ask):
    kind = ask["ask"]
    if kind == "first":
        return first(writer)
    if kind == "run":
        return writer.run(ask["count"], ask["budget"])
    if kind == "generated":
        return writer.report()
    if kind == "outputs":
        return writer.write_outputs(ask["path"], ask.get("inside", False))
    if kind == "observe":
        return {"answer": "observed", "shapes": []}
    if kind == "profile":
        return profile_writing(writer, ask["count"], ask.get("detail", "times"))
    if kind == "memory":
        writer.fill()
        return remember(writer, ask["count"], ask["events"])
    raise Failure("failed", "a worker that generates answers nothing else")
