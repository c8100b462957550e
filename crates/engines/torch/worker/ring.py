# One rank among others: its gradients are averaged with theirs while it still computes, as PyTorch's
# `DistributedDataParallel` does it, and every message is timed.


class Ring:
    """A rank's place among the others."""

    def __init__(self, trainer, store, rank, size):
        import datetime

        import torch.distributed as distributed
        from torch.nn.parallel import DistributedDataParallel

        self.place, self.size, self.distributed = trainer.place, size, distributed
        self.backend = "gloo" if trainer.place.is_cpu else "nccl"
        trainer.freeze_untrained()
        # Whoever waits too long is ended from outside, with a reason.
        patience = datetime.timedelta(hours=1)
        distributed.init_process_group(self.backend, store=store, rank=rank, world_size=size, timeout=patience)
        self.module = DistributedDataParallel(trainer.alone)
        self.module.register_comm_hook(self, reduce_bucket)
        self.messages, self.steps, self.sizes = [], [], []

    def mark(self):
        """The time now: the host's, or a mark in the stream that is current."""
        if self.place.is_cpu:
            return time.perf_counter_ns()
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self.place.device))
        return event

    def close(self):
        """Ends a step, when its backward pass has ended: how long messages were under way, and how much of it hidden."""
        messages, self.messages = self.messages, []
        if not messages:
            return
        base = messages[0][0]
        since = (lambda mark: mark - base) if self.place.is_cpu else (lambda mark: base.elapsed_time(mark) * 1e6)
        spans = sorted((since(begin), since(end)) for begin, end, _ in messages)
        # The last message goes when the last gradient is there: from then on all that is left is waiting.
        computed = spans[-1][0]
        under_way = hidden = 0
        reached = spans[0][0]
        for begin, end in spans:
            begin, end = max(begin, reached), max(end, reached)
            under_way += end - begin
            hidden += max(min(end, computed) - begin, 0)
            reached = end
        self.steps.append((under_way, hidden))
        self.sizes = [size for _, _, size in messages]

    def reduce_alone(self, count):
        """Nanoseconds of so many rounds of the same messages with nothing else to do."""
        buffers = [torch.zeros(size, device=self.place.device) for size in self.sizes]
        rounds = []
        for _ in range(count):
            begin = time.perf_counter_ns()
            for work in [self.distributed.all_reduce(buffer, async_op=True) for buffer in buffers]:
                work.wait()
            self.place.wait()
            rounds.append(time.perf_counter_ns() - begin)
        return rounds


def reduce_bucket(ring, bucket):
    """Sends a bucket of gradients around; the same as PyTorch does by itself, and timed."""
    begin = ring.mark()
    numbers = bucket.buffer().div_(ring.size)
    future = ring.distributed.all_reduce(numbers, async_op=True).get_future()

    def arrived(future):
        ring.messages.append((begin, ring.mark(), numbers.numel()))
        return future.value()[0]

    return future.then(arrived)
