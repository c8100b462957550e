# Where the module runs and in which number format; what is not there is refused, never replaced.


class Place:
    """A device that was asked for and is there."""

    def __init__(self, name):
        self.name = name
        kind, _, index = name.partition(":")
        index = int(index or 0)
        if kind == "cpu":
            self.device = torch.device("cpu")
        elif kind in ("cuda", "rocm"):
            self.device = graphics(name, kind, index)
        elif kind == "mps":
            self.device = apple(name)
        elif kind == "xpu":
            self.device = intel(name, index)
        else:
            raise Failure(
                "unsupported",
                "engine `torch` does not run on `%s`" % name,
                hint="it runs on cpu, cuda:N, rocm:N, mps and xpu:N",
            )
        self.is_cpu = self.device.type == "cpu"
        self.has_events = self.device.type == "cuda"

    def wait(self):
        """Returns when the device has finished."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        elif self.device.type == "mps":
            torch.mps.synchronize()
        elif self.device.type == "xpu":
            torch.xpu.synchronize(self.device)

    def words(self, threads):
        if self.is_cpu:
            return "cpu, %d thread%s" % (threads, "" if threads == 1 else "s")
        label = self.label()
        return "%s, %s" % (self.name, label) if label else self.name

    def label(self):
        """The device's own name."""
        if self.device.type == "cuda":
            return torch.cuda.get_device_name(self.device)
        if self.device.type == "xpu":
            return torch.xpu.get_device_name(self.device)
        return None


def refuse(name, why, causes=()):
    return Failure(
        "unsupported", "engine `torch` cannot use `%s`: %s" % (name, why), causes, "`--device cpu` works here"
    )


def graphics(name, kind, index):
    """An NVIDIA or AMD GPU; PyTorch calls both `cuda`, each build knows one of them."""
    wanted, brand = (torch.version.cuda, "CUDA") if kind == "cuda" else (torch.version.hip, "ROCm")
    if wanted is None:
        raise refuse(name, "PyTorch %s was built without %s" % (torch.__version__, brand))
    try:
        # Says more than `is_available`, which only says no.
        torch.cuda.init()
        count = torch.cuda.device_count()
    except Exception as error:
        raise refuse(name, "PyTorch was built with %s %s, but no GPU answers" % (brand, wanted), [spell(error)])
    if index >= count:
        raise refuse(name, "PyTorch sees %d GPU%s" % (count, "" if count == 1 else "s"))
    keep_within(os.environ.get("MODELMETER_DEVICE_MEMORY"), index)
    return torch.device("cuda", index)


def keep_within(limit, index):
    """Lets PyTorch's allocator refuse what goes over so many bytes; the driver's own share is not in them."""
    if limit:
        total = torch.cuda.get_device_properties(index).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, int(limit) / total), index)


def apple(name):
    if not torch.backends.mps.is_built():
        raise refuse(name, "PyTorch %s was built without MPS" % torch.__version__)
    if not torch.backends.mps.is_available():
        raise refuse(name, "this machine has no GPU that MPS can use")
    return torch.device("mps")


def intel(name, index):
    if not hasattr(torch, "xpu") or not torch.xpu.is_available():
        raise refuse(name, "PyTorch %s sees no Intel GPU" % torch.__version__)
    count = torch.xpu.device_count()
    if index >= count:
        raise refuse(name, "PyTorch sees %d Intel GPU%s" % (count, "" if count == 1 else "s"))
    return torch.device("xpu", index)


def check_precision(precision, place, module):
    """Refuses what cannot be, before anything is built or timed."""
    if module["kind"] == "archive" and precision != "fp32":
        raise Failure(
            "unsupported",
            "a saved program runs in the precision it was saved in, not in %s" % precision,
            hint="omit `--precision`, or save it in that precision",
        )
    if precision != "int8":
        return
    if not place.is_cpu:
        raise Failure(
            "unsupported",
            "PyTorch's dynamic int8 runs on the cpu, not on `%s`" % place.name,
            hint="`--precision bf16` runs there",
        )
    engines = [engine for engine in torch.backends.quantized.supported_engines if engine != "none"]
    if quantiser() is None or not engines:
        raise Failure(
            "unsupported",
            "PyTorch %s has no dynamic int8 for this processor" % torch.__version__,
            hint="`--precision bf16` or `--precision fp32` works here",
        )


def quantiser():
    try:
        from torch.ao.quantization import quantize_dynamic
    except ImportError:
        return None
    return quantize_dynamic


def element_type(precision):
    return {"fp16": torch.float16, "bf16": torch.bfloat16}.get(precision, torch.float32)


def quantise(module, remarks):
    """Linear layers to int8 weights, activations quantised as they come; everything else stays fp32."""
    import warnings

    # The fused path of PyTorch's encoder layers reads weights that int8 layers no longer have.
    torch.backends.mha.set_fastpath_enabled(False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = quantiser()(module, {torch.nn.Linear}, dtype=torch.qint8, inplace=True)
    kinds = [type(part) for part in module.modules()]
    changed = sum(kind.__module__.startswith("torch.ao.nn.quantized.dynamic") for kind in kinds)
    if changed == 0:
        raise Failure(
            "unsupported",
            "this module has no linear layer that PyTorch's dynamic int8 can take",
            hint="`--precision fp32` or `--precision bf16` works here",
        )
    remarks.append(remark("partly-quantised", "int8 in %d linear layers, the rest in fp32" % changed))
    return module


def tensor_float_remarks(module, place, precision):
    """Says where fp32 is not quite fp32: TF32 keeps 10 bits of the mantissa."""
    if place.device.type != "cuda" or precision != "fp32" or torch.version.hip is not None:
        return []
    remarks = []
    if torch.get_float32_matmul_precision() != "highest":
        remarks.append(remark("tf32", "TF32 is on for matrix products"))
    convolutions = any(isinstance(part, torch.nn.modules.conv._ConvNd) for part in module.modules())
    if convolutions and torch.backends.cudnn.allow_tf32:
        remarks.append(remark("tf32", "TF32 is on for convolutions, which is PyTorch's default"))
    return remarks
