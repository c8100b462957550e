# The recorder of a GPU's work, where the parent had it loaded into this process: it is told from when on work belongs to
# which module. What the GPU did then stands in its file, which the parent reads.

# The numbers of crates/gpu-inject/src/format.rs.
RUN_WHOLE = 1 << 40
RUN_IN_PARTS, RUN_ENDS, PART_OF_NOBODY, NEXT_TURN = (RUN_WHOLE + number for number in range(1, 5))


class PartRecorder:
    """The functions of the recorder."""

    def __init__(self, path):
        import ctypes

        # Called in every module's `forward`, so without handing over the interpreter's lock.
        library = ctypes.PyDLL(path)
        self.part = library.modelmeter_gpu_part
        self.part.argtypes, self.part.restype = [ctypes.c_uint64], None
        self.is_recording = library.modelmeter_gpu_is_recording() == 1
        self.flush = ctypes.CDLL(path).modelmeter_gpu_flush
        self.flush.restype = None

    def turn(self, place, count, whole, wrap, in_parts):
        """Runs without and then with parts; nanoseconds of each of the latter, which it answers."""
        each = []
        self.part(NEXT_TURN)
        for _ in range(count):
            self.part(RUN_WHOLE)
            whole()
            self.part(RUN_ENDS)
        wrapped = wrap()
        try:
            for _ in range(count):
                self.part(RUN_IN_PARTS)
                self.part(PART_OF_NOBODY)
                each.append(in_parts())
                self.part(RUN_ENDS)
        finally:
            if wrapped is not None:
                wrapped.remove()
        place.wait()
        self.flush()
        return each


def part_recorder():
    """The recorder, if there is one and it records."""
    path = os.environ.get("MODELMETER_GPU_LIBRARY")
    if not path:
        return None
    try:
        recorder = PartRecorder(path)
    except (OSError, AttributeError):
        return None
    return recorder if recorder.is_recording else None


class PartWatch(Wrappers):
    """Wraps every module's `forward` and tells the recorder when each begins and ends."""

    def __init__(self, module, part):
        super().__init__()
        self.part, self.stack = part, [PART_OF_NOBODY]
        self.paths, self.kinds, self.calls = [], [], {}
        for path, inner in module.named_modules():
            self.wrap(inner, 4 * len(self.paths))
            self.paths.append(path)
            self.kinds.append(type(inner).__name__)

    def wrap(self, inner, number):
        forward, part, stack, calls = inner.forward, self.part, self.stack, self.calls

        def noted(*arguments, **keywords):
            calls[number] = calls.get(number, 0) + 1
            stack.append(number)
            part(number)
            try:
                return forward(*arguments, **keywords)
            finally:
                stack.pop()
                part(stack[-1])

        self.replace(inner, noted)

    def nodes(self):
        """Every module that ran, in the order they ran first, and the recorder's number of each."""
        nodes = [
            {"path": self.paths[number // 4], "kind": self.kinds[number // 4], "calls": calls, "nanos": 0}
            for number, calls in self.calls.items()
        ]
        return nodes, list(self.calls)


def profile_parts(bench, count, recorder):
    """Answers with the modules; how long the device and the host worked for each stands in the recording."""
    watches = []

    def wrap():
        # A module that was compiled, or whose parts cannot be told, is one part.
        if bench.compiled or not bench.plan.has_parts:
            return None
        watches.append(PartWatch(bench.module, recorder.part))
        return watches[0]

    def timed():
        begin = time.perf_counter_ns()
        bench.infer()
        return time.perf_counter_ns() - begin

    each = recorder.turn(bench.place, max(count, 1), bench.infer, wrap, timed)
    nodes, parts = watches[0].nodes() if watches else ([], [])
    return {"answer": "profiled", "profile": parted(each, nodes, parts)}


def parted(each, nodes, parts):
    total = sum(each)
    return {"runs": len(each), "total_nanos": total, "run_nanos": each, "nodes": nodes, "parts": parts, "remarks": []}


class PartClock:
    """Stands in for a clock: moments go to the recorder and are not kept."""

    def restart(self):
        pass

    def read(self):
        return 0


class PartStepWatch(StepWatch):
    """Tells the recorder from when on a step's work belongs to which module, forward and backward."""

    def __init__(self, module, part):
        self.tell = part
        super().__init__(module, PartClock())

    def moment(self, key):
        self.tell(key if key >= 0 else PART_OF_NOBODY)
        self.keys[key] = None

    def restart(self):
        super().restart()
        self.keys = getattr(self, "keys", {})


def profile_step_parts(trainer, count, recorder):
    """The same for training steps."""
    watches, calls = [], {}

    def wrap():
        if not trainer.can_be_looked_into() or node_counter() is None:
            return None
        watch = PartStepWatch(trainer.module, recorder.part)
        watch.restart()
        watches.append(watch)
        trainer.watch = watch
        return watch

    def noted():
        taken = trainer.step_alone()["total"]
        for watch in watches:
            for index, often in watch.ran.items():
                calls[index] = calls.get(index, 0) + often
            watch.restart()
        return taken

    try:
        each = recorder.turn(trainer.place, max(count, 1), trainer.step_alone, wrap, noted)
    finally:
        trainer.watch = None
    nodes, parts = [], []
    if watches:
        sums = {key: 0 for key in watches[0].keys if key >= 0}
        nodes = watches[0].nodes(sums, calls, len(each))
        parts = watches[0].order(sums)
    return {"answer": "profiled", "profile": parted(each, nodes, parts)}
