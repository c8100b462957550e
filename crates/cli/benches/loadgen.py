"""MLPerf's LoadGen and `modelmeter load` on the same sleeping system: the same percentiles and the same verdicts?

    pip install mlcommons-loadgen && python crates/cli/benches/loadgen.py target/release/modelmeter

Every query takes its own time, 20 to 100 ms, whatever else goes on, so that the percentiles do not depend on anybody's schedule.
LoadGen asks the system in its own process, we ask it over HTTP.
"""

import array
import asyncio
import heapq
import itertools
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import mlperf_loadgen as loadgen

RATE, SECONDS = 100.0, 30
LIMITS = [110, 85]


def service(number):
    """Evenly spread over 20 to 100 ms, in an order that looks random."""
    return 0.020 + 0.080 * ((number * 7919) % 4001) / 4001


class Sleeper:
    """Answers every query after its time, from one thread."""

    def __init__(self):
        self.waiting, self.count, self.change = [], itertools.count(), threading.Condition()
        threading.Thread(target=self.answer, daemon=True).start()

    def issue(self, samples):
        with self.change:
            for sample in samples:
                end = time.monotonic() + service(next(self.count))
                heapq.heappush(self.waiting, (end, sample.id))
            self.change.notify()

    def answer(self):
        while True:
            with self.change:
                while not self.waiting:
                    self.change.wait()
                left = self.waiting[0][0] - time.monotonic()
                if left > 0:
                    self.change.wait(left)
                    continue
                sample = heapq.heappop(self.waiting)[1]
            loadgen.QuerySamplesComplete([loadgen.QuerySampleResponse(sample, 0, 0)])


def by_loadgen(limit, folder):
    settings = loadgen.TestSettings()
    settings.scenario = loadgen.TestScenario.Server
    settings.mode = loadgen.TestMode.PerformanceOnly
    settings.server_target_qps = RATE
    settings.server_target_latency_ns = int(limit * 1e6)
    settings.server_target_latency_percentile = 0.99
    # A schedule may end a little earlier than on average.
    settings.min_duration_ms = SECONDS * 800
    settings.min_query_count = int(RATE * SECONDS)
    settings.max_query_count = int(RATE * SECONDS)
    outputs = loadgen.LogOutputSettings()
    outputs.outdir, outputs.copy_summary_to_stdout = folder, False
    logging = loadgen.LogSettings()
    logging.log_output, logging.enable_trace = outputs, False
    sleeper = Sleeper()
    system = loadgen.ConstructSUT(sleeper.issue, lambda: None)
    library = loadgen.ConstructQSL(1024, 1024, lambda _: None, lambda _: None)
    loadgen.StartTestWithLogSettings(system, library, settings, logging)
    loadgen.DestroyQSL(library)
    loadgen.DestroySUT(system)
    summary = (Path(folder) / "mlperf_log_summary.txt").read_text()
    percentiles = {
        name: int(nanos) / 1e9
        for name, nanos in re.findall(r"([\d.]+) percentile latency \(ns\)\s*: (\d+)", summary)
    }
    valid = re.search(r"Result is : (\w+)", summary).group(1)
    return {name: percentiles[name] for name in ("50.00", "90.00", "99.00")}, valid


async def serve(ready):
    count = itertools.count()

    async def converse(reader, writer):
        while await reader.readline():
            while (await reader.readline()).strip():
                pass
            await asyncio.sleep(service(next(count)))
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(converse, "127.0.0.1", 0, backlog=4096)
    ready.append(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def by_modelmeter(program, limit, port, folder):
    file = Path(folder) / "load.json"
    command = [program, "load", "http://127.0.0.1:%d/" % port, "--protocol", "http", "--rate", "%g/s" % RATE]
    command += ["--duration", "%ds" % SECONDS, "--warmup", "0s", "--slo", "p99:%dms" % limit, "--no-store"]
    subprocess.run([*command, "--json", str(file)], stdout=subprocess.DEVNULL)
    load = json.loads(file.read_text())["loads"][0]
    row = next(row for row in load["load"]["latencies"] if row["metric"] == "e2e")
    summary = row["summary"]["value"]
    holds = load["load"]["limits"][0]["holds"]
    said = {True: "VALID", False: "INVALID", None: "cannot tell"}[holds]
    if not load["verdict"]["valid"]:
        said += " (load not valid: %s)" % "; ".join(r["text"] for r in load["verdict"]["reasons"] if r["invalidates"])
    return {"50.00": summary["median"], "90.00": summary["p90"], "99.00": summary["p99"]}, said


def main():
    ready = []
    threading.Thread(target=lambda: asyncio.run(serve(ready)), daemon=True).start()
    while not ready:
        time.sleep(0.01)
    for limit in LIMITS:
        with tempfile.TemporaryDirectory() as folder:
            theirs, verdict = by_loadgen(limit, folder)
            ours, said = by_modelmeter(sys.argv[1], limit, ready[0], folder)
        print("p99 <= %d ms: LoadGen %s, modelmeter %s" % (limit, verdict, said))
        for name in theirs:
            difference = ours[name] / theirs[name] - 1
            print("  p%s  %.3f ms  %.3f ms  %+.2f %%" % (name, theirs[name] * 1e3, ours[name] * 1e3, difference * 100))


main()
