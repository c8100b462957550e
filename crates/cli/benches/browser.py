"""Times that a page measures: is the reported median that of a second clock around the same inferences, and do nodes add up?

    python crates/cli/benches/browser.py target/release/modelmeter BROWSER [MODEL …]

BROWSER is a Chromium. `serve-bench` measures in it with ONNX Runtime Web in a wrapper that reads `performance.now` itself around every
`run` and sends its times here, past Modelmeter. Node times are those of `profile --layers`. The machine should do nothing else.
"""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

MODELS = ["small-transformer", "distilbert-base-uncased", "microsoft/resnet-50", "facebook/wav2vec2-base"]
RUNS, WARM_UP = 30, 3
SCRIPT = "ort.jspi.min.mjs"

WRAPPER = """
import * as ort from './original.mjs';
export * from './original.mjs';
export const InferenceSession = {
  async create(...args) {
    const session = await ort.InferenceSession.create(...args);
    const run = session.run.bind(session);
    session.run = async (...inputs) => {
      const begin = performance.now();
      const outputs = await run(...inputs);
      const time = performance.now() - begin;
      // Sent when whoever waits for the outputs has them.
      const send = () => fetch('http://127.0.0.1:PORT/', { method: 'POST', mode: 'no-cors', body: String(time) });
      setTimeout(() => send().catch(() => {}), 0);
      return outputs;
    };
    return session;
  },
};
"""


@contextlib.contextmanager
def second_clock():
    """A server that keeps the times it is sent, and its port."""
    times = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            times.append(float(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.send_header("Cross-Origin-Resource-Policy", "cross-origin")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield times, server.server_port
    finally:
        server.shutdown()


def wrapped_runtime(folder, port):
    """A folder for NODE_PATH: the installed runtime, whose script is wrapped."""
    home = Path(os.environ["HOME"])
    installed = sorted(home.glob(".local/share/modelmeter/engines/browser/*/ort"))[-1]
    package = folder / "node_modules" / "onnxruntime-web"
    dist = package / "dist"
    dist.mkdir(parents=True)
    for file in installed.iterdir():
        (dist / ("original.mjs" if file.name == SCRIPT else file.name)).symlink_to(file)
    (dist / SCRIPT).write_text(WRAPPER.replace("PORT", str(port)))
    (package / "package.json").write_text('{"version":"wrapped"}')
    return folder / "node_modules"


def processes_with(text):
    lines = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if text in line and str(os.getpid()) != entry.parent.name:
                lines.append(line[:100])
    return lines


def reported(program, browser, model, threads, folder):
    """The median that Modelmeter reports and that of the second clock, in milliseconds."""
    with second_clock() as (times, port):
        database = folder / "runs.db"
        # An installed runtime would come first, so this one is measured in a home without one.
        (folder / "home").mkdir()
        environment = {**os.environ, "HOME": str(folder / "home"), "NODE_PATH": str(wrapped_runtime(folder, port)),
                       "TMPDIR": str(folder)}
        command = [program, "serve-bench", model, "--devices", "wasm", "--threads", threads, "-b", "1",
                   "-n", str(RUNS), "-w", str(WARM_UP), "--db", database, "--json", "-"]
        command = [str(part) for part in command]
        child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        link = next(word for line in child.stderr for word in line.split() if word.startswith("http://"))
        threading.Thread(target=child.stderr.read, daemon=True).start()
        link = link.replace(link.split("/")[2].split(":")[0], "localhost", 1)
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-port=0"]
        page = subprocess.Popen([browser, *flags, f"--user-data-dir={folder / 'profile'}", link],
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            said = child.stdout.read()
            child.wait()
        finally:
            page.terminate()
            page.wait()
    found = json.loads(said)["runs"][0]["id"]
    report = subprocess.run([program, "report", found, "--db", str(database), "--json", "-"],
                            capture_output=True, text=True, check=True)
    # The last runs are those that count: others before them compared outputs, came first or warmed up.
    return json.loads(report.stdout)["latency"]["median"], statistics.median(times[-RUNS:])


def nodes(program, model, threads, folder):
    """The sum of the nodes as a share of the runs in which they were recorded."""
    command = [program, "profile", model, "--engine", "browser", "--device", "wasm", "--threads", str(threads), "-b", "1",
               "-n", str(RUNS), "--layers", "--no-store", "--json", "-"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "TMPDIR": str(folder)})
    layers = json.loads(said.stdout)["layers"]
    return layers["sum"] / layers["instrumented"]


def main():
    program, browser, *models = sys.argv[1:]
    program = str(Path(program).resolve())
    fine = True
    print("| model | threads | reported | second clock | apart | nodes ÷ run | left behind |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for model in models or MODELS:
        for threads in (1, 2):
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
                folder = Path(name)
                ours, theirs = reported(program, browser, model, threads, folder)
                share = nodes(program, model, threads, folder)
                left = len(processes_with(name))
            apart = ours / theirs - 1
            fine &= abs(apart) <= 0.05 and abs(share - 1) <= 0.1 and left == 0
            print(f"| {model} | {threads} | {ours:.2f} ms | {theirs:.2f} ms | {apart:+.1%} | {share:.3f} | {left} |", flush=True)
    sys.exit(0 if fine else 1)


main()
