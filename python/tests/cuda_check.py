"""For a machine with an NVIDIA GPU: what `measure` says of a step, beside CUDA's own events. Not a test of `make test`.

python -m pip install --no-index --no-deps modelmeter-*.whl && python cuda_check.py
"""

import time

import torch

import modelmeter

STEPS = 200


def main():
    assert modelmeter.get_device() == "cuda"
    weight = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)

    def step():
        result = weight
        for _ in range(4):
            result = result @ weight
        return result

    for _ in range(20):
        step()
    torch.cuda.synchronize()

    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(STEPS)]
    with modelmeter.measure("step", device="cuda") as m:
        for begin, end in m.steps(events):
            with m.phase("products"):
                begin.record()
                step()
                end.record()
    torch.cuda.synchronize()
    own = sorted(begin.elapsed_time(end) for begin, end in events)[STEPS // 2]
    ours = m["phases"]["products"]["latency"]["median"]

    naive = []
    for _ in range(STEPS):
        begin = time.perf_counter()
        step()
        naive.append((time.perf_counter() - begin) * 1e3)
    torch.cuda.synchronize()
    host = sorted(naive[: STEPS // 4])[STEPS // 8]

    print(m.result)
    print(
        f"events {own:.4f} ms, measure {ours:.4f} ms: {ours / own - 1:+.3%}; a host clock alone {host:.4f} ms, ×{own / host:.1f} off"
    )
    print(modelmeter.profile(step, (), runs=50)["latency"]["median"], "ms by profile(function)")
    linear = torch.nn.Sequential(torch.nn.Linear(1024, 1024), torch.nn.ReLU()).cuda()
    run = modelmeter.profile(linear, torch.zeros(64, 1024, device="cuda"), device="cuda", runs=100, store=False)
    print(run)
    profiler = modelmeter.ModelProfiler("small-transformer", device="cuda", engine="torch")
    found = profiler.gpu_profile(runs=20, store=False)["gpu_profile"]
    print(
        [(row["name"][:60], row["count"], round(row["time"], 3)) for row in found["kernels"][:5]], found["copies"][:3]
    )


if __name__ == "__main__":
    main()
