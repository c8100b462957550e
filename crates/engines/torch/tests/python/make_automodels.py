"""Writes tiny models of families that no graph is built for, inputs for them, and what `transformers` answers.

Usage: make_automodels.py FOLDER. Every model gets a folder of its own; its `cases.safetensors` holds the inputs as
`in.NAME` and the outputs as `out.NAME`.
"""

import sys
from pathlib import Path

import torch
import transformers as t
from safetensors.torch import save_file

TEXT = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48)


def models():
    """Name, module, inputs and the outputs that are compared."""
    generator = torch.Generator().manual_seed(3)
    ids = torch.randint(3, 60, (2, 7), generator=generator)
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    albert = t.AlbertModel(t.AlbertConfig(vocab_size=60, embedding_size=16, max_position_embeddings=40, **TEXT))
    yield "albert", albert, dict(input_ids=ids, attention_mask=mask), ["last_hidden_state", "pooler_output"]
    convnext = t.ConvNextForImageClassification(
        t.ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2, image_size=32, num_labels=5)
    )
    yield "convnext", convnext, dict(pixel_values=torch.randn(2, 3, 32, 32, generator=generator)), ["logits"]
    hubert = t.HubertModel(
        t.HubertConfig(
            **TEXT, conv_dim=[16, 16], conv_stride=[5, 4], conv_kernel=[10, 4], num_conv_pos_embeddings=16,
            num_conv_pos_embedding_groups=2,
        )
    )
    yield "hubert", hubert, dict(input_values=torch.randn(2, 800, generator=generator)), ["last_hidden_state"]
    bart = t.BartModel(
        t.BartConfig(
            vocab_size=60, d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
            decoder_attention_heads=2, encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=64,
        )
    )
    inputs = dict(input_ids=ids, attention_mask=mask, decoder_input_ids=ids[:, :4].contiguous())
    yield "bart", bart, inputs, ["last_hidden_state"]


if __name__ == "__main__":
    torch.manual_seed(0)
    t.logging.set_verbosity_error()
    t.logging.disable_progress_bar()
    for name, module, inputs, outputs in models():
        folder = Path(sys.argv[1]) / name
        module = module.eval()
        module.save_pretrained(folder)
        with torch.no_grad():
            result = module(**inputs)
        flat = {f"in.{key}": value.contiguous() for key, value in inputs.items()}
        flat.update({f"out.{key}": result[key].contiguous() for key in outputs})
        save_file(flat, folder / "cases.safetensors")
    # The same weights in half the bits.
    module.to(torch.bfloat16).save_pretrained(Path(sys.argv[1]) / "bart-bf16")
