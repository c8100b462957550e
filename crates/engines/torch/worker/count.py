# What one inference of a module costs: every operator is seen as it runs, once, after the timing.
#
# The convention is that of our graphs: a multiply-add is 2, a function 1 an element, a reduction 1 an element it reads,
# what only moves elements 0. PyTorch's own formulas count products and convolutions.

# Operations an element of the output; what PyTorch tags as pointwise and is not here counts 1.
EACH_MADE = {
    "gelu": 5,
    "silu": 2,
    "mish": 3,
    "hardswish": 4,
    "_softmax": 5,
    "_log_softmax": 5,
    "_safe_softmax": 5,
    "native_layer_norm": 7,
    "native_group_norm": 7,
    "_fused_rms_norm": 4,
    "rms_norm": 4,
    "batch_norm": 2,
    "_batch_norm_no_update": 2,
    "_native_batch_norm_legit_no_training": 2,
    "native_batch_norm": 2,
    "cudnn_batch_norm": 2,
    "miopen_batch_norm": 2,
    "_weight_norm_interface": 4,
    "cumsum": 1,
    "cumprod": 1,
}

# Operations an element of the first input; what PyTorch tags as a reduction and is not here counts 1.
EACH_READ = {
    "mean": 1,
    "sum": 1,
    "prod": 1,
    "amax": 1,
    "amin": 1,
    "argmax": 1,
    "argmin": 1,
    "max": 1,
    "min": 1,
    "topk": 1,
    "var": 4,
    "var_mean": 4,
    "std": 5,
    "linalg_vector_norm": 2,
    "norm": 2,
    "logsumexp": 2,
    "_adaptive_avg_pool2d": 1,
    "_adaptive_avg_pool3d": 1,
    "adaptive_max_pool2d": 1,
}

# Pools: the operators with the place of the kernel among their arguments.
POOLS = {"max_pool2d_with_indices": 1, "max_pool3d_with_indices": 1, "avg_pool2d": 1, "avg_pool3d": 1, "mkldnn_max_pool2d": 1}

# What moves, makes or picks elements and computes nothing.
MOVES = frozenset(
    """_to_copy _unsafe_view _local_scalar_dense _reshape_copy _assert_async _assert_tensor_metadata alias_copy arange
    arange_start as_strided as_strided_copy bernoulli cat clone constant_pad_nd contiguous copy detach
    diagonal_copy embedding empty empty_like empty_strided expand_copy eye fill flip full full_like gather index
    index_put index_select is_same_size isin item lift lift_fresh lift_fresh_copy linspace masked_fill
    masked_scatter masked_select native_dropout new_empty new_empty_strided new_full new_ones new_zeros
    nonzero ones ones_like permute_copy pixel_shuffle pixel_unshuffle rand randn randint reflection_pad1d
    reflection_pad2d repeat repeat_interleave replication_pad1d replication_pad2d resize roll scalar_tensor scatter
    select_copy select_scatter set slice_copy slice_scatter sort split_copy split_with_sizes_copy squeeze_copy
    stack sym_numel sym_size sym_stride t_copy transpose_copy tril triu unbind_copy unfold_copy unsqueeze_copy
    upsample_nearest1d upsample_nearest2d upsample_nearest3d view_copy where zero zeros zeros_like
    _sparse_coo_tensor_unsafe channel_shuffle im2col col2im""".split()
)

# Attention in one operator: its scores, before they meet the values.
ATTENTION = "_scaled_dot_product"


def count(bench):
    """What the module holds, and what one inference of it costs; a number that cannot be had says why."""
    module = bench.module
    values = [*module.parameters(), *module.buffers()]
    packed, packed_bytes = packed_weights(module)
    found = {
        "parameters": sum(size_of(value) for value in unique(module.parameters())) + packed,
        "weight_bytes": sum(storages(values).values()) + packed_bytes,
    }
    fast = torch.backends.mha.get_fastpath_enabled()
    # Fused encoder layers and recurrent layers are one operator that shows nothing of what it does.
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with torch.backends.mkldnn.flags(enabled=False):
            found["work"] = tally(bench).work()
    except Exception as error:
        found["why"] = "PyTorch could not count the operations: %s" % (causes_of(error) or [spell(error)])[0]
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    return {"answer": "counted", "count": found}


def unique(values):
    return {id(value): value for value in values}.values()


def size_of(value):
    try:
        return value.numel()
    except Exception:
        # One that gets its shape at the first call, and was never called.
        return 0


def packed_weights(module):
    """Weights of int8 layers, which are neither parameters nor buffers: how many, and their bytes."""
    count = size = 0
    for part in module.modules():
        if not type(part).__module__.startswith("torch.ao.nn.quantized"):
            continue
        for name in ("weight", "bias"):
            value = getattr(part, name, None)
            value = value() if callable(value) else value
            if isinstance(value, torch.Tensor):
                count += value.numel()
                size += value.numel() * value.element_size()
    return count, size


def tally(bench):
    """Runs the module once under a mode that sees every operator."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import flop_registry

    class Tally(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.flops = self.read = self.written = 0
            self.costly = self.counted = self.peak = 0
            self.live, self.uncounted = {}, {}

        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            keywords = keywords or {}
            packet = function._overloadpacket
            name = packet.__name__
            if packet not in flop_registry and base_name(name) not in MOVES and base_name(name) not in EACH_MADE:
                # What is made of other operators runs as those.
                with self:
                    result = function.decompose(*arguments, **keywords)
                if result is not NotImplemented:
                    return result
            result = function(*arguments, **keywords)
            if not is_view(function):
                self.note(packet, name, function, arguments, keywords, result)
            return result

        def note(self, packet, name, function, arguments, keywords, result):
            made, taken = tensors_in(result), tensors_in((arguments, keywords))
            written = sum(bytes_of(value) for value in made)
            self.written += written
            if name in ("embedding", "index_select", "gather", "index"):
                self.read += written + sum(bytes_of(value) for value in taken[1:])
            elif name not in ("empty", "full", "zeros", "ones", "arange"):
                self.read += sum(bytes_of(value) for value in unique(taken))
            self.hold(made, taken)
            flops = operations(packet, name, function, arguments, keywords, result, made, taken)
            if flops is None:
                self.uncounted[name] = self.uncounted.get(name, 0) + 1
                self.costly += 1
            elif flops is not False:
                self.flops += flops
                self.costly += 1
                self.counted += 1

        def hold(self, made, taken):
            """Which memory of this run is alive, and the most of it so far."""
            from torch.multiprocessing.reductions import StorageWeakRef

            self.live = {key: held for key, held in self.live.items() if not held[0].expired()}
            known = storages(taken)
            for pointer, size in storages(made).items():
                # What an operator wrote in place was there before.
                if pointer not in known and size:
                    value = next(value for value in made if pointer in storages([value]))
                    self.live[pointer] = (StorageWeakRef(value.untyped_storage()), size)
            self.peak = max(self.peak, sum(size for _, size in self.live.values()))

        def work(self):
            return {
                "flops": int(self.flops),
                "coverage": self.counted / self.costly if self.costly else None,
                "bytes_read": self.read,
                "bytes_written": self.written,
                "activation_peak": self.peak,
                "uncounted": sorted(self.uncounted),
            }

    def operations(packet, name, function, arguments, keywords, result, made, taken):
        """A number, `None` where nobody knows it, `False` where there is nothing to count."""
        elements = made[0].numel() if made else 0
        if packet in flop_registry:
            flops = flop_registry[packet](*arguments, **keywords, out_val=result)
            if name.startswith(ATTENTION):
                query, key = taken[0].shape, taken[1].shape
                scores = taken[0].numel() // query[-1] * key[-2]
                masked = keywords.get("attn_mask", keywords.get("attn_bias")) is not None
                return flops + scores * (6 + masked)
            has_bias = name in ("addmm", "baddbmm") or "convolution" in name and len(taken) > 2
            return flops + (elements if has_bias else 0)
        if base_name(name) in MOVES:
            return False
        if name.startswith("linear_dynamic"):
            # Products of int8 layers.
            return elements * (2 * taken[0].shape[-1] + has_packed_bias(arguments[1]))
        if name in POOLS:
            window = arguments[POOLS[name]] if len(arguments) > POOLS[name] else 1
            window = [window] if isinstance(window, int) else window
            size = 1
            for side in window:
                size *= side
            return elements * size
        if base_name(name) in EACH_MADE:
            return elements * EACH_MADE[base_name(name)]
        if base_name(name) in EACH_READ:
            return taken[0].numel() * EACH_READ[base_name(name)] if taken else None
        tags = getattr(function, "tags", ())
        if torch.Tag.pointwise in tags:
            return elements
        if getattr(torch.Tag, "reduction", None) in tags:
            return taken[0].numel() if taken else None
        return None

    seen = Tally()
    bench.result = None
    with seen:
        result = bench.module(*bench.call.arguments, **bench.call.keywords)
    bench.place.wait()
    del result
    return seen


def base_name(name):
    """The operator's name; one that writes in place is called with an underscore behind it."""
    return name[:-1] if name.endswith("_") else name


def has_packed_bias(packed):
    try:
        return packed.unpack()[1] is not None
    except Exception:
        return False


def is_view(function):
    schema = function._schema
    return not schema.is_mutable and any(value.alias_info is not None for value in schema.returns)


def tensors_in(values):
    found, open_values = [], [values]
    while open_values:
        value = open_values.pop(0)
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, dict):
            open_values[:0] = value.values()
        elif isinstance(value, (tuple, list)):
            open_values[:0] = value
    return found


def bytes_of(value):
    return value.numel() * value.element_size()
