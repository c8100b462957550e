# What a device can do at best: the largest matrix products and the longest copies, without a model.
#
# The best of many short laps counts, because a disturbance can only slow one down; the interval reaches from their 2.5th
# percentile up to it. A lap ends when the device says so: by its own events where it has them, else by waiting for it.

# Sides of the square matrices that are tried: where one is best depends on the device.
CPU_SIDES = (512, 1024)
DEVICE_SIDES = (2048, 4096, 8192, 16384)
# Seconds that a lap aims at, and that one shape or pattern may take in all, a slow device's first lap apart.
LAP = 0.01
SPAN = 0.25
FEWEST, MOST = 5, 100
# A shape that would take longer than this, by what a smaller one reached, is left to faster devices.
TOO_LONG = 1.0
# All arrays together may take this share of the memory that is free.
SHARE = 0.5
# Bytes of the arrays that are copied, on a device and on the processor: far more than any cache holds.
DEVICE_ARRAY, CPU_ARRAY = 1 << 30, 1 << 28


class Stopwatch:
    """Seconds that the device needs for some work; nothing is timed before it has finished what came earlier."""

    def __init__(self, place):
        self.place = place

    def time(self, work, count):
        self.place.wait()
        if self.place.has_events:
            stream = torch.cuda.current_stream(self.place.device)
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record(stream)
            for _ in range(count):
                work()
            end.record(stream)
            end.synchronize()
            return begin.elapsed_time(end) / 1e3
        begin = time.perf_counter()
        for _ in range(count):
            work()
        self.place.wait()
        return time.perf_counter() - begin


def lap_rates(place, work, amount):
    """Amounts a second, lap by lap; one lap where it takes long enough to be trusted alone."""
    watch = Stopwatch(place)
    # The first one may choose a kernel and take memory.
    watch.time(work, 1)
    once = max(watch.time(work, 1), 1e-7)
    if once > SPAN:
        return [amount / once]
    count = max(int(LAP / once), 1)
    laps = min(max(int(SPAN / (once * count)), FEWEST), MOST)
    return [amount * count / max(watch.time(work, count), 1e-9) for _ in range(laps)]


def ceiling(rates):
    rates = sorted(rates)
    low = rates[int(len(rates) * 0.025)]
    return {"value": rates[-1], "interval": {"low": low, "high": rates[-1]}}


def free_bytes(place):
    if place.device.type == "cuda":
        return torch.cuda.mem_get_info(place.device)[0]
    if place.device.type == "mps" and hasattr(torch.mps, "recommended_max_memory"):
        return torch.mps.recommended_max_memory()
    # Elsewhere nobody says; enough for every size above but the largest.
    return 2 << 30


def factors(side, precision, place, constant):
    """Two square matrices; constant ones move fewer wires and so let a device that is short of power run faster."""
    if precision == "int8":
        make = (lambda: torch.ones(side, side, dtype=torch.int8, device=place.device)) if constant else (
            lambda: torch.randint(-64, 64, (side, side), dtype=torch.int8, device=place.device)
        )
    else:
        kind = element_type(precision)
        make = (lambda: torch.ones(side, side, dtype=kind, device=place.device)) if constant else (
            lambda: torch.randn(side, side, device=place.device).to(kind)
        )
    return make(), make()


def products(side, precision, place, constant):
    """Ways to write the product: the second matrix as it lies, and turned, which some kernels read faster."""
    left, right = factors(side, precision, place, constant)
    if precision == "int8":
        return [lambda: torch._int_mm(left, right.t()), lambda: torch._int_mm(left, right)]
    out = torch.empty(side, side, dtype=left.dtype, device=place.device)
    return [lambda: torch.matmul(left, right, out=out), lambda: torch.matmul(left, right.t(), out=out)]


def fastest_product(precision, place):
    """The laps of the fastest matrix product, and how it was made."""
    sides = CPU_SIDES if place.is_cpu else DEVICE_SIDES
    # Three matrices, while they are drawn in fp32 as well.
    sides = [side for side in sides if side * side * 4 * 4 <= free_bytes(place) * SHARE]
    best, best_side, said = [], None, None
    for side, constant in [(side, False) for side in sides] + [(None, True)]:
        side = side or best_side
        if side is None or (best and 2.0 * side**3 / max(best) > TOO_LONG):
            continue
        try:
            works = products(side, precision, place, constant)
        except Exception as error:
            if not is_out_of_memory(error):
                said = said or error
            continue
        for work in works:
            try:
                rates = lap_rates(place, work, 2.0 * side**3)
            except Exception as error:
                if not is_out_of_memory(error):
                    said = said or error
                continue
            if rates and max(rates) > max(best, default=0.0):
                best, best_side = rates, side
        del works
    if not best:
        why = spell(said) if said is not None else "too little memory is free for a matrix product"
        raise Failure("unsupported", why)
    return best, "%s, %d × %d" % ("torch._int_mm" if precision == "int8" else "torch.matmul", best_side, best_side)


def bandwidth(place):
    """The laps of the fastest way through memory: reading, copying, or adding two arrays into a third."""
    size = CPU_ARRAY if place.is_cpu else DEVICE_ARRAY
    size = int(min(size, free_bytes(place) * SHARE / 3)) // 4
    first = torch.ones(size, device=place.device)
    second, third = torch.ones_like(first), torch.ones_like(first)
    patterns = [
        (lambda: first.sum(), 1),
        (lambda: second.copy_(first), 2),
        (lambda: torch.add(first, second, out=third), 3),
    ]
    best = []
    for work, arrays in patterns:
        rates = lap_rates(place, work, float(arrays * size * 4))
        if rates and max(rates) > max(best, default=0.0):
            best = rates
    return best


# Bytes of an array that is copied between the host and the device, and kernels of a lap.
HOST_ARRAY, LAUNCHES = 1 << 28, 1000


def host_copies(place):
    """The laps of copies in both directions, from pinned and from pageable memory."""
    size = int(min(HOST_ARRAY, free_bytes(place) * SHARE))
    there = torch.empty(size, dtype=torch.uint8, device=place.device)
    found = []
    for memory in ("pinned", "pageable"):
        here = torch.zeros(size, dtype=torch.uint8, pin_memory=memory == "pinned")
        pairs = {"host to device": (there, here), "device to host": (here, there)}
        for direction, (target, source) in pairs.items():
            work = lambda: target.copy_(source, non_blocking=memory == "pinned")
            rates = lap_rates(place, work, float(size))
            found.append({"direction": direction, "memory": memory, "ceiling": ceiling(rates)})
    return found


def launches(place):
    """Kernels that the host launches a second: small ones, so that the device is never behind."""
    small = torch.zeros(1, device=place.device)
    rates = []
    for _ in range(2 * FEWEST):
        place.wait()
        begin = time.perf_counter()
        for _ in range(LAUNCHES):
            small.add_(1)
        rates.append(LAUNCHES / (time.perf_counter() - begin))
    place.wait()
    return ceiling(rates)


class MatrixPrecision:
    """fp32 products as asked for inside, and as they were outside."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision(self.name)

    def __exit__(self, *_):
        torch.set_float32_matmul_precision(self.before)


def has_tensor_floats(place):
    """Whether the device rounds fp32 to TF32 where it may: NVIDIA's, since Ampere."""
    if place.device.type != "cuda" or torch.version.hip is not None:
        return False
    return torch.cuda.get_device_capability(place.device)[0] >= 8


def calibrate(ask):
    import_torch()
    place = Place(ask["device"])
    if place.is_cpu:
        set_threads(max(ask["threads"], 1), 1)
    found = {
        "device": ask["device"],
        "threads": max(ask["threads"], 1) if place.is_cpu else 0,
        "flops": [],
        "ways": [],
        "bandwidth": None,
        "caches": [],
        "unmeasured": [],
    }
    with torch.inference_mode():
        for precision in ("fp32", "fp16", "bf16", "int8"):
            try:
                # True fp32; what TF32 gives instead stands apart.
                with MatrixPrecision("highest"):
                    rates, way = fastest_product(precision, place)
                found["flops"].append([precision, ceiling(rates)])
                found["ways"].append([precision, way])
            except Failure as failure:
                found["unmeasured"].append({"what": precision, "why": failure.message})
        if has_tensor_floats(place):
            with MatrixPrecision("high"):
                found["tf32"] = ceiling(fastest_product("fp32", place)[0])
        rates = bandwidth(place)
    if rates:
        found["bandwidth"] = ceiling(rates)
    else:
        found["unmeasured"].append({"what": "memory", "why": "nothing could be copied"})
    if place.device.type == "cuda":
        try:
            found["copies"], found["launches"] = host_copies(place), launches(place)
        except Exception as error:
            found["unmeasured"].append({"what": "copies", "why": spell(error)})
    if not place.is_cpu:
        why = "kernels that stay in it end before they can be timed"
        found["unmeasured"].append({"what": "L2", "why": why})
    found["measured_at"] = time.time_ns() // 1000
    return {"answer": "calibrated", "ceilings": found}
