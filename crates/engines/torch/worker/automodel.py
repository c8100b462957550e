# A folder that `transformers` makes a module of, with the folder's own weights: for families that we build no graph for.


class FolderPlan(Plan):
    """The class that the folder's configuration names, else the one that `AutoModel` takes for it."""

    # Inputs that were read off the configuration and that a class may do without.
    optional = ("attention_mask",)

    def check(self):
        self.path = self.module["path"]
        if not os.path.isfile(os.path.join(self.path, "config.json")):
            raise Failure("bad-model", "`%s` has no `config.json`" % self.path)

    def prepare(self):
        transformers = import_transformers(self.path)
        self.versions["transformers"] = transformers.__version__
        transformers.logging.set_verbosity_error()
        if hasattr(transformers.logging, "disable_progress_bar"):
            transformers.logging.disable_progress_bar()
        try:
            # Code that lies in the folder is never run.
            self.config = transformers.AutoConfig.from_pretrained(
                self.path, local_files_only=True, trust_remote_code=False
            )
        except Exception as error:
            raise Failure(
                "bad-model",
                "`transformers` %s cannot read the configuration of `%s`" % (transformers.__version__, self.path),
                causes_of(error),
                "`%s -m pip install --upgrade transformers` may support it" % sys.executable,
            )
        for key, value in (("use_cache", False), ("output_attentions", False), ("output_hidden_states", False)):
            if hasattr(self.config, key):
                setattr(self.config, key, value)
        names = getattr(self.config, "architectures", None) or [None]
        self.kind = getattr(transformers, names[0] or "", None) or transformers.AutoModel
        self.model_output = transformers.utils.ModelOutput
        version = tuple(int(part) for part in transformers.__version__.split(".")[:2])
        self.type_key = "dtype" if version >= (4, 56) else "torch_dtype"

    def make(self, dtype):
        torch.manual_seed(self.job.get("seed") or 0)
        try:
            module, info = self.kind.from_pretrained(
                self.path,
                config=self.config,
                local_files_only=True,
                use_safetensors=True,
                output_loading_info=True,
                **{self.type_key: dtype},
            )
        except Exception as error:
            if is_out_of_memory(error):
                raise
            traceback.print_exception(type(error), error, error.__traceback__, limit=-4)
            raise Failure("bad-model", "`transformers` could not load `%s`" % self.path, causes_of(error))
        self.tell_missing(module, sorted(info.get("missing_keys") or ()))
        self.remarks.append(remark("module-class", "the module is `%s` of `transformers`" % type(module).__name__))
        return module, output_fields(module.forward, self.model_output)

    def tell_missing(self, module, missing):
        """Weights that the files do not hold were drawn; where that is all of them, they belong to something else."""
        parameters = dict(module.named_parameters())
        missing = [name for name in missing if name in parameters]
        if missing and len(missing) == len(parameters):
            raise Failure(
                "bad-model",
                "no weight of `%s` is in the files of `%s`" % (type(module).__name__, self.path),
                hint="the weights do not belong to this `config.json`; download both again",
            )
        if missing:
            text = "not in the checkpoint, set to random values: %s" % quoted(missing)
            self.remarks.append(remark("missing-weights", text))


def import_transformers(what):
    return require("transformers", "creates the module of `%s`" % what)


PLANS["folder"] = FolderPlan
