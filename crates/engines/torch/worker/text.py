# What surrounds an inference: text to token ids before it, outputs to an answer after it.

TOKEN_ROLES = {"token-ids": "ids", "attention-mask": "mask", "token-types": "types"}


class Tokeniser:
    """The model's own tokenizer; rows are cut and padded as everywhere in Modelmeter."""

    def __init__(self, job):
        self.lines, self.max_length = job["lines"], job["max_length"]
        if not self.lines:
            raise Failure("bad-input", "there is no text to encode")
        path = job["tokenizer"]
        os.environ["TOKENIZERS_PARALLELISM"] = "false"
        tokenizers = require("tokenizers", "reads `%s`" % path)
        try:
            self.tokenizer = tokenizers.Tokenizer.from_file(path)
        except Exception as error:
            raise Failure("bad-input", "could not read the tokenizer `%s`" % path, [spell(error)])
        padding, truncation = self.tokenizer.padding, self.tokenizer.truncation
        if padding:
            self.pad, self.pad_type = padding["pad_id"], padding["pad_type_id"]
            self.pad_left = padding["direction"].lower() == "left"
        else:
            self.pad, self.pad_type, self.pad_left = usual_pad(self.tokenizer, path), 0, False
        self.side = truncation["direction"].lower() if truncation else "right"
        # Both depend on the job, not on the file.
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.special = self.tokenizer.num_special_tokens_to_add(False)
        fast = getattr(self.tokenizer, "encode_batch_fast", self.tokenizer.encode_batch)
        self.encode_one = lambda line: fast([line], add_special_tokens=False)[0]

    def encode(self):
        """Token ids, mask and segments, each a list of rows."""
        rows = []
        for line in self.lines:
            row = self.encode_one(line)
            if self.max_length is not None:
                row.truncate(max(self.max_length - self.special, 0), direction=self.side)
            row = self.tokenizer.post_process(row)
            if self.max_length is not None:
                # Only where not even the special tokens fit.
                row.truncate(self.max_length, direction=self.side)
            rows.append(row)
        length = self.max_length
        if length is None:
            length = max(1, max(len(row.ids) for row in rows))
        encoded = {"ids": [], "mask": [], "types": [], "real": 0}
        for row in rows:
            count = len(row.ids)
            encoded["ids"].append(self.padded(row.ids, self.pad, length))
            encoded["types"].append(self.padded(row.type_ids, self.pad_type, length))
            encoded["mask"].append(self.padded([1] * count, 0, length))
            encoded["real"] += count
        return encoded

    def padded(self, row, pad, length):
        missing = [pad] * (length - len(row))
        return missing + row if self.pad_left else row + missing


def usual_pad(tokenizer, path):
    """The padding token of a tokenizer that names none."""
    try:
        with open(os.path.join(os.path.dirname(path), "config.json"), encoding="utf-8-sig") as file:
            pad = json.load(file).get("pad_token_id")
        if isinstance(pad, int) and pad >= 0:
            return pad
    except (OSError, ValueError, AttributeError):
        pass
    for token in ("[PAD]", "<pad>", "<|endoftext|>", "</s>"):
        pad = tokenizer.token_to_id(token)
        if pad is not None:
            return pad
    return 0


def feed(values, specs, encoded):
    """Puts encoded text into the inputs that take it, in the element type each was declared with."""
    for place, spec in enumerate(specs):
        part = TOKEN_ROLES.get(spec["role"])
        if part is not None:
            dtype = spec["dtype"] if spec["dtype"] in ("i32", "f32", "bool") else "i64"
            values[place] = torch.tensor(encoded[part], dtype=declared_type(dtype))


def postprocess(kind, output, mask):
    """From the first output to the answer, on the device and then to the host; other shapes give no answer."""
    if not output.is_floating_point():
        return None
    if kind == "mean-pool" and output.dim() == 3:
        if mask is not None and mask.shape == output.shape[:2]:
            output = output * mask.to(output.device).unsqueeze(-1)
        # Dividing by the count cancels out when the vector is scaled to length 1.
        return torch.nn.functional.normalize(output.sum(1), dim=-1).to("cpu")
    if kind == "argmax" and output.dim() in (2, 3):
        last = output[:, -1] if output.dim() == 3 else output
        return last.argmax(-1).to("cpu")
    return None
