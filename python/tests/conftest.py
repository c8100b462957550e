"""What tests share: a database and a cache of their own, a tiny model, and a last line as libtest writes it."""

import os
import sys
import time
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples" / "seeds"


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory):
    """Nothing of the user's is read or written."""
    folder = tmp_path_factory.mktemp("home")
    for name, value in (("MODELMETER_DB", folder / "runs.db"), ("MODELMETER_CACHE", folder / "cache")):
        os.environ[name] = str(value)
    os.environ["HF_HUB_OFFLINE"] = "1"
    for name in ("MODELMETER_PYTHON", "MODELMETER_PROGRAM", "COLUMNS"):
        os.environ.pop(name, None)
    return folder


@pytest.fixture
def tiny():
    import modelmeter

    return modelmeter.TransformerEncoder(100, 16, 2, 1, 32, max_seq_length=64, name="tiny")


@pytest.fixture(scope="session")
def fast():
    """Options that make a measurement short."""
    return {"runs": 12, "warmup": 1, "sequence_length": 16, "batch_size": 2, "engine": "rten"}


@pytest.fixture(scope="session")
def bert(tmp_path_factory):
    """A BERT of two small layers with a tokenizer, as a folder."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    folder = tmp_path_factory.mktemp("models") / "bert"
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=1200, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48
    )
    transformers.BertModel(config).save_pretrained(folder)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "time", "how", "fast"]
    tokenizer = Tokenizer(models.WordPiece({word: at for at, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    ).save_pretrained(folder)
    return folder


@pytest.fixture
def examples(monkeypatch):
    """The folder with other profilers' import lines, on the path."""
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.setenv("MODELMETER_EXAMPLES", "device=cpu,precision=fp32,engine=rten,duration=1s")
    yield EXAMPLES
    for name in ("profiler", "overrides", "model_evaluation", "model_evaluation.pipeline"):
        sys.modules.pop(name, None)


_begin = {}
_times = []


def pytest_runtest_logstart(nodeid, location):
    _begin[nodeid] = time.monotonic()


def pytest_runtest_logfinish(nodeid, location):
    _times.append((nodeid, time.monotonic() - _begin[nodeid]))


def pytest_terminal_summary(terminalreporter, exitstatus):
    """`.ci/tests` reads the lines of libtest."""
    stats = terminalreporter.stats
    failed = {report.nodeid for kind in ("failed", "error") for report in stats.get(kind, ())}
    for name, seconds in _times:
        terminalreporter.write_line(f"test {name} ... {'FAILED' if name in failed else 'ok'} <{seconds:.3f}s>")
    passed = len({report.nodeid for report in stats.get("passed", ())} - failed)
    ignored = len(stats.get("skipped", ()))
    word = "FAILED" if failed or exitstatus else "ok"
    terminalreporter.write_line(f"test result: {word}. {passed} passed; {len(failed)} failed; {ignored} ignored;")
