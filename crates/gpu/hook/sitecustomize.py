# What `modelmeter gpu` does in a Python program, without a change to it.
#
# Python runs this file before the program. It waits until `torch` is imported. If the program then starts PyTorch's own
# profiler, that gets the records of the GPU, because only one of the two can have them. With `--modules`, the calls of
# modules, the backward pass and the steps of optimisers open ranges. Anything that goes wrong leaves the program as it was.
import importlib.machinery
import importlib.util
import os
import sys

MARK = "\x02"


def others():
    """Runs the `sitecustomize` that this one stands in front of."""
    here = os.path.dirname(os.path.abspath(__file__))
    rest = [path for path in sys.path if os.path.abspath(path or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def wrap_modules(torch, push, pop):
    import weakref

    module_class = torch.nn.Module
    original = module_class.__call__
    is_compiling = torch.compiler.is_compiling
    # By identity: a module may define what equal means. The reference tells whether it is still the same one.
    known = {}

    def forget(key):
        return lambda _: known.pop(key, None)

    def name(module):
        entry = known.get(id(module))
        if entry is not None and entry[0]() is module:
            return entry[1]
        # Whoever is called first and is not known as a part of something is a root; its parts are named after it.
        for path, part in module.named_modules():
            key = id(part)
            entry = known.get(key)
            if entry is None or entry[0]() is not part:
                text = path if path else "(" + type(part).__name__ + ")"
                known[key] = (weakref.ref(part, forget(key)), MARK + text)
        return known[id(module)][1]

    def __call__(self, *args, **kwargs):
        # In compiled regions there is nothing to open: they run elsewhere and later.
        if is_compiling():
            return original(self, *args, **kwargs)
        entry = known.get(id(self))
        push(entry[1] if entry is not None and entry[0]() is self else name(self))
        try:
            return original(self, *args, **kwargs)
        finally:
            pop()

    module_class.__call__ = __call__


def wrap_function(holder, attribute, label, push, pop):
    original = getattr(holder, attribute)

    def wrapped(*args, **kwargs):
        push(MARK + label)
        try:
            return original(*args, **kwargs)
        finally:
            pop()

    wrapped.__name__ = getattr(original, "__name__", attribute)
    wrapped.__doc__ = getattr(original, "__doc__", None)
    wrapped.__wrapped__ = original
    setattr(holder, attribute, wrapped)


def wrap_optimisers(torch, push, pop):
    optimiser = torch.optim.Optimizer
    original = optimiser.profile_hook_step

    def profile_hook_step(function):
        inner = original(function)

        def step(*args, **kwargs):
            push(MARK + "(optimizer step)")
            try:
                return inner(*args, **kwargs)
            finally:
                pop()

        step.__dict__.update(getattr(inner, "__dict__", {}))
        step.__name__ = getattr(inner, "__name__", "step")
        return step

    optimiser.profile_hook_step = staticmethod(profile_hook_step)


def watch_steps(torch, folder):
    """Writes down when steps begin: those of optimisers, or calls of outermost modules where nothing is trained."""
    import atexit
    import time

    clock, steps, calls, inside = time.monotonic_ns, [], [], [0]
    optimiser, module_class = torch.optim.Optimizer, torch.nn.Module
    hook, original = optimiser.profile_hook_step, module_class.__call__

    def profile_hook_step(function):
        inner = hook(function)

        def step(*args, **kwargs):
            steps.append(clock())
            return inner(*args, **kwargs)

        step.__dict__.update(getattr(inner, "__dict__", {}))
        step.__name__ = getattr(inner, "__name__", "step")
        return step

    def __call__(self, *args, **kwargs):
        if inside[0] == 0:
            calls.append(clock())
        inside[0] += 1
        try:
            return original(self, *args, **kwargs)
        finally:
            inside[0] -= 1

    def write():
        times = steps if len(steps) > 3 else calls
        if len(times) > 3:
            path = os.path.join(folder, "%d.steps" % os.getpid())
            with open(path, "w") as file:
                file.write("\n".join(map(str, times)))

    optimiser.profile_hook_step = staticmethod(profile_hook_step)
    if not torch.compiler.is_compiling():
        module_class.__call__ = __call__
    atexit.register(write)


def compile_modules(torch):
    """Every outermost module is compiled when it is called first."""
    module_class = torch.nn.Module
    original, seen, inside = module_class.__call__, set(), [0]

    def __call__(self, *args, **kwargs):
        if inside[0] == 0 and id(self) not in seen:
            seen.add(id(self))
            self.compile()
        inside[0] += 1
        try:
            return original(self, *args, **kwargs)
        finally:
            inside[0] -= 1

    module_class.__call__ = __call__


def late_items(torch):
    """`.item()` answers the newest value of its place in the program that has arrived already."""
    import collections

    original, places = torch.Tensor.item, {}

    def item(self):
        if not self.is_cuda:
            return original(self)
        frame = sys._getframe(1)
        key = (frame.f_code, frame.f_lasti, self.dtype)
        if key not in places:
            places[key] = [original(self), collections.deque()]
        entry = places[key]
        waiting = entry[1]
        # Memory is bounded: a program that never waits at all waits here for what is old.
        while waiting and (len(waiting) > 256 or waiting[0][1].query()):
            buffer, event = waiting.popleft()
            event.synchronize()
            entry[0] = original(buffer)
        buffer, event = torch.empty((), dtype=self.dtype, pin_memory=True), torch.cuda.Event()
        buffer.copy_(self.detach().reshape(()), non_blocking=True)
        event.record()
        waiting.append((buffer, event))
        return entry[0]

    torch.Tensor.item = item


def pin_memory(torch):
    """Memory that is copied to the GPU more than once becomes pinned where it lies; such copies do not wait."""
    seen, pinned, left = {}, {}, [8 << 30]
    to, cuda, copy = torch.Tensor.to, torch.Tensor.cuda, torch.Tensor.copy_
    parse = torch._C._nn._parse_to

    def is_ready(source):
        """Whether the tensor lies in pinned memory now."""
        if source.device.type != "cpu" or source.layout is not torch.strided:
            return False
        if source.is_pinned():
            return True
        storage = source.untyped_storage()
        place, size = storage.data_ptr(), storage.nbytes()
        if size < 1 << 16 or size > left[0] or place in pinned:
            return False
        seen[place] = seen.get(place, 0) + 1
        if seen[place] < 2 or int(torch.cuda.cudart().cudaHostRegister(place, size, 0)) != 0:
            return False
        # Kept, because memory that is registered must not be given back.
        pinned[place], left[0] = storage, left[0] - size
        return True

    def pinned_to(self, *args, **kwargs):
        try:
            device, _, _, _ = parse(*args, **kwargs)
        except Exception:  # `to(other)`
            device = args[0].device if args and isinstance(args[0], torch.Tensor) else None
        if device is not None and device.type == "cuda" and is_ready(self):
            kwargs["non_blocking"] = True
        return to(self, *args, **kwargs)

    def pinned_cuda(self, device=None, non_blocking=False, **kwargs):
        return cuda(self, device, non_blocking or is_ready(self), **kwargs)

    def pinned_copy(self, source, non_blocking=False):
        ready = self.is_cuda and isinstance(source, torch.Tensor) and is_ready(source)
        return copy(self, source, non_blocking or ready)

    torch.Tensor.to, torch.Tensor.cuda, torch.Tensor.copy_ = pinned_to, pinned_cuda, pinned_copy
    loader = torch.utils.data.DataLoader
    original = loader.__init__

    def __init__(self, *args, **kwargs):
        kwargs.setdefault("pin_memory", True)
        original(self, *args, **kwargs)

    loader.__init__ = __init__


FIXES = {"compile": compile_modules, "late-items": late_items, "pin": pin_memory}


def release_for_profiler(torch):
    """Only one of the two can have the GPU's records: the program's own profiler goes first."""
    import ctypes

    library = os.environ.get("CUDA_INJECTION64_PATH")
    profile = torch.autograd.profiler.profile
    original = profile._prepare_trace
    if not library:
        return

    def _prepare_trace(self, *args, **kwargs):
        activities = getattr(self, "kineto_activities", None) or ()
        is_cuda = torch.autograd.ProfilerActivity.CUDA in activities or getattr(self, "use_device", None) == "cuda"
        if is_cuda:
            ctypes.CDLL(library).modelmeter_gpu_release()
        return original(self, *args, **kwargs)

    profile._prepare_trace = _prepare_trace


def patch(torch):
    parts = [lambda: release_for_profiler(torch)]
    if os.environ.get("MODELMETER_GPU_MODULES") == "1":
        # What opens and closes a range: NVTX as PyTorch has it.
        push, pop = torch._C._nvtx.rangePushA, torch._C._nvtx.rangePop
        parts += [
            lambda: wrap_modules(torch, push, pop),
            lambda: wrap_function(torch.autograd, "backward", "(backward)", push, pop),
            lambda: wrap_optimisers(torch, push, pop),
        ]
    folder, fix = os.environ.get("MODELMETER_GPU_STEP_TIMES"), os.environ.get("MODELMETER_GPU_FIX")
    if fix in FIXES:
        parts.append(lambda: FIXES[fix](torch))
    if folder:
        parts.append(lambda: watch_steps(torch, folder))
    for part in parts:
        try:
            part()
        except Exception:  # an older or newer PyTorch: the rest still works
            pass


class Finder:
    busy = False

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or self.busy:
            return None
        # Whoever only asks whether there is a PyTorch gets the answer, and the import that follows is still seen.
        self.busy = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.busy = False
        loader = getattr(spec, "loader", None)
        if loader is None:
            return spec
        original = loader.exec_module

        def exec_module(module):
            original(module)
            if self not in sys.meta_path:
                return
            sys.meta_path.remove(self)
            try:
                patch(module)
            except Exception:  # a PyTorch without NVTX
                pass

        loader.exec_module = exec_module
        return spec


# Before others: what they import may import torch.
if os.environ.get("MODELMETER_GPU_FOLDER") or os.environ.get("MODELMETER_GPU_STEP_TIMES"):
    sys.meta_path.insert(0, Finder())
others()
