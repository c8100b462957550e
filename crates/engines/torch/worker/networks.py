# Our own small networks as PyTorch modules; the graphs of the same names compute the same.


def reference_network(kind, config):
    """The network that a description's keys ask for; its classes exist once PyTorch is here."""
    import math

    nn = torch.nn

    class Sinusoidal(nn.Module):
        """Sines and cosines for every place."""

        def __init__(self, width, longest):
            super().__init__()
            places = torch.arange(longest).unsqueeze(1)
            angles = places * torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
            table = torch.stack((angles.sin(), angles.cos()), dim=-1).reshape(longest, width)
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
            width, longest = config["d_model"], config["max_seq_length"]
            self.scale = math.sqrt(width)
            self.embedding = nn.Embedding(config["vocab_size"], width)
            learned = config["positional_encoding"] == "learned"
            self.positions = nn.Embedding(longest, width) if learned else Sinusoidal(width, longest)

        def forward(self, input_ids, attention_mask):
            tokens = self.embedding(input_ids) * self.scale
            places = torch.arange(input_ids.shape[1], device=input_ids.device)
            hidden = tokens + self.positions(places).to(tokens.dtype)
            hidden = super().forward(hidden, src_key_padding_mask=attention_mask == 0)
            return {"last_hidden_state": hidden}

    class FeedForward(nn.Module):
        """Linear layers with ReLU between them."""

        def __init__(self, config):
            super().__init__()
            widths = [config["input_size"], *config["hidden_layers"], config["output_size"]]
            layers = []
            for inputs, outputs in zip(widths, widths[1:]):
                layers += [nn.Linear(inputs, outputs), nn.ReLU()]
            self.layers = nn.Sequential(*layers[:-1])

        def forward(self, input):
            return {"output": self.layers(input)}

    network = {"encoder": Encoder, "feed-forward": FeedForward}[kind](config)
    outputs = {"encoder": ["last_hidden_state"], "feed-forward": ["output"]}[kind]
    return network, outputs
