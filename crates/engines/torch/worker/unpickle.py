# Pickled weights of a folder as one safetensors file.
#
# Only tensors are read (`weights_only`): a pickle that wants to run code is refused by PyTorch itself.

# What a training leaves beside the weights.
OF_TRAINING = ("scheduler", "optimizer", "optim", "training_args", "rng_state", "scaler", "trainer_state")


def unpickle(folder, path):
    """Writes the tensors of a folder's pickles into a file."""
    from pathlib import Path

    leave_network()
    import_torch()
    folder = Path(folder)
    files = sorted(folder.glob("pytorch_model*.bin")) or sorted([*folder.glob("*.pt"), *folder.glob("*.pth")])
    files = [file for file in files if not file.name.startswith(OF_TRAINING)]
    bound_memory(files)
    try:
        tensors = {}
        for file in files:
            read = torch.load(file, map_location="cpu", weights_only=True)
            read = read.get("state_dict", read)
            tensors.update({name: value for name, value in read.items() if isinstance(value, torch.Tensor)})
        write_pickled(tensors, path)
    except Exception as error:
        if is_out_of_memory(error):
            raise
        raise Failure("bad-model", "could not read the pickled weights in `%s`" % folder, causes_of_unpickling(error))
    return {"answer": "written"}


def causes_of_unpickling(error):
    """PyTorch's reason alone: around it, it recommends to run whatever code is in the file."""
    parts = str(error).split("WeightsUnpickler error:")
    if len(parts) == 1:
        return causes_of(error)
    lines = [line.strip() for line in parts[1].splitlines() if line.strip()]
    is_told = bool(lines) and not lines[0].startswith("Check the documentation")
    return ["%s: %s" % (type(error).__name__, lines[0] if is_told else "it is no pickle of tensors alone")]


def bound_memory(files):
    """A pickle of a few bytes may ask for any amount of memory: what it takes follows from the size of the files."""
    import resource

    most = 3 * sum(file.stat().st_size for file in files) + (4 << 30)
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    held = [limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min([most, *held]), hard))


def write_pickled(tensors, path):
    import struct

    names = {
        torch.float32: "F32",
        torch.float64: "F64",
        torch.float16: "F16",
        torch.bfloat16: "BF16",
        torch.int64: "I64",
        torch.int32: "I32",
        torch.int16: "I16",
        torch.int8: "I8",
        torch.uint8: "U8",
        torch.bool: "BOOL",
    }
    header, place = {}, 0
    for name, value in tensors.items():
        size = value.numel() * value.element_size()
        header[name] = {"dtype": names[value.dtype], "shape": list(value.shape), "data_offsets": [place, place + size]}
        place += size
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(head)))
        out.write(head)
        for value in tensors.values():
            # NumPy knows no bfloat16, but everybody knows bytes.
            out.write(value.contiguous().flatten().view(torch.uint8).numpy().tobytes())
