# What happened when: modules, operators, launches and kernels, from PyTorch's own profiler.
#
# The profiler's trace file is read, because its format has been the same since PyTorch 1.8; what its objects are called
# has not. Modules are notes in that trace, so that one clock tells everything.

RUN, PHASE, MODULE = "modelmeter run", "modelmeter phase ", "modelmeter module "
# How autograd's own events begin; each has the number of the node that it runs.
AUTOGRAD, NUMBER = "autograd::engine::evaluate_function", "Sequence number"
ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


class Recorder:
    """Runs under PyTorch's profiler and makes a timeline of what it saw."""

    def __init__(self, place, is_step=False):
        self.place, self.began_at, self.events, self.is_step = place, 0, [], is_step
        self.note = torch.autograd.profiler.record_function

    def module(self, index):
        return self.note(MODULE + str(index))

    def phase(self, name):
        return self.note(PHASE + name)

    def record(self, run, infer, count):
        from torch.profiler import ProfilerActivity
        from torch.profiler import profile as torch_profile

        activities = [ProfilerActivity.CPU]
        device = getattr(ProfilerActivity, self.place.device.type.upper(), None)
        if device is not None and not self.place.is_cpu:
            activities.append(device)

        def noted():
            with self.note(RUN):
                infer()

        with torch_profile(activities=activities) as profiler:
            # The first run under the profiler prepares it.
            infer()
            self.began_at = time.time_ns() // 1000
            for _ in range(count):
                run(noted)
        self.events = read_trace(profiler)

    def timeline(self, paths):
        """The timeline and what must be said of it."""
        runs = [event for event in self.events if event["name"] == RUN and event["cat"] == "user_annotation"]
        if not runs:
            return None, ["PyTorch's profiler saw no run: this PyTorch may be built without it"]
        begin, end = min(map(start_of, runs)), max(map(end_of, runs))
        inside = [event for event in self.events if begin <= start_of(event) and is_told(event)]
        host = [event for event in inside if event["cat"] not in ON_DEVICE and start_of(event) < end]
        device = [event for event in inside if event["cat"] in ON_DEVICE and hold(event, runs)]
        tracks, spans, launches = Tracks(runs[0]["tid"]), [], {}
        started = {event["args"].get("correlation") for event in device}
        makers = self.makers(host, paths)
        for thread in sorted({event["tid"] for event in host}, key=str):
            here = [event for event in host if event["tid"] == thread]
            for event, start, length, path in nested(here, paths, makers):
                launch = event["args"].get("correlation") if event["cat"].endswith(("_runtime", "_driver")) else None
                is_launch = launch is not None and launch in started
                if is_launch:
                    launches[launch] = path
                spans.append(
                    {
                        "name": self.name_of(event, path),
                        "kind": "launch" if is_launch else self.kind_of(event),
                        "track": tracks.of_thread(thread),
                        "start": start - begin,
                        "length": length,
                        "path": path,
                        "flow": launch if is_launch else None,
                    }
                )
        queues = {}
        for event in device:
            queues.setdefault((event["args"].get("device", 0), event["args"].get("stream", 0)), []).append(event)
        for (index, stream), here in sorted(queues.items()):
            track = tracks.of_queue("%s:%s" % (self.place.name.partition(":")[0], index), stream)
            for event, start, length, _ in nested(here, paths, {}):
                flow = event["args"].get("correlation")
                spans.append(
                    {
                        "name": event["name"],
                        "kind": "kernel",
                        "track": track,
                        "start": start - begin,
                        "length": length,
                        "path": launches.get(flow, ""),
                        "flow": flow if flow in launches else None,
                    }
                )
        remarks = []
        if self.is_step and not makers:
            remarks.append(remark("backward-without-modules", "the backward pass is shown without its modules"))
        if self.place.device.type == "cuda" and not device:
            text = "PyTorch's profiler saw nothing on the device: the timeline shows the host alone"
            remarks.append(remark("host-only-timeline", text))
        return {"began_at": self.began_at, "tracks": tracks.all, "spans": spans}, remarks

    def makers(self, host, paths):
        """The module that made each node of autograd's graph; the last operator before a number is given made it."""
        found = {}
        if not self.is_step:
            return found
        for thread in {event["tid"] for event in host}:
            here = [event for event in host if event["tid"] == thread]
            for event, _, _, path in nested(here, paths, {}):
                # What has a forward thread runs in the backward pass and makes nothing.
                if NUMBER in event["args"] and not event["args"].get("Fwd thread id"):
                    found[event["args"][NUMBER]] = path
        return found

    def kind_of(self, event):
        if event["name"] == RUN:
            return "step" if self.is_step else "phase"
        if event["name"].startswith(PHASE):
            return "phase"
        return "module" if event["name"].startswith(MODULE) else "operator"

    def name_of(self, event, path):
        if event["name"] == RUN:
            return "step" if self.is_step else "inference"
        if event["name"].startswith(PHASE):
            return event["name"][len(PHASE) :]
        # The outermost module has no path, but a name.
        return (path or "model") if event["name"].startswith(MODULE) else event["name"]


class Tracks:
    """Threads and queues in the order they are met; the first is the thread that runs the module."""

    def __init__(self, main):
        self.all = [{"group": "worker", "name": "main"}]
        self.threads = {main: 0}

    def of_thread(self, thread):
        if thread not in self.threads:
            self.threads[thread] = len(self.all)
            self.all.append({"group": "worker", "name": "thread %d" % (len(self.threads))})
        return self.threads[thread]

    def of_queue(self, device, stream):
        self.all.append({"group": device, "name": "stream %s" % stream})
        return len(self.all) - 1


def read_trace(profiler):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        with open(path, "rb") as file:
            events = json.load(file)["traceEvents"]
    timed = [event for event in events if event.get("ph") == "X" and "dur" in event and "ts" in event]
    for event in timed:
        event.setdefault("cat", "")
        event.setdefault("args", {})
    return timed


def start_of(event):
    return round(float(event["ts"]) * 1000)


def end_of(event):
    return round((float(event["ts"]) + float(event["dur"])) * 1000)


def hold(event, runs):
    """Keeps work of the device inside its run, whatever the two clocks say; tells whether it has one."""
    middle = float(event["ts"]) + float(event["dur"]) / 2
    for run in runs:
        begin, end = float(run["ts"]), float(run["ts"]) + float(run["dur"])
        if begin <= middle <= end:
            start = max(float(event["ts"]), begin)
            event["dur"] = min(float(event["ts"]) + float(event["dur"]), end) - start
            event["ts"] = start
            return True
    return False


def is_told(event):
    if event["cat"] in ON_DEVICE or event["cat"] == "cpu_op" or event["cat"].endswith(("_runtime", "_driver")):
        return True
    return event["cat"] == "user_annotation" and event["name"].startswith((RUN, PHASE, MODULE))


def nested(events, paths, makers):
    """Events of one track in order, with start, length and module; the trace rounds, so ends are held to what is around."""
    stack, last = [], ""
    for event in sorted(events, key=lambda event: (start_of(event), -end_of(event))):
        start, end = start_of(event), end_of(event)
        while stack and stack[-1][0] <= start:
            stack.pop()
        path = stack[-1][1] if stack else ""
        if stack:
            end = min(end, stack[-1][0])
        if event["name"].startswith(MODULE):
            path = paths[int(event["name"][len(MODULE) :])]
        elif makers and event["name"].startswith(AUTOGRAD):
            # What has no number adds the gradient to a weight, right behind the node that made it.
            path = last = makers.get(event["args"].get(NUMBER), last)
        stack.append((end, path))
        yield event, start, end - start, path
