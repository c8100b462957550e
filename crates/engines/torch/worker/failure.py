# What goes wrong, in words a person can act on.


def require(name, purpose, package=None):
    """A package of this Python, or a failure that says what installs it."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        name = name.partition(".")[0]
        raise Failure(
            "unavailable",
            "this Python has no `%s`, which %s" % (name, purpose),
            causes_of(error),
            "`%s -m pip install %s`" % (sys.executable, package or name),
        )


class Failure(Exception):
    """An answer to send instead of the one that was asked for; `kind` decides the exit code."""

    def __init__(self, kind, message, causes=(), hint=None):
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.causes = list(causes)
        self.hint = hint

    def answer(self):
        return {
            "answer": "failed",
            "kind": self.kind,
            "message": self.message,
            "causes": self.causes,
            "hint": self.hint,
        }


# A cause is one line in a report; PyTorch's can be pages.
LONGEST_CAUSE = 400


def spell(error):
    """An exception in one line."""
    text = " ".join(str(error).split())
    if len(text) > LONGEST_CAUSE:
        text = text[:LONGEST_CAUSE] + "…"
    name = type(error).__name__
    return "%s: %s" % (name, text) if text else name


def causes_of(error):
    """The exception and what it was raised from, outermost first."""
    causes = []
    while error is not None and len(causes) < 5:
        causes.append(spell(error))
        follows = error.__cause__
        if follows is None and not error.__suppress_context__:
            follows = error.__context__
        error = follows
    return causes


def is_out_of_memory(error):
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & {"MemoryError", "OutOfMemoryError"}) or "can't allocate memory" in str(error)


def failure_of(error, message, device):
    """Whatever was raised, as a failure."""
    if isinstance(error, Failure):
        return error
    # The last lines say where; the parent keeps the end of what is printed here.
    traceback.print_exception(type(error), error, error.__traceback__, limit=-4)
    if is_out_of_memory(error):
        return Failure(
            "failed", "out of memory on `%s`" % device, causes_of(error), "a smaller `--batch-size` needs less memory"
        )
    return Failure("failed", message, causes_of(error))


def quoted(names, most=5):
    """A list of names, cut where nobody would read on."""
    shown = ", ".join("`%s`" % name for name in names[:most])
    return shown if len(names) <= most else "%s and %d more" % (shown, len(names) - most)
