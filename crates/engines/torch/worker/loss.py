# What a training makes small: the labels, whether they fit the output, and the loss itself.

# What PyTorch leaves out of a mean of cross-entropies.
IGNORED = -100


class Goal:
    """The labels and the loss between them and one output of the module."""

    def __init__(self, job, place):
        training = job["training"]
        self.output, self.kind = training["output"], training["training"]["loss"]
        self.name = training["labels"]["name"]
        path = job.get("inputs_file")
        if path is None:
            raise Failure("bad-input", "there are no values for the labels `%s`" % self.name)
        file = TensorFile(path, "bad-input")
        if self.name not in file:
            raise Failure("bad-input", "`%s` has no values for the labels `%s`" % (path, self.name))
        labels = file.read(self.name).clone()
        self.smallest = self.largest = None
        if self.kind == "cross-entropy":
            labels = self.classes(labels)
        else:
            labels = labels.to(torch.float32)
        self.labels, self.is_checked = labels.to(place.device), False

    def classes(self, labels):
        if labels.is_floating_point():
            raise Failure(
                "bad-input",
                "cross-entropy needs classes, and the labels `%s` are %s" % (self.name, declared_name(labels.dtype)),
                hint="`--loss mse` compares with numbers",
            )
        labels = labels.to(torch.int64)
        counted = labels[labels != IGNORED]
        if counted.numel() == 0:
            raise Failure("bad-input", "there is no label among `%s` that counts" % self.name)
        self.smallest, self.largest = int(counted.min()), int(counted.max())
        return labels

    def shuffle(self, seed):
        """The same labels in another order."""
        self.labels = shuffled(self.labels, seed)

    def pick(self, result):
        """The output that the loss reads."""
        outputs = flatten(result)
        output = outputs.get(self.output)
        if output is None:
            hint = "it gives %s" % quoted(list(outputs), 12) if outputs else None
            raise Failure("bad-input", "the module gives no output `%s`" % self.output, hint=hint)
        if not self.is_checked:
            self.check(output)
            self.is_checked = True
        return output

    def check(self, output):
        """Refuses what does not fit, before any loss is computed: on a GPU a label out of range ends the process."""
        if not output.is_floating_point():
            raise Failure(
                "bad-input",
                "the output `%s` is %s, and no loss fits whole numbers" % (self.output, declared_name(output.dtype)),
            )
        if not output.requires_grad:
            raise Failure("bad-input", "the output `%s` depends on no weight that can be trained" % self.output)
        wanted = output.shape[:-1] if self.kind == "cross-entropy" else output.shape
        if self.labels.shape != wanted:
            shapes = (list(self.labels.shape), self.output, list(output.shape))
            raise Failure("bad-input", "labels of shape %s do not fit `%s` of shape %s" % shapes)
        if self.kind != "cross-entropy":
            return
        count = output.shape[-1]
        if self.largest >= count:
            raise Failure(
                "bad-input",
                "label %d is out of range: `%s` has %d classes" % (self.largest, self.output, count),
                hint="labels go from 0 to %d" % (count - 1),
            )
        if self.smallest < 0:
            raise Failure(
                "bad-input",
                "label %d is out of range: `%s` has %d classes" % (self.smallest, self.output, count),
                hint="labels go from 0 to %d; %d is ignored" % (count - 1, IGNORED),
            )

    def measure(self, output):
        """The loss, in fp32 whatever the output is in."""
        functional = torch.nn.functional
        if self.kind == "cross-entropy":
            rows = output.reshape(-1, output.shape[-1]).float()
            return functional.cross_entropy(rows, self.labels.reshape(-1), ignore_index=IGNORED)
        return functional.mse_loss(output.float(), self.labels)


def shuffled(value, seed):
    """The same numbers in another order, the same for the same seed."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(value.numel(), generator=generator).to(value.device)
    return value.flatten()[order].reshape(value.shape)
