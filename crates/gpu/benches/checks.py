# Holds `modelmeter` against what was planted and against PyTorch's own profiler, on a machine with an NVIDIA GPU:
#   python3 crates/gpu/benches/checks.py target/release/modelmeter [--out FOLDER] [CHECK…]
# All of it takes less than two minutes. One line a check, also in FOLDER/checks.txt, written as it goes; the tables that
# were shown lie beside it. Every check has a time limit of its own. The exit code is the number of those that failed.
import concurrent.futures
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from statistics import median

BEGAN = time.monotonic()
HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.abspath(sys.argv[1])
WORKLOAD = os.path.join(HERE, "workload.py")
FOLDER = tempfile.mkdtemp()
# When the whole is to be over.
END = BEGAN + 115
SAYING = threading.Lock()
failed = 0

words = sys.argv[2:]
OUT = FOLDER
if "--out" in words:
    at = words.index("--out")
    OUT = os.path.abspath(words[at + 1])
    del words[at : at + 2]
os.makedirs(OUT, exist_ok=True)
# Nothing of this goes to the user's database or cache.
os.environ["MODELMETER_CACHE"] = os.path.join(FOLDER, "cache")
os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(FOLDER, "inductor")


def say(line):
    with SAYING:
        print(line, flush=True)
        with open(os.path.join(OUT, "checks.txt"), "a") as file:
            file.write(line + "\n")


def check(name, is_good, text):
    global failed
    with SAYING:
        failed += not is_good
    say(f"{'ok  ' if is_good else 'FAIL'} {time.monotonic() - BEGAN:5.1f} s  {name}: {text}")


def run(words, timeout=45):
    """Runs a command; at its time limit it and everything it started is ended."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise TimeoutError(f"longer than {timeout} s: {' '.join(words[1:6])}")
    return subprocess.CompletedProcess(words, process.returncode, out, err)


def python(*words):
    return [sys.executable, WORKLOAD, *words]


def gpu(options, *words, expect=0, keep=None):
    """Records a program; its document, what it printed, the spans of the trace if one was asked for, the tables."""
    own = tempfile.mkdtemp(dir=FOLDER)
    file, trace = os.path.join(own, "gpu.json"), os.path.join(own, "gpu.trace.json")
    more = ["--trace", trace] if "--trace" in options else []
    options = [word for word in options if word != "--trace"]
    done = run([PROGRAM, "gpu", *options, f"--json={file}", *more, "--", *python(*words)])
    if done.returncode != expect:
        raise RuntimeError(f"exit code {done.returncode} of {words[0]}: {done.stderr[-300:]}")
    if keep is not None:
        with open(os.path.join(OUT, keep), "w") as shown:
            shown.write(done.stderr)
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
    busy = union((span["ts"], span["ts"] + span["dur"]) for span in spans if span.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")) / 1e6
    check("busy time", abs((one["window"] - one["idle"]) / busy - 1) < 0.01, f"{(one['window'] - one['idle']) * 1e3:.3f} ms, union of the trace {busy * 1e3:.3f} ms")
    # PyTorch's own trace, read by the same analysis.
    file = os.path.join(FOLDER, "kineto.json")
    done = run([PROGRAM, "gpu", "--from", trace, f"--json={file}", "--quiet"])
    read = sum(kernel["count"] for kernel in device(json.load(open(file)))["kernels"]) if done.returncode == 0 else 0
    check("PyTorch's trace read", read == len(events), f"{read} of {len(events)} kernels {done.stderr[-200:] if done.returncode else ''}")


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
    check("planted sleeps", abs(found / slept - 1) < 0.02, f"{found:.4f} s of {slept:.4f} s slept, at `planted sleep`")


def items():
    gaps = device(gpu(["--after", "10", "--step", "step"], "items")[0])["gaps"]
    told = ", ".join(f"{gap['cause']} {gap['time'] * 1e3:.1f} ms" for gap in gaps)
    check("planted .item()", gaps[0]["cause"] == "synchronisation", told)
    # Naming modules costs the host time, so it is another run.
    gaps = device(gpu(["--modules", "--after", "10", "--step", "step"], "items")[0])["gaps"]
    places = next((gap["places"] for gap in gaps if gap["cause"] == "synchronisation"), [])[:3]
    check("planted .item() by module", any("in layer." in place for place, _ in places), str(places))


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


def kill():
    folder, moment = os.path.join(FOLDER, "kill"), os.path.join(FOLDER, "moment")
    words = [PROGRAM, "gpu", "--quiet", "--keep", folder, "--", *python("endless", moment)]
    child = subprocess.Popen(words, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        limit = time.monotonic() + 40
        while not os.path.exists(moment) and child.poll() is None and time.monotonic() < limit:
            time.sleep(0.1)
        time.sleep(5)
        inside = int(next(iter(os.listdir(folder))).split("-")[0])
        os.kill(inside, signal.SIGKILL)
        code = child.wait(20)
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
    file = os.path.join(FOLDER, "kill.json")
    run([PROGRAM, "gpu", "--from", folder, f"--json={file}"])
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


def parts(document):
    one = device(document)
    busy = one["compute"] + one["copies"] + one["communication"]
    return f"busy {busy / one['window']:.1%} of {one['window'] * 1e3:.1f} ms, {one['launches']['kernels']} kernels, graph kernels {one['launches']['graph_kernels']}, memory {(one['memory_peak'] or 0) >> 20} MiB"


def training():
    document = gpu(["--modules"], "training", keep="training.txt")[0]
    check("training loop", document["valid"], parts(document))


def bert_eager():
    document = gpu(["--modules", "--after", "5", "--step", "step"], "bert_as", "eager", keep="bert-eager.txt")[0]
    check("BERT eager", document["valid"], parts(document))


def bert_compiled():
    document = gpu(["--after", "5", "--step", "step"], "bert_as", "compiled", keep="bert-compiled.txt")[0]
    check("BERT compiled", document["valid"], parts(document))


def bert_graph():
    # From the beginning: a graph that was captured before recording began cannot be followed.
    document = gpu(["--modules"], "bert_as", "graph", keep="bert-graph.txt")[0]
    one = device(document)["launches"]
    named = one["graph_named"] / max(1, one["graph_kernels"])
    check("BERT as a CUDA graph", document["valid"] and named > 0.95, f"{parts(document)}, {named:.1%} named")


def trace():
    """A trace in Perfetto's own format is written, and not empty."""
    path = os.path.join(OUT, "steps.pftrace")
    done = run([PROGRAM, "gpu", "--quiet", "--after", "5", "--steps", "5", "--step", "step", "--trace", path, "--", *python("eager")])
    size = os.path.getsize(path) if os.path.exists(path) else 0
    check("Perfetto trace", done.returncode == 0 and size > 10_000, f"{size} bytes")


BERT = ["--torch-module", WORKLOAD + ":bert"]


def profile(*more, timeout=60):
    file = os.path.join(tempfile.mkdtemp(dir=FOLDER), "run.json")
    words = [PROGRAM, "profile", *more, "--engine", "torch", "--python", sys.executable, "--device", "cuda", "--no-store", "--duration", "1s", f"--json={file}"]
    done = run(words, timeout)
    if done.returncode not in (0, 4) or not os.path.exists(file):
        raise RuntimeError(f"exit code {done.returncode}: {(done.stderr or done.stdout)[-400:]}")
    return json.load(open(file)), done.stdout


def layers():
    document, shown = profile(*BERT, "--layers", "--gpu")
    with open(os.path.join(OUT, "layers.txt"), "w") as file:
        file.write(shown)
    found = document.get("layers")
    if not found:
        return check("closure of --layers", False, str(document["verdict"])[:300])
    closure = found["closure"]
    is_closed = abs(closure["value"] - 1) < 0.05 and found["idle"] is not None
    text = f"sum {found['sum']:.3f} ms = {closure['value']:.1%} [{closure['low']:.1%}, {closure['high']:.1%}] of {found['plain']:.3f} ms; idle {found['idle']} ms; instruments cost the host {found['overhead']['value']:+.1%}"
    check("closure of --layers, BERT-base 4 × 128", is_closed, text)
    hosts = [layer["host"] for layer in found["layers"] if layer["host"] is not None]
    check("host time beside it", len(hosts) > 10, f"{len(hosts)} modules with a time of the host")
    check("--gpu of a run", bool(document.get("gpu")), "" if not document.get("gpu") else parts(document["gpu"]))


def layers_preset():
    if importlib.util.find_spec("transformers") is None:
        return say("     transformers is not installed: BERT-base of transformers was left out")
    document, shown = profile("bert-base-uncased", "--batch-size", "4", "--sequence-length", "128", "--layers")
    with open(os.path.join(OUT, "layers-transformers.txt"), "w") as file:
        file.write(shown)
    closure = document["layers"]["closure"]
    check("closure of --layers, BertModel 4 × 128", abs(closure["value"] - 1) < 0.05, f"{closure['value']:.1%} [{closure['low']:.1%}, {closure['high']:.1%}]")


def layers_training():
    document, shown = profile("distilbert-base-uncased", "--train", "--batch-size", "4", "--sequence-length", "128", "--layers")
    with open(os.path.join(OUT, "layers-training.txt"), "w") as file:
        file.write(shown)
    closure = document["layers"]["closure"]
    check("closure of --layers, training DistilBERT 4 × 128", abs(closure["value"] - 1) < 0.05, f"{closure['value']:.1%} [{closure['low']:.1%}, {closure['high']:.1%}]")


def advise():
    file = os.path.join(FOLDER, "advice.json")
    done = run([PROGRAM, "advise", "--try=pinned-memory", "--budget", "60s", f"--json={file}", "--", *python("mistake")], 90)
    with open(os.path.join(OUT, "advice.txt"), "w") as shown:
        shown.write(done.stdout + done.stderr)
    if not os.path.exists(file):
        return check("planted mistake", False, done.stderr[-300:])
    found = {one["rule"]: one for one in json.load(open(file))["advice"]}
    one = found.get("pinned-memory")
    if one is None:
        return check("planted mistake", False, f"found only {list(found)}")
    trial = one.get("trial") or {}
    check("planted mistake found and tried", trial.get("verdict") in ("came-true", "fell-short"), f"expected {one['expected'] if 'expected' in one else one}; trial {trial}")


def overhead():
    left = max(15.0, min(END - time.monotonic() - 4, 60.0))
    done = run([PROGRAM, "gpu", "--quiet", "--", *python("overhead", str(left))], left + 45)
    rounds = [json.loads(line[6:]) for line in done.stdout.splitlines() if line.startswith("round ")]
    rounds = [one for one in rounds if all(one.values())]
    if not rounds:
        return check("overhead", False, done.stderr[-300:])
    for at, name, limit in ((0, "4 × 128 fp32", 0.05), (1, "64 × 512 bf16", 0.03)):
        off = median(one["off"][at] for one in rounds)
        for side in ("on", "torch.profiler"):
            ratios = [one[side][at] / one["off"][at] - 1 for one in rounds]
            text = f"{median(ratios):+.1%} [{min(ratios):+.1%}, {max(ratios):+.1%}] over {len(ratios)} rounds of processes, off {off * 1e3:.3f} ms"
            who = "modelmeter gpu" if side == "on" else side
            check(f"overhead of {who} at {name}", side != "on" or median(ratios) <= limit, text)


def calibrate():
    file = os.path.join(FOLDER, "ceilings.json")
    done = run([PROGRAM, "calibrate", "--device", "cuda", "--python", sys.executable, f"--json={file}"], 60)
    with open(os.path.join(OUT, "ceilings.txt"), "w") as shown:
        shown.write(done.stdout + done.stderr)
    text = open(file).read() if os.path.exists(file) else ""
    check("copy ceilings", done.returncode == 0 and "copies" in text, done.stderr[-200:].strip() or "written")


# What counts and names runs side by side; what is timed runs alone, behind it.
TOGETHER = {
    "advise": advise,
    "compiled": bert_compiled,
    "two": two,
    "kill": kill,
    "sleeps": sleeps,
    "items": items,
    "copies": copies,
    "modules": modules,
    "profiler": profiler,
    "training": training,
    "eager": bert_eager,
    "graph": bert_graph,
    "trace": trace,
}
ALONE = {
    "layers": layers,
    "kernels": kernels,
    "overhead": overhead,
}
# Only by name: they take longer, or need more than PyTorch.
MORE = {"preset": layers_preset, "step": layers_training, "calibrate": calibrate}


def guarded(name, work):
    try:
        work()
    except BaseException as error:
        check(name, False, repr(error)[:400])


def main():
    chosen = words or [*TOGETHER, *ALONE]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for name in chosen:
            if name in TOGETHER:
                pool.submit(guarded, name, TOGETHER[name])
    for name in chosen:
        if name in ALONE or name in MORE:
            guarded(name, ALONE.get(name) or MORE[name])
    say(f"{failed} failed, {time.monotonic() - BEGAN:.0f} s")
    sys.exit(min(failed, 99))


main()
