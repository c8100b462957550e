# From the job's description to a module in memory: imports first, outside the clock, then what is timed.


def remark(code, text):
    """What a reader of the results must know, with the code of `types::RemarkCode` that it goes by."""
    return {"code": code, "text": text}


class Plan:
    """How a module is made: `prepare` imports and checks, `make` is timed."""

    # Whether inputs may be given in the order of `forward`'s parameters where their names are others.
    by_order = False
    # Whether parts of the module can be looked at one by one.
    has_parts = True
    # Inputs that are left out where the module does not take them.
    optional = ()

    def __init__(self, job):
        self.job = job
        self.options = job["request"].get("options") or {}
        self.module = job["request"]["module"]
        self.versions = {}
        # What a reader of the results must know.
        self.remarks = []

    def check(self):
        """What can be refused before PyTorch is imported."""

    def prepare(self):
        """Imports."""

    def make(self, dtype):
        """The module on the cpu, and the names its outputs will have."""
        raise NotImplementedError

    def cast(self, module, dtype):
        """The module in the number format asked for; where weights are filled in, they have it already."""
        return module

    def switch(self, module):
        """Nothing is trained here."""
        module.eval()

    def example(self):
        """Inputs that the model itself brings."""
        return None


class WeightedPlan(Plan):
    """A module whose weights are those of our graph."""

    def check(self):
        weights = self.module["weights"]
        self.tensors = weights["tensors"]
        self.file = TensorFile(weights["file"], "bad-model")
        try:
            self.config = json.loads(self.module["config"])
        except ValueError as error:
            raise Failure("bad-model", "the configuration is not JSON", [spell(error)])


class ReferencePlan(WeightedPlan):
    """Our own small networks."""

    def make(self, dtype):
        with without_values():
            module, outputs = reference_network(self.module["kind"], self.config)
        fill(module, self.file, self.tensors, dtype)
        return module, outputs


class TransformersPlan(WeightedPlan):
    """A class of `transformers`."""

    def prepare(self):
        try:
            import transformers
        except ImportError as error:
            raise Failure(
                "unavailable",
                "this Python has no `transformers`, which `%s` is a class of" % self.module["class"],
                causes_of(error),
                "`%s -m pip install transformers`" % sys.executable,
            )
        self.versions["transformers"] = transformers.__version__
        transformers.logging.set_verbosity_error()
        name = self.module["class"]
        try:
            self.kind = class_of(transformers, name, self.config["model_type"])
            configuration = transformers.CONFIG_MAPPING[self.config["model_type"]]
        except (AttributeError, KeyError, ImportError) as error:
            raise Failure(
                "bad-model",
                "`transformers` %s has no `%s`" % (transformers.__version__, name),
                causes_of(error),
                "`%s -m pip install --upgrade transformers`" % sys.executable,
            )
        config = dict(self.config)
        # How the weights were saved is of no interest: they are here already, in fp32.
        for key in ("architectures", "torch_dtype", "dtype", "quantization_config", "transformers_version"):
            config.pop(key, None)
        # What the graph does not give, the module shall not compute either.
        config.update(use_cache=False, output_attentions=False, output_hidden_states=False, return_dict=True)
        self.configuration = configuration.from_dict(config)
        self.model_output = transformers.utils.ModelOutput

    def make(self, dtype):
        with without_values():
            module = self.kind(self.configuration)
            module.tie_weights()
        fill(module, self.file, self.tensors, dtype)
        return module, output_fields(module.forward, self.model_output)


def class_of(transformers, name, family):
    """A class by its name; a part of a model, such as an encoder alone, is only in the file of its family."""
    found = getattr(transformers, name, None)
    if found is None:
        import importlib

        family = family.replace("-", "_")
        found = getattr(importlib.import_module("transformers.models.%s.modeling_%s" % (family, family)), name)
    return found


class FactoryPlan(Plan):
    """A user's own function."""

    by_order = True

    def check(self):
        self.path = self.module["file"]
        if not os.path.isfile(self.path):
            raise Failure("bad-model", "`%s` does not exist" % self.path)

    def prepare(self):
        import importlib.util

        sys.path.insert(0, os.path.dirname(os.path.abspath(self.path)))
        name = os.path.splitext(os.path.basename(self.path))[0]
        spec = importlib.util.spec_from_file_location(name, self.path)
        if spec is None:
            raise Failure("bad-model", "`%s` is not a Python file" % self.path, hint="its name must end in `.py`")
        code = importlib.util.module_from_spec(spec)
        sys.modules[name] = code
        # Measuring leaves no `__pycache__` in other people's folders.
        sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
        try:
            spec.loader.exec_module(code)
        except (Exception, SystemExit) as error:
            traceback.print_exception(type(error), error, error.__traceback__, limit=-2)
            raise Failure("bad-model", "could not import `%s`" % self.path, causes_of(error))
        finally:
            sys.dont_write_bytecode = before
        function = self.module["function"]
        self.function = getattr(code, function, None)
        if not callable(self.function):
            known = sorted(name for name, value in vars(code).items() if is_function_of(value, code))
            hint = "it has %s" % quoted(known, 12) if known else None
            raise Failure("bad-model", "`%s` has no function `%s`" % (self.path, function), hint=hint)
        self.code = code

    def make(self, dtype):
        module = call_user("`%s` failed" % self.module["function"], self.function)
        if not isinstance(module, torch.nn.Module):
            raise Failure(
                "bad-model",
                "`%s` returned %s, not a `torch.nn.Module`" % (self.module["function"], type(module).__name__),
            )
        self.has_parts = not isinstance(module, torch.jit.ScriptModule)
        return module, ["output"]

    def cast(self, module, dtype):
        return module if dtype == torch.float32 else module.to(dtype)

    def example(self):
        example = getattr(self.code, "example_inputs", None)
        if not callable(example):
            raise Failure(
                "bad-input",
                "the inputs of the module are unknown",
                hint="give `--input name=1x3x224x224`, or let `%s` define `example_inputs()`" % self.path,
            )
        return call_user("`example_inputs` failed", example)


def is_function_of(value, code):
    return callable(value) and not isinstance(value, type) and getattr(value, "__module__", None) == code.__name__


def call_user(message, function):
    """Calls somebody else's code; whatever it raises is an answer, not the end."""
    try:
        return function()
    except (Exception, SystemExit) as error:
        raise failure_of(error, message, "cpu")


PLANS = {
    "transformers": TransformersPlan,
    "encoder": ReferencePlan,
    "feed-forward": ReferencePlan,
    "factory": FactoryPlan,
}


def output_fields(forward, model_output):
    """The names of a class's outputs, as its `forward` promises them."""
    import dataclasses
    import inspect
    import typing

    function = inspect.unwrap(forward)
    annotation = inspect.signature(function).return_annotation
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, getattr(function, "__globals__", {}))
        except Exception:
            return ["output"]
    for kind in (annotation, *typing.get_args(annotation)):
        if isinstance(kind, type) and issubclass(kind, model_output):
            names = [field.name for field in dataclasses.fields(kind)]
            return [name for name in names if is_output(name)]
    return ["output"]


def is_output(name):
    """Whether a field of a `transformers` output is a result, not a cache, a loss or a look inside."""
    endings = ("loss", "past_key_values", "hidden_states", "attentions", "model_output")
    return not name.endswith(endings)
