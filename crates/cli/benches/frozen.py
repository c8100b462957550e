"""A server that answers at once and freezes for 2 of 20 seconds, at 100 requests a second: what does each load generator say?

    python crates/cli/benches/frozen.py target/release/modelmeter [oha] [k6]

Users who come during the freeze wait for its end: 10 % of all requests, evenly from 0 to 2 s. So the true percentiles are known:
p95 1.00 s, p99 1.80 s. The generators run one after the other against the same server, twice.
"""

import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

RATE, SECONDS, FREEZE = 100, 20, (8.0, 10.0)


class Server:
    def __init__(self):
        self.port, self.begin = None, None
        threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True).start()
        while self.port is None:
            time.sleep(0.01)

    async def serve(self):
        server = await asyncio.start_server(self.converse, "127.0.0.1", 0, backlog=4096)
        self.port = server.sockets[0].getsockname()[1]
        await server.serve_forever()

    async def converse(self, reader, writer):
        while await reader.readline():
            while (await reader.readline()).strip():
                pass
            # The clock of a load begins with its first request.
            now = time.monotonic()
            if self.begin is None:
                self.begin = now
            at = now - self.begin
            if FREEZE[0] <= at < FREEZE[1]:
                await asyncio.sleep(FREEZE[1] - at)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
            await writer.drain()
        writer.close()


def modelmeter(program, url, folder):
    file = Path(folder) / "load.json"
    command = [program, "load", url, "--protocol", "http", "--rate", "%d/s" % RATE, "--arrivals", "constant"]
    command += ["--duration", "%ds" % SECONDS, "--warmup", "0s", "--no-store", "--json", str(file)]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    load = json.loads(file.read_text())["loads"][0]["load"]
    summary = next(row for row in load["latencies"] if row["metric"] == "e2e")["summary"]["value"]
    return summary["p95"], summary["p99"], load["counts"]["scheduled"]


def oha(program, url, folder, correction=True):
    command = [program, url, "-q", str(RATE), "-z", "%ds" % SECONDS, "-c", "1000", "--no-tui", "--output-format", "json"]
    command += ["--latency-correction"] if correction else []
    told = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    found = json.loads(told)
    percentiles = found["latencyPercentiles"]
    return percentiles["p95"], percentiles["p99"], sum(found["statusCodeDistribution"].values())


def k6(program, url, folder):
    script = Path(folder) / "load.js"
    script.write_text(
        """
import http from 'k6/http';
export const options = {
  discardResponseBodies: true,
  summaryTrendStats: ['p(95)', 'p(99)', 'count'],
  scenarios: { load: { executor: 'constant-arrival-rate', rate: %d, timeUnit: '1s', duration: '%ds',
    preAllocatedVUs: %%d, maxVUs: %%d } },
};
export default function () { http.get('%s'); }
"""
        % (RATE, SECONDS, url)
        % (VUS, VUS)
    )
    summary = Path(folder) / "k6.json"
    subprocess.run([program, "run", "--quiet", "--summary-export", str(summary), str(script)],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    metrics = json.loads(summary.read_text())["metrics"]
    trend = metrics["http_req_duration"]
    return trend["p(95)"] / 1e3, trend["p(99)"] / 1e3, metrics["http_reqs"]["count"]


# Virtual users of k6: fewer than come during the freeze, so that iterations are dropped, as with its usual settings.
VUS = 20


def main():
    server = Server()
    url = "http://127.0.0.1:%d/" % server.port
    tools = [("modelmeter", sys.argv[1], modelmeter)]
    for name, run in (("oha", oha), ("k6", k6)):
        given = [word for word in sys.argv[2:] if Path(word).name == name]
        program = given[0] if given else shutil.which(name)
        if program:
            tools.append((name, program, run))
    print("%-12s %8s %8s %9s" % ("", "p95", "p99", "requests"))
    print("%-12s %7.2fs %7.2fs %9d" % ("true", 1.00, 1.80, RATE * SECONDS))
    for _ in range(2):
        for name, program, run in tools:
            server.begin = None
            with tempfile.TemporaryDirectory() as folder:
                p95, p99, count = run(program, url, folder)
            print("%-12s %7.2fs %7.2fs %9d" % (name, p95, p99, count), flush=True)


main()
