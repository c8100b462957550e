# Named tensors in files, in the safetensors format, read and written by hand: no package is needed for it.


class TensorFile:
    """A file in the safetensors format, mapped; checked whole before anything of it is used."""

    def __init__(self, path, kind):
        self.path, self.kind = path, kind
        try:
            self.size = os.path.getsize(path)
            with open(path, "rb") as file:
                length = int.from_bytes(file.read(8), "little")
                if self.size < 8 or length > self.size - 8:
                    raise self.damaged("it ends inside its header")
                header = json.loads(file.read(length))
        except OSError as error:
            raise Failure(kind, "could not read `%s`" % path, [spell(error)])
        except ValueError as error:
            raise self.damaged("its header is not JSON (%s)" % error)
        self.start = 8 + length
        header.pop("__metadata__", None)
        self.entries = header
        for name, entry in header.items():
            try:
                begin, end = entry["data_offsets"]
                whole = 0 <= begin <= end <= self.size - self.start and entry["dtype"] and entry["shape"] is not None
            except (KeyError, TypeError, ValueError):
                whole = False
            if not whole:
                raise self.damaged("it ends inside tensor `%s`" % name)
        self.map = None

    def damaged(self, why):
        return Failure(self.kind, "`%s` is damaged" % self.path, [why], "make or download the file again")

    def __contains__(self, name):
        return name in self.entries

    def read(self, name):
        """One tensor as a view into the file; to be copied before it is kept."""
        import mmap

        if self.map is None:
            with open(self.path, "rb") as file:
                # Private, so that PyTorch may believe it could write.
                self.map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        entry = self.entries[name]
        dtype = stored_types().get(entry["dtype"])
        if dtype is None:
            raise self.damaged("`%s` holds %s" % (name, entry["dtype"]))
        begin, end = entry["data_offsets"]
        count = 1
        for size in entry["shape"]:
            count *= size
        if count * dtype.itemsize != end - begin:
            raise self.damaged("`%s` has %d bytes for shape %s" % (name, end - begin, entry["shape"]))
        if count == 0:
            return torch.empty(entry["shape"], dtype=dtype)
        flat = torch.frombuffer(self.map, dtype=dtype, count=count, offset=self.start + begin)
        return flat.reshape(entry["shape"])


def stored_types():
    return {
        "F32": torch.float32,
        "F64": torch.float64,
        "F16": torch.float16,
        "BF16": torch.bfloat16,
        "I64": torch.int64,
        "I32": torch.int32,
        "I16": torch.int16,
        "I8": torch.int8,
        "U8": torch.uint8,
        "BOOL": torch.bool,
    }


def declared_type(dtype):
    """What an input recipe or a signature calls an element type, in PyTorch's words."""
    return stored_types()[dtype.upper()]


def declared_name(dtype):
    """PyTorch's element type in the protocol's words, where it has one."""
    names = {torch_type: name.lower() for name, torch_type in stored_types().items()}
    return names.get(dtype)


def write_tensors(path, tensors):
    """Writes tensors by name, each as it is."""
    import ctypes

    names = {torch_type: name for name, torch_type in stored_types().items()}
    header, parts, end = {}, [], 0
    for name, tensor in tensors.items():
        tensor = tensor.detach().to("cpu").contiguous()
        size = tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": names[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [end, end + size],
        }
        end += size
        parts.append((tensor, size))
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    try:
        with open(path, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for tensor, size in parts:
                if size:
                    file.write(ctypes.string_at(tensor.data_ptr(), size))
    except OSError as error:
        raise Failure("failed", "could not write `%s`" % path, [spell(error)])
