# Where the time of an inference goes, module by module, in a pass of its own.
#
# `forward` is wrapped instead of hooked: PyTorch's fused encoder layers switch themselves off when they see a hook, and
# then something else would be measured than what runs.


class HostClock:
    """The host's clock; a device that is no CPU has finished whenever it is read."""

    def __init__(self, place):
        clock, wait = time.perf_counter_ns, place.wait

        def read():
            wait()
            return clock()

        self.read = clock if place.is_cpu else read

    def restart(self):
        pass

    def settle(self, mark):
        return mark


class EventClock:
    """Marks in the GPU's own stream; reading them waits for nothing, so the GPU stays busy."""

    def __init__(self, place):
        self.stream = torch.cuda.current_stream(place.device)
        # Making an event takes longer than recording it, so those of earlier runs are used again.
        self.events, self.used = [], 0

    def restart(self):
        self.used = 0

    def read(self):
        if self.used == len(self.events):
            self.events.append(torch.cuda.Event(enable_timing=True))
        event = self.events[self.used]
        self.used += 1
        event.record(self.stream)
        return event

    def settle(self, mark):
        """Nanoseconds since the first mark; the device must have finished."""
        return int(self.events[0].elapsed_time(mark) * 1e6)


class Watch(Wrappers):
    """Wraps every module's `forward` and writes down when each begins and ends."""

    def __init__(self, module, clock, note=None):
        super().__init__()
        self.clock, self.marks = clock, []
        self.paths, self.kinds = [], []
        for path, part in module.named_modules():
            self.wrap(part, len(self.paths), note)
            self.paths.append(path)
            self.kinds.append(type(part).__name__)

    def wrap(self, part, index, note):
        # All of this runs inside what is timed: names are looked up beforehand.
        forward, read, mark = part.forward, self.clock.read, self.marks.append

        def timed(*arguments, **keywords):
            mark(index)
            mark(read())
            try:
                return forward(*arguments, **keywords)
            finally:
                mark(-1)
                mark(read())

        self.replace(part, timed, None if note is None else lambda: note(index))

    def restart(self):
        # Marks of thousands of runs would fill the memory.
        self.marks.clear()
        self.clock.restart()

    def add_to(self, sums):
        """Adds calls and own nanoseconds of this run by module, in the order they ran first."""
        settle, stack = self.clock.settle, []
        for index, mark in zip(self.marks[::2], self.marks[1::2]):
            now = settle(mark)
            if index >= 0:
                sums.setdefault(index, [0, 0])
                stack.append([index, now, 0])
                continue
            index, begin, inside = stack.pop()
            sums[index][0] += 1
            sums[index][1] += max(now - begin - inside, 0)
            if stack:
                stack[-1][2] += now - begin


def profile(bench, count, detail):
    """Answers with every module's own time, or with nothing where a module cannot be looked into."""
    parts = part_recorder() if detail == "times" else None
    if parts is not None:
        return profile_parts(bench, count, parts)
    if bench.compiled or not bench.plan.has_parts:
        return {"answer": "profiled", "profile": None}
    clock = EventClock(bench.place) if bench.place.has_events else HostClock(bench.place)
    recorder = Recorder(bench.place) if detail == "timeline" else None
    watch = Watch(bench.module, clock, recorder and recorder.module)
    sums, each = {}, []

    def run(infer):
        watch.restart()
        begin = time.perf_counter_ns()
        infer()
        each.append(time.perf_counter_ns() - begin)
        watch.add_to(sums)

    try:
        if recorder is None:
            for _ in range(max(count, 1)):
                run(bench.infer)
        else:
            recorder.record(run, bench.infer, max(count, 1))
    finally:
        watch.remove()
    nodes = [
        {"path": watch.paths[index], "kind": watch.kinds[index], "calls": calls, "nanos": nanos}
        for index, (calls, nanos) in sums.items()
    ]
    found = {"runs": len(each), "total_nanos": sum(each), "run_nanos": each, "nodes": nodes, "remarks": []}
    hold_to(nodes, sum(each))
    if recorder is not None:
        found["timeline"], found["remarks"] = recorder.timeline(watch.paths)
    return {"answer": "profiled", "profile": found}


def hold_to(nodes, total):
    """The GPU's clock ticks in half microseconds: rounding may make the parts more than the whole."""
    over = sum(node["nanos"] for node in nodes) - total
    if over > 0:
        most = max(nodes, key=lambda node: node["nanos"])
        most["nanos"] = max(most["nanos"] - over, 0)
