"""Starts `tensorboard --logdir FOLDER`, asks its profiler plugin what it shows of the traces there, and stops it: FOLDER."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

PORT = 7198
PATIENCE = 90


def ask(path):
    with urllib.request.urlopen("http://127.0.0.1:%d/data/plugin/pytorch_profiler/%s" % (PORT, path), timeout=10) as answer:
        return json.load(answer)


def runs(server):
    """The runs, once they are loaded."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.poll() is None:
        try:
            found = ask("runs")
            if found["runs"] and not found["loading"]:
                return found["runs"]
        except (urllib.error.URLError, OSError, ValueError):
            pass
        time.sleep(0.5)
    sys.exit("TensorBoard shows nothing")


def main(folder):
    words = ["tensorboard", "--logdir", folder, "--host", "127.0.0.1", "--port", str(PORT)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen([sys.executable, "-m", "tensorboard.main", *words[1:]], **quiet)
    try:
        print("$", *words)
        for run in runs(server):
            name = urllib.parse.quote(run)
            print("run `%s`: %s" % (run, ", ".join(ask("views?run=" + name))))
            for worker in ask("workers?run=%s&view=Operator" % name):
                about = "run=%s&worker=%s&group_by=Operation" % (name, urllib.parse.quote(worker))
                spans = ask("spans?" + about)
                about += "&span=" + urllib.parse.quote(spans[0]) if spans else ""
                rows = ask("operation/table?" + about)["data"]
                print("worker `%s`: %d operators" % (worker, len(rows)))
                for row in sorted(rows, key=lambda row: -row["host_self_duration"])[:5]:
                    print("  %-24s %4d calls %10.0f µs" % (row["name"], row["calls"], row["host_self_duration"]))
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
