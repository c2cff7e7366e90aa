"""The requests of a Tandem process, and the memory that it shares."""

import ctypes
import mmap
import os
import zlib

from . import export, graph
from .optimizer import Optimizer
from .refused import Refused
from .state import kind, listed, read_state
from .trial import Trial


class Worker(Trial):
    """A module with the memory that it shares. A request is a method, whose answer is what it returns."""

    def __init__(self, config, reply, memory):
        self.reply, self.memory = reply, memory
        self.areas = {}  # by number: flat tensors of float32
        self.passes = {}
        self.bound = None  # the area of the values that the module has
        self.device_values = self.device_grads = None  # flat, on a device of its own
        self.current = None  # the pass whose backward runs
        super().__init__(config)
        self.optimizer = Optimizer(self, self.makes_optimizer) if self.makes_optimizer else None

    def describe(self, _):
        """Tries the module, and returns what Tandem must know of it."""
        cost = self.try_module()
        slots = self.optimizer and len(self.optimizer.entries)
        return {**self.layout(), "buckets": self.buckets, "own_loss": self.takes_labels, "slots": slots,
                "cost": cost, "torch": self.torch.__version__ + self.device.suffix(),
                "onnx": graph.possible(), "copies": self.device.copies}

    def map(self, request):
        """Maps more of the shared memory."""
        count = request["floats"]
        view = mmap.mmap(self.memory, 4 * count, offset=request["offset"])
        area = self.torch.frombuffer(view, dtype=self.torch.float32, count=count)
        self.device.pin(area)
        self.areas[request["area"]] = area

    def place(self, request):
        """Moves the module to the device of a rank."""
        before = self.device.own
        self.device.use_rank(request["rank"])
        if self.device.own != before:
            self.device_values = self.device_grads = None
            self.move()

    def init(self, request):
        """Writes fresh parameters, or those of a file, and returns the running statistics."""
        self.make_module(request["seed"] & (1 << 63) - 1)
        if "file" in request:
            self.load_state(request["file"])
        area = self.areas[request["area"]]
        with self.torch.no_grad():
            for (lo, hi), p in zip(self.places, self.parameters):
                area[lo:hi] = p.detach().reshape(-1)
        statistics = [b for m in self.norms for b in (m.running_mean, m.running_var)]
        return {"running": [value for b in statistics for value in b.tolist()]}

    def load_state(self, file):
        """Gives the module the state_dict of a file, or refuses one that is not its own."""
        given, own = read_state(self.torch, file), self.module.state_dict()
        of = f"{self.config['class']} of {os.path.basename(self.file)}"
        counts = {n for n in own if n.endswith(".num_batches_tracked")}  # unused, as the momentum is fixed
        lacks = [n for n in own if n not in given and n not in counts]
        others = [n for n in given if n not in own]
        if lacks or others:
            parts = [f"lacks {listed(lacks)} of {of}"] * bool(lacks)
            parts += [f"has {listed(others)}, which {of} lacks"] * bool(others)
            raise Refused(f"{file} {', and '.join(parts)}")
        written = set(self.names) | counts | {n for n, b in self.module.named_buffers() if self.of_norm(b)}
        for name, value in given.items():
            if value.shape != own[name].shape or value.dtype != own[name].dtype:
                raise Refused(f"{file}: {name} is {kind(value)}; {of} wants {kind(own[name])}")
            if value.is_floating_point() and not self.finite([value]):
                raise Refused(f"{file}: {name} has values that are NaN or infinite")
            if name not in written and not self.same(value, own[name]):
                raise Refused(f"{file}: buffer {name} has other values than the constructor of {of} gives "
                              "it; only parameters and the statistics of batch norm are kept")
        self.module.load_state_dict(given, strict=False)

    def of_norm(self, buffer):
        return any(buffer is b for m in self.norms for b in m.buffers())

    def save(self, request):
        """Writes the state_dict of a trained module to a file."""
        self.bind(request["area"])
        self.read_running(self.torch.tensor(request.get("running", [])))
        state = {name: value.detach().cpu().clone() for name, value in self.module.state_dict().items()}
        self.torch.save(state, request["file"])
        return {}

    def onnx(self, request):
        """Writes a trained module as ONNX, or says why it cannot."""
        self.bind(request["area"])
        self.read_running(self.torch.tensor(request.get("running", [])))
        return {"left_out": export.write(self, request.get("scaling", []), request.get("units", []),
                                         request["file"])}

    def graph(self, request):
        """Writes the module as ONNX without its values, which it changes, or says why it cannot."""
        return {"left_out": graph.write(self, request["file"])}

    def step(self, request):
        """Takes a step of the user's optimizer."""
        self.optimizer.step(self.areas[request["area"]], request["share"])
        return {}

    def bind(self, number):
        """Gives the module the parameters of an area. On a device it copies them at every call, because
        Tandem changes them in place."""
        area = self.areas[number]
        if not self.device.copies:
            if number == self.bound:
                return
        else:
            if self.device_values is None:
                self.device_values, self.device_grads = (
                    self.torch.empty(self.size, device=self.device.own) for _ in range(2))
            self.device_values.copy_(area, non_blocking=True)
            area = self.device_values
        if not self.device.copies or self.bound is None:
            for (lo, hi), p in zip(self.places, self.parameters):
                p.data = area[lo:hi].view(p.shape)
        self.bound = number

    def on_device(self, *values):
        """Returns values on the device of the module, as copies if that is not the processors."""
        return [v.to(self.device.own, non_blocking=True) for v in values]

    def forward(self, request):
        torch = self.torch
        p = Pass(self, request)
        self.bind(p.params)
        self.compile()
        self.set_training(p.train)
        if self.norms and not p.train:
            self.read_running(p.running)
        if p.train:
            self.device.seed(p.seed())
        self.device.set_tf32(bool(p.train and self.config.get("tf32")))  # not in the trial, which compares
        with torch.set_grad_enabled(p.train):
            embeddings, numbers, labels = self.on_device(p.embeddings, p.numbers, p.labels)
            p.leaf = embeddings.detach().requires_grad_(p.train)
            with self.rounded(p.train):
                out = self.run(p.leaf, numbers, labels, p.train)
            out = out.float()
        if p.train and not self.finite([out]) and self.finite([p.embeddings, p.numbers, *self.parameters]):
            raise self.refused("forward returned NaN or infinity for finite embeddings, numbers and "
                               "parameters")
        if self.takes_labels and p.train:
            p.output = out * p.samples  # a mean, and Tandem sums
            p.logits[0, 0] = p.output.detach()
        else:
            p.output = out
            p.logits.copy_(out.detach())
        if self.norms and p.train:
            self.write_stats(p)
        if p.train:
            self.passes[p.number] = p
        return {"pass": p.number}

    def backward(self, request):
        """Writes the gradients bucket by bucket, and says so as each is final."""
        torch = self.torch
        p = self.passes.pop(request["pass"])
        if p.params != self.bound:
            self.bind(p.params)
        self.device.set_tf32(bool(self.config.get("tf32")))  # a prediction may have come between
        self.current, self.next = p, 0
        self.missing = [0] * len(self.buckets)
        for lo, _ in self.places:
            self.missing[self.bucket_of(lo)] += 1
        grads = self.device_grads if self.device.copies else p.grads
        torch.autograd.backward([p.output], None if p.output.dim() == 0 else self.on_device(p.logit_grads))
        for i in p.without:
            lo, hi = self.places[i]
            grads[lo:hi] = 0
        p.embedding_grads.zero_() if p.leaf.grad is None else p.embedding_grads.copy_(p.leaf.grad)
        self.current = None
        self.missing = [0] * len(self.buckets)
        self.report_buckets(p)
        return {"pass": p.number, "done": True}

    def take_gradient(self, parameter, i):
        """Takes the gradient of a parameter, which is final."""
        if self.trial is not None:
            return super().take_gradient(parameter, i)
        if i not in self.current.without:
            raise self.refused_twice(i)
        lo, hi = self.places[i]
        grads = self.device_grads if self.device.copies else self.current.grads
        grads[lo:hi] = parameter.grad.reshape(-1)
        self.current.without.discard(i)
        self.missing[self.bucket_of(lo)] -= 1
        self.report_buckets(self.current)
        parameter.grad = None

    def report_buckets(self, p):
        """Reports the buckets that are final, in their order."""
        while self.next < len(self.buckets) and self.missing[self.next] == 0:
            if self.device.copies:
                lo, hi = self.buckets[self.next]
                p.grads[lo:hi] = self.device_grads[lo:hi]  # waits for the device
            self.reply({"pass": p.number, "bucket": self.next})
            self.next += 1

    # Statistics of batch norm: of a group, the number of samples, then mean and variance of each norm. They
    # are written as data, because autograd counts changes between the passes of a group, which may be those
    # of another group, though training uses none.

    def read_running(self, values):
        at = 0
        for m in self.norms:
            for b in (m.running_mean, m.running_var):
                b.data.copy_(values[at : at + b.numel()])
                at += b.numel()

    def write_stats(self, p):
        with self.torch.no_grad():
            p.stats[0], at = p.samples, 1
            for m in self.norms:
                for b in (m.running_mean, m.running_var):
                    p.stats[at : at + b.numel()] = b
                    at += b.numel()


class Pass:
    """One group of samples, as views of the memory of its pass."""

    def __init__(self, worker, request):
        self.number, self.params = request["pass"], request["params"]
        self.samples, self.train = request["samples"], request["train"]
        self.without = set(range(len(worker.parameters)))  # parameters whose gradient has not come
        area, at, config = worker.areas[request["area"]], 0, worker.config
        running = 2 * sum(m.num_features for m in worker.norms)

        def take(*shape):
            nonlocal at
            size = 1
            for n in shape:
                size *= n
            at += size
            return area[at - size : at].view(shape).data  # autograd must not count writes elsewhere

        n = self.samples
        self.grads = take(worker.size)
        self.running = take(running)
        self.stats = take(1 + running)
        self.embeddings = take(n, config["width"])
        self.embedding_grads = take(n, config["width"])
        self.numbers = take(n, len(config["numbers"]))
        self.labels = take(n, len(config["labels"]))
        self.logits = take(n, len(config["labels"]))
        self.logit_grads = take(n, len(config["labels"]))

    def seed(self):
        """Returns a seed that follows from the samples, on whichever rank they are."""
        seed = 0
        for values in (self.embeddings, self.numbers, self.labels):
            count = min(values.numel(), 1 << 14)
            if count:
                seed = zlib.crc32(ctypes.string_at(values.data_ptr(), 4 * count), seed)
        return seed
