# Requests that come by a schedule and are answered one batch after the other; the rules are those of the other workers.

# The longest that trying batch sizes before the start may take, in nanoseconds; the largest and 1 are always tried.
TRYING = 5_000_000_000


class Arrivals:
    """When requests come, and when no more do. It never moves its schedule."""

    def __init__(self, plan):
        self.kind, described = next(iter(plan["source"].items()))
        self.moments = described if self.kind == "open" else []
        self.users = described.get("users", 0) if self.kind == "closed" else 0
        self.streams = described.get("streams", 0) if self.kind == "bursts" else 0
        self.free = [0] * (self.users or self.streams)
        self.most, self.until, self.backlog = plan["max_requests"], plan["until"], plan["backlog"]
        self.cap = plan["max_in_flight"]
        self.sent = self.flying = self.released = 0
        self.overrun = False

    def take(self, now):
        """The next request that is wanted by now, as (scheduled, ready); else when the next one comes; else nothing."""
        if self.sent >= self.most or now >= self.until or self.overrun:
            return None
        if self.kind == "open":
            if self.sent >= len(self.moments):
                return None
            moment = self.moments[self.sent]
            if moment > now:
                return min(moment, self.until)
            if self.is_overrun(now):
                self.overrun = True
                return None
            if self.cap is not None and self.flying >= self.cap:
                return None
        elif self.free:
            moment = self.free.pop(0)
        else:
            return None
        self.sent += 1
        self.flying += 1
        return moment, max(moment, self.released)

    def is_overrun(self, now):
        if self.backlog is None:
            return False
        place = self.sent + max(self.backlog - self.flying, 0)
        return place < len(self.moments) and self.moments[place] <= now

    def answered(self, now):
        if self.cap is not None and self.flying >= self.cap:
            self.released = now
        self.flying -= 1
        if self.kind == "closed":
            self.free.append(now)
        elif self.kind == "bursts" and self.flying == 0:
            self.free = [now] * self.streams


class Serving:
    """A queue before the module."""

    def __init__(self, bench, job):
        plan = job["plan"]
        self.bench, self.arrivals = bench, Arrivals(plan)
        self.most, self.wait, self.drain = max(plan["batching"]["most"], 1), plan["batching"]["wait"], plan["drain"]
        self.values, self.by_row = list(getattr(bench, "values", [])), [spec["name"] in job["by_row"] for spec in bench.specs]
        self.texts, self.count = job.get("texts"), 0
        self.waiting, self.free, self.last, self.start = [], 0, 0, None
        self.idle = self.computing = 0
        self.done = False
        self.served = self.nothing()
        begin = time.perf_counter_ns()
        longest = None
        if self.texts is not None:
            # One text of each length; the last is the longest.
            one_of_each = {len(tokens): place for place, tokens in enumerate(self.texts["tokens"])}
            one_of_each = [one_of_each[length] for length in sorted(one_of_each)]
            longest = one_of_each[-1]
        for count in [self.most, 1] + list(range(2, self.most)):
            self.infer(count, longest if longest is None else [longest] * count)
            if time.perf_counter_ns() - begin > TRYING and count != self.most:
                break
        for text in one_of_each if longest is not None else []:
            if time.perf_counter_ns() - begin > TRYING:
                break
            self.infer(1, [text])

    @staticmethod
    def nothing():
        return {name: [] for name in ("scheduled", "began", "ended", "lag", "batch", "tokens", "length")}

    def infer(self, count, texts=None):
        """Answers so many requests: the first rows of what was drawn, or these texts."""
        bench = self.bench
        if self.values:
            bench.values = [value[:count] if cut else value for value, cut in zip(self.values, self.by_row)]
            if texts is not None:
                self.put(texts)
            bench.bind()
        bench.infer()

    def put(self, texts):
        """Puts texts into the inputs, each as long as the longest of them."""
        rows = [self.texts["tokens"][text] for text in texts]
        length = max([len(row) for row in rows] + [1])
        axes = dict(map(tuple, self.texts["by_length"]))
        for place, spec in enumerate(self.bench.specs):
            if spec["name"] in axes:
                self.bench.values[place] = self.bench.values[place].narrow(axes[spec["name"]], 0, length)
        padding, is_left = self.texts["padding"]["token"], self.texts["padding"]["is_left"]
        encoded = {"ids": [], "mask": [], "types": [[0] * length for _ in rows]}
        for row in rows:
            missing = length - len(row)
            for part, real, filled in (("ids", row, padding), ("mask", [1] * len(row), 0)):
                rest = [filled] * missing
                encoded[part].append(rest + list(real) if is_left else list(real) + rest)
        feed(self.bench.values, self.bench.specs, encoded)

    def following(self, count):
        """The texts of the next requests, whose lengths are noted."""
        if self.texts is None:
            return None
        order = self.texts["order"]
        texts = [order[(self.count + place) % len(order)] for place in range(count)]
        self.count += count
        lengths = [len(self.texts["tokens"][text]) for text in texts]
        self.served["tokens"] += lengths
        self.served["length"] += [max(lengths + [1])] * count
        return texts

    def now(self):
        return 0 if self.start is None else time.perf_counter_ns() - self.start

    def due(self):
        """When the next batch can begin if nothing more comes."""
        moment = self.waiting[0][1] + self.wait
        if len(self.waiting) >= self.most:
            moment = min(moment, self.waiting[self.most - 1][1])
        return max(moment, self.free)

    def go_on(self, budget):
        if self.start is None:
            self.start = time.perf_counter_ns()
        end = self.now() + budget["secs"] * 1_000_000_000 + budget["nanos"]
        while True:
            now = self.now()
            if now >= end:
                break
            following = self.arrivals.take(now)
            while isinstance(following, tuple):
                self.waiting.append(following)
                self.last = now
                following = self.arrivals.take(now)
            if not self.waiting and following is None or self.waiting and now - self.last > self.drain:
                self.done = True
                break
            due = self.due() if self.waiting else None
            if due is not None and now >= due:
                self.answer(min(len(self.waiting), self.most), due)
                continue
            moments = [moment for moment in (due, following, end) if moment is not None]
            begin = time.perf_counter_ns()
            time.sleep(max(min(moments) - self.now(), 0) / 1e9)
            self.idle += time.perf_counter_ns() - begin
        return self.report()

    def answer(self, count, due):
        began = self.now()
        self.infer(count, self.following(count))
        ended = self.now()
        self.computing += ended - began
        for scheduled, _ in self.waiting[:count]:
            for name, value in zip(self.served, (scheduled, began, ended, max(began - due, 0), count)):
                self.served[name].append(value)
            self.arrivals.answered(ended)
        del self.waiting[:count]
        self.free = ended

    def report(self):
        now = self.now()
        served, self.served = self.served, self.nothing()
        return {
            "answer": "served",
            "requests": served,
            "now": now,
            "waiting": len(self.waiting),
            "own": max(now - self.computing - self.idle, 0),
            "is_done": self.done,
            "is_overrun": self.arrivals.overrun,
        }
