# The programs that checks.py records: an encoder of DistilBERT's shape out of plain PyTorch, and planted mistakes.
import os
import sys
import time

import torch


class Attention(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q_lin, self.k_lin, self.v_lin, self.out_lin = (torch.nn.Linear(width, width) for _ in range(4))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (
            part(x).view(batch, length, self.heads, -1).transpose(1, 2) for part in (self.q_lin, self.k_lin, self.v_lin)
        )
        mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        return self.out_lin(mixed.transpose(1, 2).reshape(batch, length, width))


class Layer(torch.nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = Attention(width, heads)
        self.sa_layer_norm = torch.nn.LayerNorm(width)
        self.ffn = torch.nn.Sequential(torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width))
        self.output_layer_norm = torch.nn.LayerNorm(width)

    def forward(self, x):
        x = self.sa_layer_norm(x + self.attention(x))
        return self.output_layer_norm(x + self.ffn(x))


class Encoder(torch.nn.Module):
    """Without arguments, of DistilBERT's shape; with twelve layers, of BERT-base's."""

    def __init__(self, width=768, heads=12, layers=6):
        super().__init__()
        self.word_embeddings = torch.nn.Embedding(30522, width)
        self.position_embeddings = torch.nn.Embedding(512, width)
        self.layer_norm = torch.nn.LayerNorm(width)
        self.layer = torch.nn.ModuleList(Layer(width, heads) for _ in range(layers))

    def forward(self, ids):
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.layer_norm(self.word_embeddings(ids) + self.position_embeddings(places))
        for layer in self.layer:
            x = layer(x)
        return x


def encoder(precision="fp32"):
    torch.manual_seed(0)
    model = Encoder().eval().cuda()
    return model.bfloat16() if precision == "bf16" else model


def tokens(batch, length):
    return torch.randint(0, 30000, (batch, length)).cuda()


def bert():
    """For `--torch-module`: the shape of BERT-base."""
    torch.manual_seed(0)
    return Encoder(layers=12).eval()


def example_inputs():
    return (torch.randint(0, 30000, (4, 128)),)


def bert_as(way):
    model, ids = bert().cuda(), tokens(4, 128)
    if way == "compiled":
        # Layer by layer: they are alike, so one of them is compiled.
        for layer in model.layer:
            layer.compile()
    if way != "graph":
        steps(model, ids, 10, "warm-up")
        return steps(model, ids, 30)
    replay = captured(model, ids)
    for _ in range(30):
        with torch.cuda.nvtx.range("step"):
            replay()
            torch.cuda.synchronize()


def captured(model, ids):
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            model(ids)
    torch.cuda.current_stream().wait_stream(aside)
    recorded = torch.cuda.CUDAGraph()
    with torch.cuda.graph(recorded):
        model(ids)
    return recorded.replay


def steps(model, ids, count, name="step"):
    for _ in range(count):
        with torch.cuda.nvtx.range(name):
            model(ids)
            torch.cuda.synchronize()


def eager(profiler=None):
    model, ids = encoder(), tokens(4, 128)
    steps(model, ids, 5, "warm-up")
    if profiler is None:
        steps(model, ids, 20)
        return
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as record:
        steps(model, ids, 20)
    record.export_chrome_trace(profiler)
    print("GPU events", sum(1 for event in record.events() if str(event.device_type).endswith("CUDA")))


def copies():
    size = 64 << 20
    host, pinned = torch.empty(size, dtype=torch.uint8), torch.empty(size, dtype=torch.uint8).pin_memory()
    one, two = (torch.empty(size, dtype=torch.uint8, device="cuda") for _ in range(2))
    for _ in range(3):
        one.copy_(host)
        one.copy_(pinned, non_blocking=True)
        host.copy_(one)
        pinned.copy_(one, non_blocking=True)
        two.copy_(one)
        torch.cuda.synchronize()


def sleeps():
    model, ids = encoder(), tokens(4, 128)
    steps(model, ids, 5, "warm-up")
    slept = 0.0
    for _ in range(50):
        steps(model, ids, 1)
        with torch.cuda.nvtx.range("planted sleep"):
            began = time.perf_counter()
            time.sleep(0.010)
            slept += time.perf_counter() - began
    print("slept", slept)


def items():
    model, ids = encoder(), tokens(4, 128)
    steps(model, ids, 5, "warm-up")
    for layer in model.layer:
        layer.register_forward_hook(lambda _, __, x: (x[0, 0, 0].item(), None)[1])
    steps(model, ids, 50)


def graph(replays=100):
    replay = captured(encoder(), tokens(4, 128))
    for _ in range(replays):
        replay()
    torch.cuda.synchronize()


def times_of(model, ids, count):
    times = []
    for _ in range(count):
        began = time.perf_counter()
        model(ids)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    times.sort()
    return times[len(times) // 2]


def one_side(side):
    """What a forked process measures: a small and a large step, in seconds."""
    small, large = (encoder(), tokens(4, 128)), (encoder("bf16"), tokens(64, 512))
    for model, ids in (small, large):
        times_of(model, ids, 20)
    if side == "torch.profiler":
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]):
            return times_of(*small, 120), times_of(*large, 30)
    return times_of(*small, 200), times_of(*large, 60)


def overhead(seconds, most=8):
    """Forks a process for each side in turn, which is cheaper than importing PyTorch each time; CUDA begins in the child, so
    that the recorder is loaded there or not. Prints a line of times for each round."""
    import json

    seconds, began = float(seconds), time.monotonic()
    sides = ["off", "on", "torch.profiler"]
    longest = 0.0
    for turn in range(int(most)):
        # At least three rounds: fewer have no interval.
        if turn >= 3 and time.monotonic() - began + longest > seconds:
            break
        start, found = time.monotonic(), {}
        for side in sides if turn % 2 == 0 else sides[::-1]:
            ours, theirs = os.pipe()
            child = os.fork()
            if child == 0:
                if side != "on":
                    for name in list(os.environ):
                        if name.startswith(("CUDA_INJECTION", "NVTX_INJECTION", "MODELMETER_GPU")):
                            del os.environ[name]
                torch.set_grad_enabled(False)
                os.write(theirs, json.dumps(one_side(side)).encode())
                # The recorder's last words are said at a regular end.
                sys.exit(0)
            os.close(theirs)
            with os.fdopen(ours, "rb") as file:
                found[side] = json.loads(file.read() or b"null")
            os.waitpid(child, 0)
        longest = max(longest, time.monotonic() - start)
        print("round", json.dumps(found), flush=True)


def endless(moment):
    model, ids = encoder(), tokens(4, 128)
    while True:
        steps(model, ids, 1)
        with open(moment, "w") as file:
            file.write(str(time.clock_gettime_ns(time.CLOCK_MONOTONIC)))


def two():
    import subprocess

    start = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + 15_000_000_000
    children = [subprocess.Popen([sys.executable, __file__, "at", str(start)]) for _ in range(2)]
    sys.exit(max(child.wait() for child in children))


def at(start):
    x = torch.ones(1 << 20, device="cuda")
    (x * 2).sum().item()
    with torch.cuda.nvtx.range("wait for the start"):
        while time.clock_gettime_ns(time.CLOCK_MONOTONIC) < int(start):
            pass
    with torch.cuda.nvtx.range("after the start"):
        (x + 1).sum()
        torch.cuda.synchronize()


def training():
    model = Encoder().train().cuda()
    head = torch.nn.Linear(768, 2).cuda()
    optimiser = torch.optim.AdamW([*model.parameters(), *head.parameters()], 1e-5)
    ids, labels = torch.randint(0, 30000, (8, 128)), torch.randint(0, 2, (8,))
    for _ in range(40):
        with torch.cuda.nvtx.range("training step"):
            loss = torch.nn.functional.cross_entropy(head(model(ids.cuda())[:, 0]), labels.cuda())
            loss.backward()
            optimiser.step()
            optimiser.zero_grad()
            loss.item()


def mistake():
    """A training loop whose pictures lie in pageable memory."""
    pictures, labels = torch.rand(256, 3, 256, 256), torch.randint(0, 10, (256,))
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 7, stride=4), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(256, 10)
    ).cuda()
    optimiser = torch.optim.SGD(model.parameters(), 1e-3)
    for step in range(60):
        at = step % 4 * 64
        batch, wanted = pictures[at : at + 64].cuda(), labels[at : at + 64].cuda()
        torch.nn.functional.cross_entropy(model(batch), wanted).backward()
        optimiser.step()
        optimiser.zero_grad()


if __name__ == "__main__":
    if sys.argv[1] not in ("training", "mistake"):
        torch.set_grad_enabled(False)
    {name: value for name, value in globals().items() if callable(value)}[sys.argv[1]](*sys.argv[2:])
