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
    buffers = dict(module.named_buffers())
    values, strangers = {}, []
    for tensor in tensors:
        name = next((name for name in tensor["names"] if name in parameters or name in buffers), None)
        if name in buffers:
            # Statistics of a norm are kept with the weights.
            put(module, name, stored_value(file, tensor, buffers[name].shape, dtype))
        elif name is None:
            strangers.append(tensor["stored"])
        else:
            values[name] = stored_value(file, tensor, parameters[name].shape, dtype)
    if strangers:
        raise misfit("the module has no parameter for %s" % quoted(strangers))
    # Tied parameters are one object under several names, in the order of the modules.
    tied = {}
    for name, parameter in parameters.items():
        tied.setdefault(id(parameter), []).append(name)
    empty = []
    for names in tied.values():
        given = [name for name in names if name in values]
        if not given and parameters[names[0]].numel() > 0:
            empty.append(names[0])
            continue
        shared = values[given[0]] if given else torch.empty(parameters[names[0]].shape, dtype=dtype)
        shared = torch.nn.Parameter(shared, requires_grad=False)
        for name in names:
            # As `transformers` does it: a class may tie what a checkpoint keeps apart, and then the checkpoint counts.
            own = values.get(name)
            apart = own is not None and own.data_ptr() != shared.data_ptr() and not torch.equal(own, shared)
            put(module, name, torch.nn.Parameter(own, requires_grad=False) if apart else shared)
    if empty:
        raise misfit("the graph has no weight for the module's %s" % quoted(empty))
    for name, buffer in module.state_dict().items():
        # Stored buffers follow the weights; those that a module computes for itself keep their own precision.
        if name not in parameters and buffer.is_floating_point():
            put(module, name, buffer.to(dtype))


def stored_value(file, tensor, shape, dtype):
    """A parameter's values, turned and converted, in memory of their own."""
    stored = tensor["stored"]
    if stored not in file:
        raise file.damaged("it has no tensor `%s`" % stored)
    view = file.read(stored)
    value = view.to(dtype)
    if tensor["transposed"]:
        value = value.t().contiguous()
    if value.numel() > 0 and value.data_ptr() == view.data_ptr():
        value = value.clone()
    if value.shape != shape:
        shapes = (stored, list(value.shape), list(shape))
        raise misfit("`%s` has shape %s in the graph, %s in the module" % shapes)
    return value


def put(module, name, value):
    path, _, last = name.rpartition(".")
    setattr(module.get_submodule(path), last, value)


def misfit(why):
    return Failure(
        "bad-model",
        "the weights do not fit the module",
        [why],
        "another version of `transformers` may fit; an `.onnx` export runs on the other engines",
    )
