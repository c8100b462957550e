# Where the memory goes: every allocation and free of PyTorch's own allocator, by the module that ran.
#
# PyTorch's profiler writes them down, on the CPU and on an NVIDIA or AMD GPU alike, below the ranges that each module's
# `forward` is put into. What libraries behind PyTorch allocate by themselves (oneDNN, cuBLAS) it does not see.

RUN = "modelmeter: run"
PHASE = "modelmeter: phase "
MODULE = "modelmeter: module "
# How autograd's own ranges begin; each has the number of the node that it runs.
AUTOGRAD = "autograd::engine::evaluate_function"


class Ranges(Wrappers):
    """Puts every module's `forward` into a range with its number."""

    def __init__(self, module):
        super().__init__()
        self.names = []
        for path, part in module.named_modules():
            self.wrap(part, MODULE + str(len(self.names)))
            self.names.append({"name": path, "kind": type(part).__name__})

    def wrap(self, part, title):
        self.replace(part, part.forward, lambda: torch.profiler.record_function(title))


def remember(bench, count, path):
    """Answers with every allocation and free, or with nothing where PyTorch does not tell them."""
    if bench.place.device.type not in ("cpu", "cuda"):
        return {"answer": "remembered", "record": None}
    has_parts = not bench.compiled and bench.plan.has_parts
    ranges = Ranges(bench.module) if has_parts else None
    # The profiler sees no free of what was allocated before it began.
    bench.result = None
    bench.place.wait()
    base = allocated(bench)
    try:
        each, roots, reserved = watch(bench, max(count, 1), bench.infer)
    finally:
        if ranges is not None:
            ranges.remove()
    names = [{"name": "", "kind": ""}] + (ranges.names if ranges is not None else [])
    found = Found(bench.place, len(names))
    for root in roots:
        found.walk(root, 0)
    return told(found, path, names, has_parts, each, base, reserved)


def told(found, path, names, has_parts, each, base, reserved):
    """Writes the columns and answers with the rest."""
    columns, ends, peak = found.columns()
    write_tensors(path, {name: torch.tensor(values, dtype=torch.int64) for name, values in columns.items()})
    empty = {name: [] for name in columns}
    remarks = [remark("unseen-allocations", "what libraries behind PyTorch allocate by themselves is not seen")]
    record = {
        "source": "PyTorch's allocator",
        "run_nanos": each,
        "allocations": {"value": dict(empty, names=names, ends=ends, dropped=0)},
        "layers": {"value": True} if has_parts else missing("not-applicable", "this module has no submodules"),
        "base": {"value": base},
        "in_use_peak": {"value": peak if reserved is None else reserved[0]},
        "reserved_peak": missing("not-applicable", "PyTorch keeps no memory for later on the CPU")
        if reserved is None
        else {"value": reserved[1]},
        "remarks": remarks,
    }
    return {"answer": "remembered", "record": record}


def missing(code, why):
    return {"value": None, "code": code, "why": why}


def allocated(bench):
    """Bytes that live before the first inference: the GPU's own count, or parameters, buffers and inputs."""
    if not bench.place.is_cpu:
        return torch.cuda.memory_allocated(bench.place.device)
    tensors = list(bench.module.parameters()) + list(bench.module.buffers()) + bench.remembered()
    tensors += [value for value in bench.call.arguments if isinstance(value, torch.Tensor)]
    tensors += [value for value in bench.call.keywords.values() if isinstance(value, torch.Tensor)]
    storages = {}
    for tensor in tensors:
        try:
            storage = tensor.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
        except (RuntimeError, NotImplementedError):
            # A packed or lazy parameter has no storage to look at.
            pass
    return sum(storages.values())


def watch(bench, count, run):
    """Runs under the profiler; returns the times, the profiler's trees and, on a GPU, the pool's peaks."""
    from torch.profiler import ProfilerActivity, profile, record_function

    on_gpu = not bench.place.is_cpu
    if on_gpu:
        torch.cuda.reset_peak_memory_stats(bench.place.device)
    each = []
    # Only what the host does: allocations happen there.
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        for _ in range(count):
            with record_function(RUN):
                begin = time.perf_counter_ns()
                run()
                each.append(time.perf_counter_ns() - begin)
    pool = None
    if on_gpu:
        device = bench.place.device
        pool = (torch.cuda.max_memory_allocated(device), torch.cuda.max_memory_reserved(device))
    return each, profiler.profiler.kineto_results.experimental_event_tree(), pool


class Found:
    """The allocations in the profiler's trees."""

    def __init__(self, place, count):
        self.kind, self.index, self.count = place.device.type, place.device.index, count
        self.rows, self.ends = [], []

    def keep(self, event, layer):
        """An allocation or a free, where it is on our device."""
        fields = event.typed[1]
        device = fields.device
        if device.type == self.kind and (self.index is None or device.index == self.index):
            row = (event.start_time_ns, fields.ptr, fields.alloc_size, min(layer, self.count - 1), event.start_tid)
            self.rows.append(row)

    def walk(self, event, layer):
        # By hand instead of by recursion: modules nest deeper than Python calls may.
        open_events = [(event, layer)]
        while open_events:
            event, layer = open_events.pop()
            name = event.name
            if name.startswith(MODULE):
                layer = 1 + int(name[len(MODULE) :])
            elif name == RUN:
                self.ends.append(event.end_time_ns)
            elif name == "[memory]":
                self.keep(event, layer)
                continue
            open_events.extend((child, layer) for child in reversed(event.children))

    def columns(self):
        """The columns, how many events each run had ended with, and the most that was allocated."""
        self.rows.sort(key=lambda row: row[0])
        self.ends.sort()
        begin = self.rows[0][0] if self.rows else 0
        blocks, threads, level, peak, ends, at = {}, {}, 0, 0, [], 0
        columns = {"times": [], "blocks": [], "sizes": [], "layers": [], "threads": []}
        for time_ns, pointer, size, layer, thread in self.rows:
            while at < len(self.ends) and self.ends[at] < time_ns:
                ends.append(len(columns["times"]))
                at += 1
            columns["times"].append(time_ns - begin)
            columns["blocks"].append(blocks.setdefault(pointer, len(blocks)))
            columns["sizes"].append(size)
            columns["layers"].append(layer)
            columns["threads"].append(threads.setdefault(thread, len(threads) + 1))
            level += size
            peak = max(peak, level)
        ends += [len(columns["times"])] * (len(self.ends) - at)
        return columns, ends, peak
