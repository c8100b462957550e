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
    for part in parts:
        try:
            part()
        except Exception:  # an older or newer PyTorch: the rest still works
            pass


class Finder:
    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        loader = getattr(spec, "loader", None)
        if loader is None:
            return spec
        original = loader.exec_module

        def exec_module(module):
            original(module)
            try:
                patch(module)
            except Exception:  # a PyTorch without NVTX
                pass

        loader.exec_module = exec_module
        return spec


# Before others: what they import may import torch.
if os.environ.get("MODELMETER_GPU_FOLDER"):
    sys.meta_path.insert(0, Finder())
others()
