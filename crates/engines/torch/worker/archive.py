# Programs saved to a file: `torch.export`, TorchScript, and pickles, which are code.

# How the archives of the three begin to differ: names of files inside the zip.
EXPORT_MARKS = ("serialized_exported_program.json", "archive_format")
SCRIPT_MARK = "constants.pkl"
PICKLE_MARK = "data.pkl"


def archive_kind(path):
    """What a file holds, told without running any of it."""
    import zipfile

    if not os.path.isfile(path):
        raise Failure("bad-model", "`%s` does not exist" % path)
    try:
        with open(path, "rb") as file:
            beginning = file.read(2)
        if beginning[:1] == b"\x80":
            return "pickle"
        with zipfile.ZipFile(path) as archive:
            files = [name.rsplit("/", 1)[-1] for name in archive.namelist()]
    except zipfile.BadZipFile as error:
        known = "it is truncated or damaged" if beginning == b"PK" else "it is not a PyTorch file"
        raise Failure("bad-model", "could not read `%s`" % path, [known, spell(error)], "save or download it again")
    except OSError as error:
        raise Failure("bad-model", "could not read `%s`" % path, [spell(error)])
    if SCRIPT_MARK in files:
        return "script"
    if any(mark in files for mark in EXPORT_MARKS):
        return "export"
    if PICKLE_MARK in files:
        return "pickle"
    raise Failure("bad-model", "`%s` contains no PyTorch program" % path)


class ArchivePlan(Plan):
    """A file that holds a whole program."""

    by_order = True
    has_parts = False

    def check(self):
        self.path = self.module["path"]
        self.kind = archive_kind(self.path)
        compile_mode = self.options.get("compile")
        if self.kind == "script" and compile_mode is not None:
            raise Failure(
                "unsupported", "TorchScript is already compiled; `torch.compile` does not take it", hint="omit `--compile`"
            )
        if self.kind == "pickle" and not self.options.get("allow_pickle"):
            raise Failure(
                "unsupported",
                "`%s` is a pickle, and a pickle can run any code when it is read" % self.path,
                hint="`--allow-pickle` reads it, for files you trust only; `torch.export.save` writes programs that "
                "run no code, safetensors contains weights only",
            )

    def prepare(self):
        if self.kind == "export":
            import torch.export
        elif self.kind == "pickle":
            # The classes inside are looked up by name; they usually lie beside the file.
            sys.path.insert(0, os.path.dirname(os.path.abspath(self.path)))

    def make(self, dtype):
        try:
            if self.kind == "script":
                return torch.jit.load(self.path, map_location="cpu"), ["output"]
            if self.kind == "export":
                return self.exported()
            module = torch.load(self.path, map_location="cpu", weights_only=False)
        except (Exception, SystemExit) as error:
            traceback.print_exception(type(error), error, error.__traceback__, limit=-4)
            raise Failure("bad-model", "could not load `%s`" % self.path, causes_of(error))
        if isinstance(module, dict):
            raise Failure(
                "bad-model",
                "`%s` contains weights and no program" % self.path,
                hint="`--torch-module file.py:function` takes a function that creates the module and loads them",
            )
        if not isinstance(module, torch.nn.Module):
            raise Failure("bad-model", "`%s` holds %s, not a `torch.nn.Module`" % (self.path, type(module).__name__))
        self.has_parts = not isinstance(module, torch.jit.ScriptModule)
        return module, ["output"]

    def switch(self, module):
        # An exported program is what it was when it was exported; it knows no such switch.
        if self.kind != "export":
            module.eval()

    def exported(self):
        program = torch.export.load(self.path)
        device = Place(self.job["request"]["device"]).device
        if device.type != "cpu":
            # An exported program keeps the device it was exported on, in its nodes too.
            from torch.export.passes import move_to_device_pass

            program = move_to_device_pass(program, device)
        positional, named = program.call_spec.in_spec.children()
        inputs = list(program.graph_signature.user_inputs)
        self.slots = [str(name) for name in inputs[: positional.num_leaves]]
        self.keywords = list(named.context)
        return program.module(), ["output"]


PLANS["archive"] = ArchivePlan
