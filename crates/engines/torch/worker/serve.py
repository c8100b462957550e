# The conversation: one JSON document a line, one answer an ask, until the parent says `bye` or goes away.

# Who watches other ranks answers too, when nobody else can.
SENDING = threading.Lock()

COMPILE_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


def load(job):
    """Makes the module, in several processes where several train; returns the bench and the report."""
    confine(job)
    training = job.get("training")
    size = training["training"]["world_size"] if training is not None else 1
    return load_world(job, size) if size > 1 and "rank" not in job else load_one(job)


def confine(job):
    """A model's file gets no network and no code from the current folder; a program of the user's own is trusted."""
    described = job["request"].get("module") or {}
    if described.get("kind") == "factory":
        if os.environ.get("PYTHONSAFEPATH") == "modelmeter":
            del os.environ["PYTHONSAFEPATH"]
    elif job["request"]["device"] == "cpu" and "rank" not in job:
        # Drivers of GPUs start helpers that need the user's rights outside a namespace; ranks are in that of rank 0.
        leave_network()


def load_one(job):
    """Makes the module and binds its inputs."""
    request = job["request"]
    described = request.get("module")
    if described is None:
        raise Failure(
            "unsupported",
            "engine `torch` runs modules, not ONNX files",
            hint="`--engine onnxruntime`, `rten` or `openvino` reads ONNX",
        )
    plan_type = PLANS.get(described["kind"])
    if plan_type is None:
        raise Failure("unsupported", "engine `torch` does not support modules of kind `%s`" % described["kind"])
    plan = plan_type(job)
    mode = plan.options.get("compile")
    if mode is not None and mode not in COMPILE_MODES:
        raise Failure("unsupported", "`torch.compile` has no mode `%s`" % mode, hint="it has %s" % quoted(COMPILE_MODES))
    plan.check()
    import_torch()
    threads = max(request["threads"], 1)
    set_threads(threads, max(plan.options.get("inter_threads") or 1, 1))
    place = Place(request["device"])
    precision, training = request["precision"], job.get("training")
    # Weights that learn stay in fp32, whatever the rest is computed in.
    dtype = element_type(precision) if training is None else torch.float32
    check_precision(precision, place, described)
    if training is not None:
        check_training(precision, place, plan)
    plan.prepare()

    remarks = plan.remarks
    begin = time.perf_counter_ns()
    module, outputs = plan.make(dtype)
    module = plan.cast(module, dtype)
    if training is None:
        plan.switch(module)
    else:
        open_for_training(plan, module, training["training"], remarks)
    if precision == "int8":
        module = quantise(module, remarks)
    if not place.is_cpu:
        module = module.to(place.device)
    runner = module
    if mode is not None:
        runner = torch.compile(module, mode=None if mode == "default" else mode)
    place.wait()
    taken = time.perf_counter_ns() - begin

    call = plan_call(plan, module, job["inputs"]) if job.get("generation") is None else None
    if call is None:
        bench = Writer(job, plan, module, runner, place, outputs)
    elif training is None:
        bench = Bench(job, plan, module, runner, place, call, outputs)
    else:
        bench = Trainer(job, plan, module, runner, place, call, outputs, remarks)
    remarks += tensor_float_remarks(module, place, precision)
    if plan.by_order and precision == "fp32" and bench.dtype not in (None, torch.float32):
        text = "the module's own %s was kept" % str(bench.dtype).replace("torch.", "")
        remarks.append(remark("format-kept", text))
    words = place.words(threads)
    report = {
        "answer": "loaded",
        "load": duration(taken),
        "version": torch.__version__,
        "placement": words if mode is None else "%s, compiled (%s)" % (words, mode),
        "signature": bench.signature(),
        "real_tokens": bench.real_tokens,
        "remarks": remarks,
        "versions": versions(plan, place),
    }
    return bench, report


def import_torch():
    """PyTorch, for all of this script; seconds, and outside every clock."""
    global torch
    try:
        import torch
    except Exception as error:
        raise Failure(
            "unavailable",
            "this Python cannot import `torch`",
            causes_of(error),
            "`%s -m pip install torch transformers`" % sys.executable,
        )


def set_threads(within, between):
    torch.set_num_threads(within)
    if torch.get_num_interop_threads() != between:
        # PyTorch lets this be set once, before anything ran.
        torch.set_num_interop_threads(between)


def versions(plan, place):
    import platform

    found = {"python": platform.python_version(), "torch": torch.__version__}
    found.update(plan.versions)
    if place.device.type == "cuda":
        key = "cuda" if torch.version.hip is None else "rocm"
        found[key] = torch.version.cuda or torch.version.hip
    if place.label() is not None:
        found["gpu"] = place.label()
    return found


def first(bench):
    """The true first inference; a compiled module is compiled here."""
    try:
        return bench.first()
    except Exception as error:
        if not bench.compiled or is_out_of_memory(error):
            raise
        said = " ".join(causes_of(error))
        if "InvalidCxxCompiler" in said or "No working C++ compiler" in said:
            raise Failure(
                "unsupported",
                "`torch.compile` found no C++ compiler",
                causes_of(error),
                "install one (`g++` or `clang++`), or omit `--compile`",
            )
        failure = failure_of(error, "the compiled module failed", bench.place.name)
        failure.hint = failure.hint or "without `--compile` the module runs as it is"
        raise failure


def answer(bench, ask):
    if bench is None:
        raise Failure("failed", "asked for `%s` before a model was loaded" % ask["ask"])
    if isinstance(bench, Trainer):
        return answer_training(bench, ask)
    if isinstance(bench, Writer):
        return answer_writing(bench, ask)
    kind = ask["ask"]
    if kind == "first":
        return first(bench)
    if kind == "run":
        return bench.run(ask["count"], ask["budget"])
    if kind == "observe":
        # A module has no values with names.
        return {"answer": "observed", "shapes": []}
    if kind == "outputs":
        return bench.write_outputs(ask["path"], ask.get("inside", False))
    if kind == "profile":
        return profile(bench, ask["count"], ask.get("detail", "times"))
    if kind == "memory":
        return remember(bench, ask["count"], ask["events"])
    if kind == "count":
        return count(bench)
    if kind == "serve":
        bench.serving = Serving(bench, ask)
        return bench.serving.report()
    if kind == "serve-on":
        if bench.serving is None:
            raise Failure("failed", "no requests were announced")
        return bench.serving.go_on(ask["budget"])
    if kind in ("trained", "gradients"):
        raise Failure("failed", "this model was not loaded to be trained")
    if kind == "load":
        raise Failure("failed", "a worker loads one model")
    raise Failure("failed", "unknown request `%s`" % kind)


def serve():
    bench, device, is_rank = None, "cpu", False
    for line in iter(READER.readline, b""):
        if not line.endswith(b"\n"):
            # Half a message is no message: the parent died in the middle of it.
            break
        doing = "the model failed while running"
        try:
            ask = json.loads(line)
            if ask["ask"] == "bye":
                break
            if ask["ask"] == "load" and bench is None:
                device, doing = ask["request"]["device"], "the module could not be loaded"
                is_rank = "rank" in ask
                bench, reply = load(ask)
            elif ask["ask"] == "calibrate":
                device, doing = ask["device"], "the device could not be measured"
                if bench is not None:
                    raise Failure("failed", "a worker that holds a model measures no ceilings")
                reply = calibrate(ask)
            elif ask["ask"] == "unpickle" and bench is None:
                doing = "the pickled weights could not be read"
                reply = unpickle(ask["folder"], ask["path"])
            elif bench is None:
                reply = answer(bench, ask)
            else:
                with bench.mode():
                    reply = answer(bench, ask)
        except (Exception, SystemExit) as error:
            reply = failure_of(error, doing, device).answer()
        send(reply)
        if is_rank and reply["answer"] == "failed":
            # The others wait for what this rank will never send: its end tells them.
            break
    if isinstance(bench, Trainer) and bench.world is not None:
        bench.world.end()


def send(reply):
    """One line, whole: an unbuffered write may take less than it was given."""
    rest = memoryview(json.dumps(reply).encode() + b"\n")
    with SENDING:
        while rest:
            rest = rest[WRITER.write(rest) :]


try:
    serve()
except (BrokenPipeError, KeyboardInterrupt):
    pass
sys.stderr.flush()
# Threads and helpers that a module started must not keep the process.
os._exit(0)
