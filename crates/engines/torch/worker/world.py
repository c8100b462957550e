# Several processes that train together: the worker that was started is rank 0, and starts and watches the others.
#
# The others are workers too, with this very script. Rank 0 tells them each step through their standard streams, and
# their gradients meet over the loopback device or between GPUs. When one dies or hangs, all of them end.

import threading

# How long nobody worries: until two steps are done, and for a process that is stopped from outside, in seconds.
PATIENCE_AT_FIRST, PATIENCE_WITH_STOPPED = 600, 5
# A rank that needs so much longer than the longest step so far hangs; and never less than so many seconds.
PATIENCE_TIMES, LEAST_PATIENCE = 20, 30
# How often the ranks are looked after, in seconds, and how long rank 0 may take to notice what became of them.
GLANCE, NOTICE = 0.2, 10


class Rank:
    """Another process that trains the same model."""

    def __init__(self, number, command):
        import subprocess

        self.number, self.nanos, self.stopped, self.failure = number, [], 0, None
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def tell(self, ask):
        self.process.stdin.write(json.dumps(ask).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        if not line.endswith(b"\n"):
            raise EOFError("rank %d did not answer" % self.number)
        answer = json.loads(line)
        if answer["answer"] == "failed":
            message = "rank %d: %s" % (self.number, answer["message"])
            self.failure = Failure(answer["kind"], message, answer["causes"], answer["hint"])
            raise EOFError("rank %d goes" % self.number)
        return answer

    def is_stopped(self):
        try:
            with open("/proc/%d/stat" % self.process.pid) as file:
                return file.read().rpartition(")")[2].split()[0] in ("T", "t")
        except OSError:
            return False

    def exit_failure(self, code):
        """Why a rank ended: the failure it reported, or its exit code or signal."""
        try:
            while code >= 0 and self.failure is None:
                self.hear()
        except (EOFError, ValueError):
            pass
        if self.failure is not None:
            return self.failure
        if code >= 0:
            return Failure("failed", "rank %d ended with exit code %d" % (self.number, code))
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = "signal %d" % -code
        hint = "the kernel kills processes that use too much memory: a smaller `--batch-size` or `--world-size` needs less"
        return Failure(
            "failed", "rank %d was killed by %s" % (self.number, name), hint=hint if name == "SIGKILL" else None
        )

    def end(self):
        try:
            self.process.kill()
            self.process.wait()
        except OSError:
            pass


class World:
    """All ranks but this one."""

    def __init__(self, job, size):
        self.trouble, self.busy, self.ended, self.steps, self.longest = None, None, False, 0, 0.0
        self.ranks, self.device = [], job["request"]["device"]
        interface = "lo" if sys.platform.startswith("linux") else "lo0"
        for family in ("GLOO", "NCCL"):
            os.environ.setdefault(family + "_SOCKET_IFNAME", interface)
        command = own_command()
        try:
            for number in range(1, size):
                self.ranks.append(Rank(number, command))
                self.ranks[-1].tell(job_of_rank(job, number, size))
        except BaseException:
            self.end()
            raise
        threading.Thread(target=self.watch, daemon=True).start()

    def together(self, ask, work):
        """Lets every rank do the same, and waits for all; returns what this one found and what the others answer."""
        if self.trouble is not None:
            raise self.trouble
        self.busy = time.monotonic()
        try:
            if ask is not None:
                for rank in self.ranks:
                    rank.tell(ask)
            own = work()
            return own, [rank.hear() for rank in self.ranks]
        except Exception as error:
            self.explain(error)
        finally:
            self.busy = None

    def explain(self, error):
        """Raises the reason why a common work failed; the others are over then."""
        if isinstance(error, Failure):
            self.trouble = error
        until = time.monotonic() + 5 * GLANCE
        while self.trouble is None and time.monotonic() < until:
            # A connection breaks before anybody has seen what became of the process behind it.
            time.sleep(GLANCE / 4)
        self.trouble = self.trouble or failure_of(error, "training with the other ranks failed", self.device)
        self.end()
        raise self.trouble

    def greet(self):
        """Waits until every rank has greeted and loaded its module."""
        for _ in ("hello", "loaded"):
            self.together(None, lambda: None)

    def step(self, work):
        begin = time.monotonic()
        own, answers = self.together({"ask": "step"}, work)
        self.longest = max(self.longest, time.monotonic() - begin)
        for rank, answer in zip(self.ranks, answers):
            rank.nanos.append(answer["nanos"])
        self.steps += 1
        return own

    def patience(self):
        if self.steps < 2:
            return PATIENCE_AT_FIRST
        return max(LEAST_PATIENCE, PATIENCE_TIMES * self.longest)

    def watch(self):
        """Ends everything when a rank dies or hangs; rank 0 then sees that its messages stay unanswered."""
        while not self.ended and self.trouble is None:
            time.sleep(GLANCE)
            found = self.look()
            if not self.ended:
                self.trouble = self.trouble or found
        if self.ended:
            return
        for rank in self.ranks:
            rank.end()
        time.sleep(NOTICE)
        if self.busy is not None:
            # Rank 0 waits for ever, as it does between GPUs: the answer is sent from here.
            send(self.trouble.answer())
            os._exit(1)

    def look(self):
        """What is wrong with the others."""
        if any(rank.process.poll() is not None for rank in self.ranks):
            # Whoever was connected to it goes too: all of them are seen now, and the first cause is told.
            time.sleep(GLANCE)
            ends = [(rank, rank.process.poll()) for rank in self.ranks]
            rank, code = min(((rank, code) for rank, code in ends if code is not None), key=lambda end: end[1])
            return rank.exit_failure(code)
        for rank in self.ranks:
            rank.stopped = rank.stopped + 1 if rank.is_stopped() else 0
            if rank.stopped * GLANCE >= PATIENCE_WITH_STOPPED:
                return Failure("failed", "rank %d hangs: its process is stopped" % rank.number)
        busy = self.busy
        if busy is not None and time.monotonic() - busy > self.patience():
            return Failure("failed", "the ranks did not finish a step within %.0f s" % self.patience())
        return None

    def end(self):
        self.ended = True
        for rank in self.ranks:
            rank.end()

    def report(self, trainer):
        """What the ranks did, in seconds."""
        own, _ = self.together({"ask": "reduce", "count": 9}, lambda: trainer.ring.reduce_alone(9))
        # The first of everything makes what the others find made.
        ring, steps = trainer.ring, [trainer.nanos] + [rank.nanos for rank in self.ranks]
        messages = ring.steps[1:] or ring.steps
        under_way = sum(step[0] for step in messages)
        alone = trainer.steps_alone(6)
        return {
            "backend": ring.backend,
            "steps": [seconds(nanos[1:] or nanos) for nanos in steps],
            "step_alone": seconds(alone[1:]),
            "all_reduce": seconds([step[0] for step in messages]),
            "all_reduce_alone": seconds(own[1:]),
            "overlap": sum(step[1] for step in messages) / under_way if under_way else 0.0,
            "bytes": 4 * sum(ring.sizes),
        }


def seconds(nanos):
    """The median."""
    import statistics

    return statistics.median(nanos) / 1e9 if nanos else 0.0


def own_command():
    """How this very process was started."""
    arguments = getattr(sys, "orig_argv", None)
    if arguments is None:
        # Before Python 3.10.
        try:
            with open("/proc/self/cmdline", "rb") as file:
                arguments = [os.fsdecode(part) for part in file.read().split(b"\0")[:-1]]
        except OSError as error:
            raise Failure("unsupported", "training in several processes needs Python 3.10", [spell(error)])
    return [sys.executable, *arguments[1:]]


def job_of_rank(job, number, size):
    """The same job on the rank's own device, with its share of the processors."""
    request = dict(job["request"])
    kind, _, index = request["device"].partition(":")
    if kind in ("cuda", "rocm"):
        request["device"] = "%s:%d" % (kind, int(index or 0) + number)
    elif kind == "cpu":
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        request["threads"] = max(1, min(request["threads"], cores // size))
    return dict(job, request=request, rank=number)


def load_world(job, size):
    """Loads the module in every rank and connects them."""
    kind = job["request"]["device"].partition(":")[0]
    if kind not in ("cpu", "cuda", "rocm"):
        raise Failure(
            "unsupported", "PyTorch trains in one process on `%s`" % kind, hint="omit `--world-size`"
        )
    world = World(job, size)
    try:
        trainer, report = load_one(job_of_rank(job, 0, size))
        import torch.distributed as distributed

        if not distributed.is_available():
            raise Failure("unsupported", "PyTorch %s was built without `torch.distributed`" % torch.__version__)
        world.greet()
        store = distributed.TCPStore("127.0.0.1", 0, size, is_master=True, wait_for_workers=False)
        ask = {"ask": "join", "port": store.port, "size": size}
        world.together(ask, lambda: trainer.join(store, size))
    except BaseException:
        world.end()
        leave_ring()
        raise
    trainer.world = world
    report["placement"] += ", %d ranks over %s" % (size, trainer.ring.backend)
    report["remarks"] += [
        remark("ranks", "every rank has a batch of its own: the same numbers in another order"),
        remark(
            "ranks",
            "the ranks passed through the model once before the first step, to learn which weights have gradients",
        ),
    ]
    return trainer, report


def leave_ring():
    """So that another try can make one."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        distributed.destroy_process_group()


def answer_rank(trainer, ask):
    """What rank 0 asks the others."""
    kind = ask["ask"]
    if kind == "join":
        store = torch.distributed.TCPStore("127.0.0.1", ask["port"], ask["size"], is_master=False)
        trainer.join(store, ask["size"])
        return {"answer": "joined"}
    if kind == "step":
        return {"answer": "stepped", "nanos": trainer.step_alone()["total"]}
    if kind == "reduce":
        trainer.ring.reduce_alone(ask["count"])
        return {"answer": "reduced"}
    raise Failure("failed", "unknown request for a rank: `%s`" % kind)
