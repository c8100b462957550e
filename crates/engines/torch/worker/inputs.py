# Which value goes where when a module is called.


class Call:
    """The arguments of `forward`, by place and by name."""

    def __init__(self, slots):
        # For each input of the job: a place in the row of arguments, or a name.
        self.slots = slots
        self.arguments, self.keywords = [], {}
        self.constant = {}

    def bind(self, values):
        """Takes the values, in the order of the job's inputs."""
        places = [slot for slot in self.slots if isinstance(slot, int)]
        arguments = [None] * (max(places) + 1 if places else 0)
        keywords = dict(self.constant)
        for slot, value in zip(self.slots, values):
            if slot is None:
                # The module does without it.
                continue
            if isinstance(slot, int):
                arguments[slot] = value
            else:
                keywords[slot] = value
        self.arguments, self.keywords = arguments, keywords

    def bind_example(self, example):
        if isinstance(example, dict):
            self.keywords = example
        elif isinstance(example, (tuple, list)):
            self.arguments = list(example)
        else:
            self.arguments = [example]


class Parameters:
    """What `forward` takes."""

    def __init__(self, plan, module):
        self.positional, self.named, self.required = [], [], []
        self.any_name = self.any_count = False
        if hasattr(plan, "slots"):
            self.positional, self.named = plan.slots, plan.keywords
            self.required = self.positional + self.named
        elif isinstance(module, torch.jit.ScriptModule):
            for argument in module.forward.schema.arguments[1:]:
                self.positional.append(argument.name)
                if not argument.has_default_value():
                    self.required.append(argument.name)
        else:
            self.of_signature(module.forward)
        # A name nobody declared is taken along by `**kwargs` and ignored by most: only the user's own may mean it.
        self.any_name = self.any_name and plan.by_order

    def of_signature(self, forward):
        import inspect

        try:
            parameters = inspect.signature(forward).parameters.values()
        except (TypeError, ValueError):
            self.any_name = self.any_count = True
            return
        for parameter in parameters:
            if parameter.kind is parameter.VAR_POSITIONAL:
                self.any_count = True
            elif parameter.kind is parameter.VAR_KEYWORD:
                self.any_name = True
            else:
                by_name = parameter.kind is not parameter.POSITIONAL_ONLY
                (self.named if by_name else self.positional).append(parameter.name)
                if parameter.default is parameter.empty:
                    self.required.append(parameter.name)

    def slot(self, name):
        if name in self.named:
            return name
        if name in self.positional:
            return self.positional.index(name)
        return name if self.any_name else None


def plan_call(plan, module, specs):
    """Finds a place for every input, before any value is read."""
    parameters = Parameters(plan, module)
    names = [spec["name"] for spec in specs]
    slots = [parameters.slot(name) for name in names]
    unknown = [name for name, slot in zip(names, slots) if slot is None and name not in plan.optional]
    spare = [name for name, slot in zip(names, slots) if slot is None and name in plan.optional]
    plan.remarks += [remark("input-not-taken", "the module takes no `%s`" % name) for name in spare]
    row = parameters.positional + parameters.named
    if unknown and plan.by_order and len(unknown) == len(names):
        # None of the names is one of the module's: then they are names of the user's own, in order.
        if parameters.any_count or len(names) <= len(row):
            slots, unknown = list(range(len(names))), []
            row_missing = [name for name in row[len(names) :] if name in parameters.required]
        else:
            row_missing = []
    else:
        row_missing = [name for name in parameters.required if name not in names]
    if unknown:
        known = "it takes %s" % quoted(row, 12) if row else None
        raise Failure("bad-input", "the module has no input %s" % quoted(unknown), hint=known)
    if row_missing and specs:
        raise Failure(
            "bad-input",
            "the module needs %s too" % quoted(row_missing),
            hint="give every input: `--input %s=…`" % row_missing[0],
        )
    call = Call(slots)
    if "use_cache" in parameters.named and not plan.by_order:
        call.constant["use_cache"] = False
    return call


def read_inputs(job, replaced):
    """The drawn values, in the order of the job's inputs; `None` for those that text will replace."""
    specs = job["inputs"]
    needed = [spec for spec in specs if spec["role"] not in replaced]
    path = job.get("inputs_file")
    if path is None:
        if needed:
            names = quoted([spec["name"] for spec in needed])
            raise Failure("bad-input", "there are no values for %s" % names)
        return [None] * len(specs)
    file = TensorFile(path, "bad-input")
    values = []
    for spec in specs:
        if spec["role"] in replaced:
            values.append(None)
            continue
        if spec["name"] not in file:
            raise Failure("bad-input", "`%s` has no values for input `%s`" % (path, spec["name"]))
        values.append(file.read(spec["name"]).clone())
    return values


def floating_type(module):
    """The one floating type of a module's parameters, where there is one."""
    types = {parameter.dtype for parameter in module.parameters() if parameter.is_floating_point()}
    return types.pop() if len(types) == 1 else None


def to_device(value, device, dtype):
    """A value as the module takes it: floats in the module's own type, everything on its device."""
    if isinstance(value, torch.Tensor):
        if dtype is not None and value.is_floating_point():
            value = value.to(dtype)
        return value.to(device)
    if isinstance(value, dict):
        return {key: to_device(item, device, dtype) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(to_device(item, device, dtype) for item in value)
    return value
