# Holds `modelmeter gpu` against what was planted and against PyTorch's own profiler, on a machine with an NVIDIA GPU:
#   python3 crates/gpu/benches/checks.py target/release/modelmeter [CHECK…]
# One line a check; the exit code is the number of those that failed.
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from statistics import median

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.abspath(sys.argv[1])
WORKLOAD = os.path.join(HERE, "workload.py")
FOLDER = tempfile.mkdtemp()
failed = 0


def check(name, is_good, text):
    global failed
    failed += not is_good
    print(f"{'ok  ' if is_good else 'FAIL'} {name}: {text}", flush=True)


def run(words, timeout=120):
    return subprocess.run(words, capture_output=True, text=True, timeout=timeout)


def python(*words):
    return [sys.executable, WORKLOAD, *words]


def gpu(options, *words, expect=0):
    """Records a program; its document, what it printed, and the spans of the trace if one was asked for."""
    file, trace = os.path.join(FOLDER, "gpu.json"), os.path.join(FOLDER, "gpu.trace.json")
    more = ["--trace", trace] if "--trace" in options else []
    options = [word for word in options if word != "--trace"]
    done = run([PROGRAM, "gpu", *options, f"--json={file}", *more, "--", *python(*words)])
    if done.returncode != expect:
        print(done.stdout, done.stderr)
    check(f"exit code of {words[0]}", done.returncode == expect, str(done.returncode))
    events = json.load(open(trace))["traceEvents"] if more else []
    return json.load(open(file)), done.stdout, events, done.stderr


def device(document):
    return next(one for process in document["processes"] for one in process["devices"])


def base(name):
    """A kernel's name without template arguments, parameters and namespaces."""
    name = re.sub(r"\(anonymous namespace\)", "anonymous", re.sub(r"^void ", "", name))
    name = re.split(r"[<(]", name)[0]
    return name.split("::")[-1].strip()


def union(spans):
    total, last = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, last))
        last = max(last, end)
    return total


def kernels():
    trace = os.path.join(FOLDER, "torch.json")
    run(python("eager", trace))
    events = [one for one in json.load(open(trace))["traceEvents"] if one.get("cat") == "kernel"]
    theirs = Counter(base(one["name"]) for one in events)
    document, _, spans, _ = gpu(["--after", "5", "--steps", "20", "--step", "step", "--trace"], "eager")
    if not document["valid"]:
        check("kernels", False, "not valid")
    ours = Counter()
    one = device(document)
    for kernel in one["kernels"]:
        ours[base(kernel["name"])] += kernel["count"]
    # The recording begins with the sixth range that is called `step`, so it has 15 steps.
    theirs = Counter({name: count * 15 // 20 for name, count in theirs.items()})
    check("kernel multiset", ours == theirs, f"{sum(ours.values())} kernels of {len(ours)} names; different: {dict((ours - theirs) + (theirs - ours))}")
    their_time = sum(event["dur"] for event in events) * 15 / 20 / 1e6
    check("kernel time", abs(one["kernel_sum"] / their_time - 1) < 0.02, f"{one['kernel_sum'] * 1e3:.3f} ms, torch.profiler {their_time * 1e3:.3f} ms")
    whole = sum(one[name] for name in ("compute", "communication", "copies", "idle"))
    check("closure", abs(whole / one["window"] - 1) < 0.001, f"{whole / one['window'] - 1:+.7f}")
    busy = union((span["ts"], span["ts"] + span["dur"]) for span in spans if span.get("cat") == "kernel") / 1e6
    check("busy time", abs((one["window"] - one["idle"]) / busy - 1) < 0.01, f"{(one['window'] - one['idle']) * 1e3:.3f} ms, union of the trace {busy * 1e3:.3f} ms")


def copies():
    document, _, _, _ = gpu([], "copies")
    found = {(one["direction"], one["from"], one["to"]): (one["count"], one["bytes"], one["rate"]) for one in device(document)["copy_kinds"]}
    planted = 3 * (64 << 20)
    for key in [("host to device", "pageable", "device"), ("host to device", "pinned", "device"), ("device to host", "device", "pageable"), ("device to host", "device", "pinned"), ("within the device", "device", "device")]:
        count, size, rate = found.get(key, (0, 0, 0))
        check("copies " + " ".join(key), size == planted, f"{size} bytes in {count} copies at {rate / 1e9:.1f} GB/s")


def sleeps():
    document, out, _, _ = gpu([], "sleeps")
    slept = float(out.split()[-1])
    late = next(gap for gap in device(document)["gaps"] if gap["cause"] == "host-late")
    found = dict(late["places"]).get("planted sleep", 0.0)
    check("planted sleeps", abs(found / slept - 1) < 0.02, f"{found:.4f} s of {slept:.4f} s slept")


def items():
    document, _, _, _ = gpu(["--after", "10", "--step", "step"], "items")
    gaps = device(document)["gaps"]
    check("planted .item()", gaps[0]["cause"] == "synchronisation", ", ".join(f"{gap['cause']} {gap['time'] * 1e3:.1f} ms" for gap in gaps) + f"; {gaps[0]['places'][:1]}")


def shares(document):
    total = Counter()
    for part in device(document)["modules"]:
        kind = "attention" if ".attention" in part["path"] else "ffn" if ".ffn" in part["path"] else "other"
        total[kind if part["path"] else "none"] += part["time"]
    whole = sum(total.values())
    return {name: time / whole for name, time in total.items()}


def modules():
    eager = shares(gpu(["--modules"], "eager")[0])
    check("modules, eager", eager.get("none", 0) < 0.05, str({name: round(share, 4) for name, share in eager.items()}))
    document, _, _, _ = gpu(["--modules"], "graph")
    launches = device(document)["launches"]
    named = launches["graph_named"] / max(1, launches["graph_kernels"])
    check("CUDA graph named", named >= 0.95, f"{named:.1%} of {launches['graph_kernels']} kernels of {launches['graph_launches']} launches")
    replayed = shares(document)
    near = all(abs(replayed.get(name, 0) / eager[name] - 1) < 0.1 for name in ("attention", "ffn"))
    check("CUDA graph, shares as in eager", near, str({name: round(share, 4) for name, share in replayed.items()}))


def overhead(batch, length, precision, limit, processes=5, profiler=False):
    sides = {"off": [], "on": [], **({"torch.profiler": []} if profiler else {})}
    order = [*sides, *reversed(sides)]
    for turn in range(processes):
        for side in order[: len(sides)] if turn % 2 == 0 else order[len(sides) :]:
            words = python("timed", batch, length, precision, *(["1"] if side == "torch.profiler" else []))
            done = run([PROGRAM, "gpu", "--quiet", "--", *words] if side == "on" else words)
            sides[side].append(float(done.stdout.split()[-1]))
    for side in list(sides)[1:]:
        ratios = [on / off - 1 for on, off in zip(sides[side], sides["off"])]
        middle = median(ratios)
        text = f"{middle:+.1%} [{min(ratios):+.1%}, {max(ratios):+.1%}] over {len(ratios)} pairs of processes, off {median(sides['off']) * 1e3:.3f} ms"
        check(f"overhead of {side} at {batch} × {length} {precision}", side != "on" or middle <= limit, text)


def kill():
    folder, moment = os.path.join(FOLDER, "kill"), os.path.join(FOLDER, "moment")
    child = subprocess.Popen([PROGRAM, "gpu", "--quiet", "--keep", folder, "--", *python("endless", moment)], stderr=subprocess.DEVNULL)
    while not os.path.exists(moment) and child.poll() is None:
        time.sleep(0.1)
    time.sleep(5)
    inside = int(next(iter(os.listdir(folder))).split("-")[0])
    os.kill(inside, signal.SIGKILL)
    code = child.wait()
    trace = os.path.join(FOLDER, "kill.trace.json")
    file = os.path.join(FOLDER, "kill.json")
    run([PROGRAM, "gpu", "--from", folder, f"--json={file}", "--trace", trace])
    document = json.load(open(file))
    problems = [one["kind"] for process in document["processes"] for one in process["problems"]]
    check("killed", code == 137 and problems == ["killed"] and document["valid"], f"exit code {code}, {problems}, {device(document)['window']:.2f} s recorded")
    length = document["processes"][0]["length"]
    check("killed, missing", length > 4.0, f"{length:.2f} s from the first to the last record of at least 5 s")


def profiler():
    trace = os.path.join(FOLDER, "inside.json")
    document, out, _, _ = gpu([], "eager", trace)
    problems = [one["kind"] for process in document["processes"] for one in process["problems"]]
    check("torch.profiler inside", int(out.split()[-1]) > 0 and "released" in problems, f"its GPU events: {out.split()[-1]}, ours: {problems}")


def two():
    document, _, spans, _ = gpu(["--trace"], "two")
    busy = [process for process in document["processes"] if process["devices"]]
    check("two processes", len(busy) == 2, f"{len(document['processes'])} recorded, {len(busy)} with work")
    starts = sorted(span["ts"] for span in spans if span.get("name") == "after the start")
    spread = starts[1] - starts[0] if len(starts) == 2 else float("inf")
    check("one clock", spread < 100, f"two processes that wait for one moment begin {spread:.1f} µs apart")


def show():
    for options, words in ((["--modules"], ["training"]), ([], ["eager"])):
        print(gpu(options, *words)[3])


CHECKS = {
    "kernels": kernels,
    "copies": copies,
    "sleeps": sleeps,
    "items": items,
    "modules": modules,
    "profiler": profiler,
    "kill": kill,
    "two": two,
    "show": show,
    "small": lambda: overhead("4", "128", "fp32", 0.05, profiler=True),
    "large": lambda: overhead("64", "512", "bf16", 0.03),
}

for name in sys.argv[2:] or CHECKS:
    try:
        CHECKS[name]()
    except Exception as error:
        check(name, False, repr(error))
sys.exit(min(failed, 99))
