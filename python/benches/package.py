"""What the Python package costs and whether its gate can be believed. Needs the built package, torch and transformers.

    .venv/bin/python python/benches/package.py [same] [false-alarms] [callback]

same          the same cell measured by the program and by the package, in turns: time, memory, start of the process
false-alarms  20 gates of pytest over a test that did not change, 5 over one that does half as much again
callback      steps of a transformers Trainer with and without our callback, in turns

Without arguments all three run, in about ten minutes.
"""

import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import modelmeter
from modelmeter import _native
from modelmeter._program import program

MISS = 0.025
"""At either end of an interval of 95 %."""


def told(name, rounds):
    """The ratio that pairs of turns show, with its interval."""
    ratio, low, high = _native.judge([math.log(one) for one in rounds], 0.03, MISS)[:3]
    verdict = "cannot tell" if low <= 1 <= high else "differs"
    print(f"| {name} | {ratio:.4f} [{low:.4f}, {high:.4f}] | {verdict} |", flush=True)


def same(rounds=12):
    options = ["small-transformer", "--engine", "rten", "--runs", "200", "--warmup", "20"]

    def by_program():
        command = [program(), "profile", *options, "--quiet", "--json", "-"]
        return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)

    def by_package():
        return modelmeter.profile("small-transformer", engine="rten", runs=200, warmup=20)

    found = {"latency": [], "memory.peak": [], "process start": []}
    for turn in range(rounds):
        sides = [by_program, by_package]
        results = {side: side() for side in (sides if turn % 2 == 0 else sides[::-1])}
        inner, outer = results[by_package], results[by_program]
        found["latency"].append(inner["latency"]["median"] / outer["latency"]["median"])
        found["memory.peak"].append(inner["memory"]["peak"] / outer["memory"]["peak"])
        starts = [one["process_start"]["value"] for one in (inner, outer)]
        found["process start"].append(starts[0] / starts[1])
    print(f"Package ÷ program, small-transformer on rten, {rounds} pairs of processes:\n\n| | ratio | |\n| --- | --- | --- |")
    for name, values in found.items():
        told(name, values)


WORK = "import time\n\ndef work():\n    return sum(number * number for number in range({count}))\n"
TEST = "import work\n\ndef test_work(modelmeter):\n    modelmeter(work.work)\n"


def gate(changed):
    """The verdict of one gate between two commits of a small repository."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)

        def git(*words):
            who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"]
            subprocess.run(["git", *who, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)

        git("init", "--quiet", "--initial-branch=main")
        (folder / "work.py").write_text(WORK.format(count=20_000))
        (folder / "test_work.py").write_text(TEST)
        git("add", ".")
        git("commit", "--quiet", "--message=one")
        if changed:
            (folder / "work.py").write_text(WORK.format(count=30_000))
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--modelmeter-against", "main"]
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": "."})
        said = re.search(r"^\s*(held|failed|cannot tell)\b.*against main", done.stdout, re.MULTILINE)
        if not said:
            raise RuntimeError(done.stdout)
        return said[1]


def false_alarms(same=20, planted=5):
    for name, count, changed in (("nothing changed", same, False), ("× 1.5 planted", planted, True)):
        verdicts = [gate(changed) for _ in range(count)]
        words = ", ".join(f"{word} {verdicts.count(word)}" for word in ("held", "cannot tell", "failed"))
        print(f"{name}, {count} gates: {words}", flush=True)


class Texts:
    """Batches of the same tokens."""

    def __len__(self):
        return 10_000

    def __getitem__(self, at):
        import torch

        return {"input_ids": torch.full((64,), 5 + at % 7), "labels": torch.tensor(at % 2)}


def callback(blocks=12, steps=50):
    import transformers
    from modelmeter.trainer import ModelmeterCallback

    transformers.logging.set_verbosity_error()
    sizes = dict(hidden_size=128, num_hidden_layers=2, num_attention_heads=2, intermediate_size=512, vocab_size=1000)
    model = transformers.BertForSequenceClassification(transformers.BertConfig(**sizes))

    def seconds(callbacks):
        with tempfile.TemporaryDirectory() as folder:
            arguments = transformers.TrainingArguments(
                output_dir=folder,
                max_steps=steps,
                per_device_train_batch_size=8,
                report_to=[],
                disable_tqdm=True,
                save_strategy="no",
                logging_strategy="no",
                use_cpu=True,
            )
            trainer = transformers.Trainer(model, arguments, train_dataset=Texts(), callbacks=callbacks)
            begin = time.perf_counter()
            trainer.train()
            return time.perf_counter() - begin

    seconds([])
    ratios, closures = [], []
    for _ in range(blocks):
        ours = [ModelmeterCallback(), ModelmeterCallback()]
        bare, first, second, after = seconds([]), seconds(ours[:1]), seconds(ours[1:]), seconds([])
        ratios.append(math.sqrt(first / bare * (second / after)))
        for one in ours:
            closures.append(sum(phase["share"] for phase in one.result["phases"].values()))
    print(f"Trainer of a small BERT, {steps} steps, {blocks} blocks of bare, ours, ours, bare:\n\n| | ratio | |\n| --- | --- | --- |")
    told("with our callback ÷ without", ratios)
    print(f"\nphases and `other` ÷ steps: {min(closures):.6f} to {max(closures):.6f}")


if __name__ == "__main__":
    parts = {"same": same, "false-alarms": false_alarms, "callback": callback}
    for name in sys.argv[1:] or parts:
        parts[name]()
        print()
