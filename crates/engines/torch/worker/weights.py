# The very weights of our graph, put into a module that was made without any.

import contextlib


@contextlib.contextmanager
def without_values():
    """Modules made inside have parameters without memory; buffers are real, because modules compute them themselves."""
    register = torch.nn.Module.register_parameter

    def register_empty(module, name, parameter):
        # One that is empty already may be shared with another module, and must stay the same object.
        if parameter is not None and parameter.device.type != "meta":
            parameter = torch.nn.Parameter(parameter.detach().to("meta"), requires_grad=False)
        register(module, name, parameter)

    torch.nn.Module.register_parameter = register_empty
    try:
        yield
    finally:
        torch.nn.Module.register_parameter = register


def fill(module, file, tensors, dtype):
    """Gives every parameter its values; one without values, or values without a parameter, is refused."""
    parameters = dict(module.named_parameters(remove_duplicate=False))
    # Tied parameters are one object under several names.
    names_of = {}
    for name, parameter in parameters.items():
        names_of.setdefault(id(parameter), []).append(name)
    filled, strangers = {}, []
    for tensor in tensors:
        stored = tensor["stored"]
        name = next((name for name in tensor["names"] if name in parameters), None)
        if name is None:
            strangers.append(stored)
            continue
        parameter = parameters[name]
        if id(parameter) in filled:
            raise misfit("`%s` and `%s` are two weights of the graph and one of the module", filled[id(parameter)], stored)
        if stored not in file:
            raise file.damaged("it has no tensor `%s`" % stored)
        value = file.read(stored).to(dtype)
        value = value.t().contiguous() if tensor["transposed"] else value.clone()
        if value.shape != parameter.shape:
            shapes = "has shape %s in the graph, %s in the module" % (list(value.shape), list(parameter.shape))
            raise misfit("`%s` %s", stored, shapes)
        value = torch.nn.Parameter(value, requires_grad=False)
        for alias in names_of[id(parameter)]:
            put(module, alias, value)
        filled[id(parameter)] = stored
    if strangers:
        raise misfit("the module has no parameter for %s", quoted(strangers))
    empty = [names[0] for key, names in names_of.items() if key not in filled and parameters[names[0]].numel() > 0]
    if empty:
        raise misfit("the graph has no weight for the module's %s", quoted(empty))
    for key, names in names_of.items():
        if key not in filled:
            value = torch.nn.Parameter(torch.empty(parameters[names[0]].shape, dtype=dtype), requires_grad=False)
            for alias in names:
                put(module, alias, value)
    for name, buffer in module.state_dict().items():
        # Stored buffers follow the weights; those that a module computes for itself keep their own precision.
        if name not in parameters and buffer.is_floating_point():
            put(module, name, buffer.to(dtype))


def put(module, name, value):
    path, _, last = name.rpartition(".")
    setattr(module.get_submodule(path), last, value)


def misfit(text, *names):
    return Failure(
        "bad-model",
        "the weights do not fit the module",
        [text % names],
        "another version of `transformers` may fit; an `.onnx` export runs on the other engines",
    )
