# Where the time of an inference goes, module by module, in a pass of its own.
#
# `forward` is wrapped instead of hooked: PyTorch's fused encoder layers switch themselves off when they see a hook, and
# then something else would be measured than what runs.


class HostClock:
    """The host's clock; a device that is no CPU has finished whenever it is read."""

    def __init__(self, place):
        self.place = place

    def read(self):
        self.place.wait()
        return time.perf_counter_ns()

    def settle(self, mark):
        return mark


class EventClock:
    """Marks in the GPU's own stream; reading them waits for nothing, so the GPU stays busy."""

    def __init__(self, place):
        self.stream = torch.cuda.current_stream(place.device)
        self.begin = None

    def read(self):
        event = torch.cuda.Event(enable_timing=True)
        event.record(self.stream)
        if self.begin is None:
            self.begin = event
        return event

    def settle(self, mark):
        """Nanoseconds since the first mark; the device must have finished."""
        return int(self.begin.elapsed_time(mark) * 1e6)


class Watch:
    """Wraps every module's `forward` and writes down when each begins and ends."""

    def __init__(self, module, clock):
        self.clock, self.marks = clock, []
        self.paths, self.kinds, self.wrapped = [], [], []
        for path, part in module.named_modules():
            self.wrap(part, len(self.paths))
            self.paths.append(path)
            self.kinds.append(type(part).__name__)

    def wrap(self, part, index):
        forward, clock, marks = part.forward, self.clock, self.marks

        def timed(*arguments, **keywords):
            marks.append((index, clock.read()))
            try:
                return forward(*arguments, **keywords)
            finally:
                marks.append((-1, clock.read()))

        self.wrapped.append((part, part.__dict__.get("forward")))
        part.__dict__["forward"] = timed

    def remove(self):
        for part, before in self.wrapped:
            if before is None:
                del part.__dict__["forward"]
            else:
                part.__dict__["forward"] = before

    def times(self):
        """Calls and own nanoseconds by module, in the order they ran first."""
        times, stack = {}, []
        for index, mark in self.marks:
            now = self.clock.settle(mark)
            if index >= 0:
                times.setdefault(index, [0, 0])
                stack.append([index, now, 0])
                continue
            index, begin, inside = stack.pop()
            times[index][0] += 1
            times[index][1] += max(now - begin - inside, 0)
            if stack:
                stack[-1][2] += now - begin
        return times


def profile(bench, count):
    """Answers with every module's own time, or with nothing where a module cannot be looked into."""
    if bench.compiled or not bench.plan.has_parts:
        return {"answer": "profiled", "profile": None}
    count = max(count, 1)
    sums, each = {}, []
    for _ in range(count):
        # One watch a run: marks of thousands of runs would fill the memory.
        clock = EventClock(bench.place) if bench.place.has_events else HostClock(bench.place)
        watch = Watch(bench.module, clock)
        try:
            begin = time.perf_counter_ns()
            bench.infer()
            each.append(time.perf_counter_ns() - begin)
        finally:
            watch.remove()
        for index, (calls, nanos) in watch.times().items():
            known = sums.setdefault(index, [0, 0])
            known[0] += calls
            known[1] += nanos
    nodes = [
        {"path": watch.paths[index], "kind": watch.kinds[index], "calls": calls, "nanos": nanos}
        for index, (calls, nanos) in sums.items()
    ]
    # The GPU's clock ticks in half microseconds: rounding may make the parts more than the whole.
    total = max(sum(each), sum(node["nanos"] for node in nodes))
    found = {"runs": count, "total_nanos": total, "run_nanos": each, "nodes": nodes}
    return {"answer": "profiled", "profile": found}
