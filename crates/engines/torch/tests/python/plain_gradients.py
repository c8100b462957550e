"""Makes small checkpoints and writes the gradients that plain PyTorch gives for one batch of each.

Usage: plain_gradients.py FOLDER. Every model gets a folder with its checkpoint, `batch.safetensors` (inputs and
`labels`) and `expected.safetensors`: one gradient a parameter, and `loss`.
"""

import sys
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file


def models():
    small = dict(vocab_size=50, num_attention_heads=2, num_hidden_layers=2, hidden_size=16)
    bert = transformers.BertConfig(**small, intermediate_size=24, max_position_embeddings=16)
    yield "bert", transformers.BertModel(bert), "last_hidden_state"
    # Its embedding is also its last layer.
    gpt2 = transformers.GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=2, n_positions=16)
    yield "gpt2", transformers.GPT2LMHeadModel(gpt2), "logits"
    llama = transformers.LlamaConfig(
        **small, intermediate_size=24, num_key_value_heads=1, max_position_embeddings=16, tie_word_embeddings=False
    )
    yield "llama", transformers.LlamaForCausalLM(llama), "logits"


def main(root):
    for name, model, output in models():
        torch.manual_seed(3)
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter.data, std=0.2)
        folder = root / name
        model.save_pretrained(folder)
        # Without dropout, which is how everybody here trains.
        model.eval()
        batch = {"input_ids": torch.randint(0, 50, (3, 7)), "attention_mask": torch.ones(3, 7, dtype=torch.int64)}
        batch["attention_mask"][1, 5:] = 0
        found = model(**batch)[output]
        if output == "logits":
            labels = torch.randint(0, 50, (3, 7))
            labels[2, :3] = -100
            loss = torch.nn.functional.cross_entropy(found.flatten(0, 1), labels.flatten())
        else:
            labels = torch.randn(found.shape)
            loss = torch.nn.functional.mse_loss(found, labels)
        loss.backward()
        expected = {key: value.grad.clone() for key, value in model.named_parameters() if value.grad is not None}
        expected["loss"] = loss.detach()
        save_file(expected, folder / "expected.safetensors")
        save_file({**batch, "labels": labels}, folder / "batch.safetensors")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
