"""Runs the engine's worker on every job and holds its answers against ONNX Runtime's and PyTorch's own.

Usage: compare.py FOLDER. `jobs.json` there lists the worker's arguments and the jobs. PyTorch is imported once; every
worker is a fork that runs the engine's script from its first line on, with pipes as its standard streams.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.torch import load_file

# Imported here so that no fork needs to.
import transformers.modeling_utils  # noqa: F401

TOLERANCE = 1e-4
# How much of the direction of all numbers together a shorter format keeps.
COSINE = {"fp16": 0.9999, "bf16": 0.999, "int8": 0.98}


def run_worker(arguments, folder):
    """Becomes the worker: its streams are the pipes, its script the engine's."""
    os.dup2(os.open(folder / "talk.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    start = arguments[arguments.index("-c") + 1]
    sys.argv = ["-c", *arguments[arguments.index("-c") + 2 :]]
    exec(compile(start, "<start>", "exec"), {"__name__": "__main__"})


def converse(arguments, folder, asks):
    """Starts a worker, asks everything, and returns the answers."""
    down, up = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(down[0], 0)
            os.dup2(up[1], 1)
            for end in (*down, *up):
                os.close(end)
            run_worker(arguments, folder)
        finally:
            os._exit(9)
    os.close(down[0])
    os.close(up[1])
    with os.fdopen(down[1], "wb") as writer, os.fdopen(up[0], "rb") as reader:
        answers = [json.loads(reader.readline())]
        for ask in asks:
            writer.write(json.dumps(ask).encode() + b"\n")
            writer.flush()
            answers.append(json.loads(reader.readline() or b'{"answer": "nothing"}'))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return answers


def graph_outputs(job):
    """What ONNX Runtime makes of the same inputs with the prepared graph."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(job["onnx"], options, providers=["CPUExecutionProvider"])
    inputs = load_file(job["inputs"])
    names = [item.name for item in session.get_outputs()]
    found = session.run(names, {item.name: inputs[item.name].numpy() for item in session.get_inputs()})
    return {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in zip(names, found)}


def compare(job, outputs, expected, kept, whose):
    for name, value in expected.items():
        assert name in outputs, f"{job['name']}: no output `{name}` among {list(outputs)}"
        found, value = outputs[name].double(), value.double()
        assert found.shape == value.shape, f"{job['name']}: `{name}` is {found.shape}, {whose} {value.shape}"
        if name in kept:
            found, value = found[kept[name]], value[kept[name]]
        if job["precision"] == "fp32":
            difference = (found - value).abs().max().item()
            assert difference <= TOLERANCE, f"{job['name']}: `{name}` is {difference} from {whose}"
        else:
            cosine = torch.nn.functional.cosine_similarity(found.flatten(), value.flatten(), dim=0).item()
            assert cosine >= COSINE[job["precision"]], f"{job['name']}: `{name}` keeps {cosine} of {whose}"
            assert not torch.equal(found, value), f"{job['name']}: `{name}` lost no precision"


def check_profile(job, profile):
    total = sum(node["nanos"] for node in profile["nodes"])
    paths = [node["path"] for node in profile["nodes"]]
    assert paths[0] == "" and len(paths) == len(set(paths)), f"{job['name']}: {paths}"
    assert 0 < total <= profile["total_nanos"], f"{job['name']}: {total} of {profile['total_nanos']}"


def main(folder):
    plan = json.loads((folder / "jobs.json").read_text())
    answers = {}
    # All forks first: ONNX Runtime starts threads, and a process with threads should not fork.
    for job in plan["jobs"]:
        path = folder / f"{job['name']}.outputs"
        asks = [job["load"], {"ask": "first"}, {"ask": "outputs", "path": str(path)}, {"ask": "profile", "count": 1}]
        said = converse(plan["arguments"], folder, asks)
        kinds = [answer["answer"] for answer in said]
        assert kinds == ["hello", "loaded", "first", "written", "profiled"], f"{job['name']}: {said[-1]} {said[1]}"
        answers[job["name"]] = said, path
    failures = []
    for job in plan["jobs"]:
        (_, loaded, first, _, profiled), path = answers[job["name"]]
        try:
            outputs = load_file(path)
            shapes = {name: list(value.shape) for name, value in outputs.items()}
            assert dict(first["outputs"]) == shapes and not first["non_finite"], f"{job['name']}: {first}"
            promised = {value["name"] for value in loaded["signature"]["outputs"]}
            assert set(outputs) <= promised, f"{job['name']}: {list(outputs)} are not in {promised}"
            mask = load_file(job["inputs"]).get("attention_mask")
            # What stands at padding is nobody's answer.
            kept = {} if mask is None else {"last_hidden_state": mask.bool()}
            if job["cases"]:
                cases = load_file(job["cases"])
                start = f"{job['case']}.out."
                expected = {name[len(start) :]: cases[name] for name in cases if name.startswith(start)}
                keep = f"{job['case']}.keep."
                kept = {name[len(keep) :]: cases[name].bool() for name in cases if name.startswith(keep)}
                compare(job, outputs, expected, kept, "PyTorch's own")
            compare(job, outputs, graph_outputs(job), kept, "ONNX Runtime's")
            check_profile(job, profiled["profile"])
        except AssertionError as error:
            failures.append(str(error))
    assert not failures, "\n".join(failures)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
