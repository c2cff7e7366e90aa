"""The network of one rank, for a Tandem process that starts this file.

Requests come as lines of JSON from one pipe, replies go as lines of JSON to another, and numbers are in
memory that both processes map: see the comments of the Go package runtime/torch. One request is answered
after the other. The process ends when its parent does, or when a request takes longer than the limit.
"""

import sys

if sys.path[0] == "":  # the working directory, whose files are not those that are imported here
    sys.path.pop(0)

import collections
import ctypes
import faulthandler
import fcntl
import functools
import inspect
import json
import linecache
import mmap
import os
import random
import select
import signal
import threading
import time
import traceback
import types
import zlib

PYTHON_MIN = (3, 8)  # of that torch; an older one reads this file as far as the sentence that says so
TORCH_MIN = (2, 1)  # post_accumulate_grad hooks
SAFE_LOAD_MIN = (2, 6)  # before, a file could run code in spite of weights_only: CVE-2025-32434
TRIALS = (4, 5)  # samples of the passes that try a module


class Refused(Exception):
    """A sentence for the user, about a module that cannot be trained."""


def import_torch():
    if sys.version_info < PYTHON_MIN:
        raise Refused(
            f"{sys.executable} is Python {sys.version.split()[0]}: set TANDEM_PYTHON to "
            f"{PYTHON_MIN[0]}.{PYTHON_MIN[1]} or newer, with torch"
        )
    try:
        import torch
    except ImportError as e:
        raise Refused(
            f"{sys.executable} cannot import torch ({e}): install it with {sys.executable} -m pip install "
            "torch, or set TANDEM_PYTHON to a Python that has it"
        )
    if version_of(torch) < TORCH_MIN:
        raise Refused(
            f"torch {torch.__version__} is too old: install {TORCH_MIN[0]}.{TORCH_MIN[1]} or newer"
        )
    return torch


def version_of(torch):
    return tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


class Worker:
    """A module with the memory that it shares."""

    def __init__(self, config, reply, memory):
        self.config, self.reply, self.memory = config, reply, memory
        self.torch = torch = import_torch()
        torch.use_deterministic_algorithms(True, warn_only=True)
        self.file = config["file"]
        self.make_class()
        self.areas = {}  # by number: flat tensors of float32
        self.passes = {}
        self.bound = None  # the area of the values that the module has
        self.current = None  # the pass whose backward runs
        self.make_module(0)
        self.optimizer = Optimizer(self, self.makes_optimizer) if self.makes_optimizer else None

    # The module and what is asked of it.

    def make_class(self):
        """Runs the user's file, of which the job has a copy, and finds the class."""
        text = self.config["source"]
        linecache.cache[self.file] = (len(text), None, text.splitlines(True), self.file)
        if os.path.exists(self.file):  # else what lies there now is not what the file imported
            sys.path.insert(0, os.path.dirname(self.file))
        source = types.ModuleType("tandem_user_file")
        source.__file__ = self.file
        sys.modules[source.__name__] = source
        exec(compile(text, self.file, "exec", dont_inherit=True), vars(source))
        makes = getattr(source, "optimizer", None)
        self.makes_optimizer = makes if inspect.isfunction(makes) else None
        if not self.makes_optimizer and (callable(makes) or isinstance(makes, self.torch.optim.Optimizer)):
            raise Refused(f"{self.file}: optimizer is a {type(makes).__name__}; want a function: "
                          "def optimizer(parameters)")
        name = self.config["class"]
        self.made_of = getattr(source, name, None)
        if not (inspect.isclass(self.made_of) and issubclass(self.made_of, self.torch.nn.Module)):
            modules = [
                n
                for n, c in vars(source).items()
                if inspect.isclass(c) and issubclass(c, self.torch.nn.Module)
                and c.__module__ == source.__name__
            ]
            there = ", ".join(modules) or "none"
            raise Refused(f"{self.file} has no subclass {name} of torch.nn.Module; it has {there}")
        parameters = inspect.signature(self.made_of.forward).parameters
        self.takes_labels = "labels" in parameters
        if len(parameters) < 3:
            raise self.refused(f"forward takes {', '.join(parameters)}; want "
                               "forward(self, embeddings, numbers) or "
                               "forward(self, embeddings, numbers, labels=None)")

    def where_is(self, part):
        """Returns the file and the line of a class or a function."""
        try:
            return f"{self.file}:{inspect.getsourcelines(part)[1]}"
        except (OSError, TypeError):
            return self.file

    def refused(self, what):
        """Returns the error for what forward does."""
        return Refused(f"{self.where_is(self.made_of.forward)}: {what}")

    def make_module(self, seed):
        """Makes a module whose parameters follow from a seed, and checks these."""
        torch = self.torch
        torch.manual_seed(seed)
        random.seed(seed)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed & (1 << 32) - 1)
        self.module = self.made_of(**self.config["arguments"])
        self.module.train()
        self.training = True
        values, lazy = [*self.module.parameters(), *self.module.buffers()], torch.nn.parameter.is_lazy
        if any(lazy(v) for v in values):
            with torch.no_grad():  # lazy layers take their widths from a first pass
                before = [(v, v.clone()) for v in values if not lazy(v)]
                self.run(*self.trial_samples(TRIALS[0]), True)
                for v, value in before:
                    v.copy_(value)
            for m in self.module.modules():
                if isinstance(m, torch.nn.modules.batchnorm._NormBase):
                    m.reset_running_stats()
        at = self.where_is(self.made_of)
        seen = {}
        for name, p in self.module.named_parameters(remove_duplicate=False):
            if id(p) in seen:
                raise Refused(f"{at}: {name} and {seen[id(p)]} are one parameter; share the module that "
                              "holds it, by using it twice in forward, instead of the parameter")
            seen[id(p)] = name
            if not p.requires_grad:
                raise Refused(f"{at}: parameter {name} is frozen; make it a buffer with register_buffer")
            if p.dtype != torch.float32 or p.device.type != "cpu":
                raise Refused(f"{at}: parameter {name} is {p.dtype} on {p.device}; want torch.float32 on cpu")
        if not seen:
            raise Refused(f"{at}: the module has no parameters")
        self.names = [name for name, _ in self.module.named_parameters()]
        self.parameters = [p for _, p in self.module.named_parameters()]
        self.places, at_value = [], 0
        for p in self.parameters:
            self.places.append((at_value, at_value + p.numel()))
            at_value += p.numel()
        self.size = at_value
        self.norms = self.find_norms()
        self.buckets = self.cut_buckets()
        self.bound = None
        for i, p in enumerate(self.parameters):
            p.register_post_accumulate_grad_hook(lambda p, i=i: self.take_gradient(p, i))

    def find_norms(self):
        """Returns the batch norms, whose running statistics are Tandem's."""
        norms = []
        for name, m in self.module.named_modules():
            if not isinstance(m, self.torch.nn.modules.batchnorm._BatchNorm) or not m.track_running_stats:
                continue
            if m.momentum != 0.1:
                raise Refused(f"{self.where_is(self.made_of)}: batch norm {name} has momentum {m.momentum}; "
                              "running statistics are kept with 0.1")
            m.momentum = 1.0  # a pass leaves the statistics of its group, and Tandem folds these
            m.forward = functools.partial(self.normalize, m, m.forward)
            norms.append(m)
        return norms

    def normalize(self, m, forward, x):
        """Is the forward pass of a batch norm. Of one sample, which PyTorch refuses, it is the shift, as
        there is no variance."""
        if not m.training:
            return forward(x)
        if x.numel() != self.samples * m.num_features:
            raise self.refused(f"a batch norm of {m.num_features} features gets values of shape "
                               f"{tuple(x.shape)} for {self.samples} samples; its running statistics need "
                               "one value of each feature for a sample: use layer norm")
        if self.samples != 1:
            return forward(x)
        m.running_mean.data.copy_(x.detach().reshape(-1))
        m.running_var.data.zero_()
        return (self.torch.zeros_like(m.running_mean) if m.bias is None else m.bias).view(x.shape)

    def cut_buckets(self):
        """Returns ranges of the parameters, the last first, of at least a MiB: those of PyTorch's DDP begin
        with as much."""
        buckets, hi = [], self.size
        for lo, _ in reversed(self.places):
            if 4 * (hi - lo) >= 1 << 20 or lo == 0:
                buckets.append((lo, hi))
                hi = lo
        return [b for b in buckets if b[1] > b[0]]

    def bucket_of(self, place):
        return next(b for b, (lo, _) in enumerate(self.buckets) if place >= lo)

    # Requests.

    def describe(self, _):
        """Tries the module, and returns what Tandem must know of it."""
        others = [name for name, value in self.module.state_dict().items()
                  if not isinstance(value, self.torch.Tensor)]
        if others:
            raise Refused(f"{self.where_is(self.made_of)}: {others[0]} of its state_dict is no tensor, and "
                          "would be in no checkpoint; leave out get_extra_state")
        fresh = self.values()
        output = self.try_training()
        self.check_gradients(output)
        cost = self.count()
        self.try_predictions()
        self.check_constructor(fresh, output)
        slots = self.optimizer and len(self.optimizer.entries)
        return {**self.layout(), "buckets": self.buckets, "own_loss": self.takes_labels, "slots": slots,
                "cost": cost, "torch": self.torch.__version__}

    def layout(self):
        """Returns what must be the same in every process of the module."""
        return {
            "tensors": [{"name": n, "shape": list(p.shape)} for n, p in zip(self.names, self.parameters)],
            "norms": [m.num_features for m in self.norms],
        }

    def expect(self, request):
        """Refuses a module that another process has made otherwise."""
        own, other = self.layout(), {key: request["layout"][key] for key in ("tensors", "norms")}
        if own != other:
            pairs = zip(other["tensors"], own["tensors"])
            first = next((t for t, o in pairs if t != o), other["tensors"][-1])["name"]
            raise Refused(f"{self.where_is(self.made_of)}: the constructor makes other parameters in another "
                          f"process, from {first} on; make them in a fixed order")

    def values(self):
        """Returns a copy of the parameters."""
        return [p.detach().clone() for p in self.parameters]

    def train_once(self, samples):
        """Returns what forward returns in training for made-up samples."""
        x, n, y = self.trial_samples(samples)
        self.torch.default_generator.manual_seed(1)
        return self.run(x.requires_grad_(), n, y, True)

    def try_training(self):
        """Refuses a module that keeps state from pass to pass. It returns the output for some samples."""
        parameters = self.values()
        buffers = {name: b.clone() for name, b in self.module.named_buffers()}
        first, again = ([self.train_once(samples) for samples in TRIALS] for _ in range(2))
        for name, p, before in zip(self.names, self.parameters, parameters):
            if not self.same(p, before):
                raise self.refused(f"forward changes parameter {name}; only the optimizer may: compute with "
                                   "a changed copy, and give an embedding no max_norm")
        of_norms = {id(b) for m in self.norms for b in m.buffers()}
        for name, b in self.module.named_buffers():
            if id(b) not in of_norms and not self.same(b, buffers[name]):
                raise self.refused(f"forward changes buffer {name}; a module may keep no state but the "
                                   "running statistics of batch norm")
        for m in self.norms:
            if m.num_batches_tracked != 2 * len(TRIALS):
                uses = int(m.num_batches_tracked) // (2 * len(TRIALS))
                raise self.refused(f"forward uses a batch norm {uses} times; use each once, as its running "
                                   "statistics are of one place")
        if not all(map(self.same, first, again)):
            raise self.refused("two passes over the same samples differ; a module may keep no state from "
                               "step to step")
        return again[-1]

    def try_predictions(self):
        """Refuses a module whose prediction of a sample is not a function of the sample."""
        torch = self.torch
        x, n, y = self.trial_samples(TRIALS[-1])
        self.set_training(False)
        before = torch.get_rng_state()
        with torch.no_grad():
            together = self.run(x, n, y, False)
            if not torch.equal(before, torch.get_rng_state()):
                raise self.refused("forward draws random numbers for a prediction; give dropout "
                                   "self.training")
            for part in (slice(0, 2), slice(2, 4), slice(0, 1)):
                apart = self.run(x[part], n[part], y[part], False)
                if not torch.allclose(apart, together[part], rtol=1e-4, atol=1e-4, equal_nan=True):
                    raise self.refused("the prediction of a sample depends on the samples beside it; give "
                                       "batch norm running statistics, and take no means over samples")
        self.set_training(True)

    def check_gradients(self, output):
        """Refuses a module one of whose gradients is sparse or missing."""
        self.trial = grads = [None] * len(self.parameters)
        output.sum().backward()
        self.trial = None
        for name, g in zip(self.names, grads):
            if g is None:
                raise self.refused(f"forward does not use parameter {name}, or uses it without a gradient")
            if g.layout != self.torch.strided:
                raise self.refused(f"the gradient of {name} is sparse; leave out sparse=True")

    def count(self):
        """Returns what a sample costs in training, as PyTorch counts it."""
        from torch.utils.flop_counter import FlopCounterMode

        samples = TRIALS[-1]
        with FlopCounterMode(display=False) as forward, outputs(self.torch) as written:
            output = self.train_once(samples)
        self.trial = [None] * len(self.parameters)
        with FlopCounterMode(display=False) as backward:
            output.sum().backward()
        self.trial = None
        return {
            "forward": forward.get_total_flops() / samples,
            "backward": backward.get_total_flops() / samples,
            "bytes": 2 * written.bytes / samples,  # written, and read by the next
            "kernels": written.kernels,
        }

    def check_constructor(self, fresh, output):
        """Refuses a module whose parameters do not follow from the seed, or that depends on other random
        numbers: each rank would draw others. It leaves a fresh module."""
        self.make_module(1)
        with self.torch.no_grad():
            for p, value in zip(self.parameters, fresh):
                p.copy_(value)
        drawn = not self.same(self.train_once(TRIALS[-1]), output)
        self.make_module(0)
        at = self.where_is(self.made_of)
        for name, p, before in zip(self.names, self.parameters, fresh):
            if not self.same(p, before):
                raise Refused(f"{at}: the constructor gives {name} other values from the same seed; draw "
                              "them with torch, random or numpy.random, without a generator of your own")
        if drawn:
            raise Refused(f"{at}: the constructor draws random numbers that are no parameters; draw them "
                          "with a torch.Generator of a fixed seed")

    def same(self, a, b):
        return a.shape == b.shape and self.torch.allclose(a, b, rtol=0, atol=0, equal_nan=True)

    trial = None  # gradients of a trial

    def trial_samples(self, samples):
        """Returns embeddings, numbers and labels of a few samples that are not in the data."""
        draw = self.torch.Generator().manual_seed(1)
        config = self.config
        embeddings = self.torch.rand(samples, config["width"], generator=draw)
        for slot, part in zip(config["slots"], self.parts(embeddings)):
            if slot["ids"]:
                for sample in range(samples):  # the first has the fewest ids, the last has all
                    part[sample, (slot["ids"] * (sample + 1) // samples) * (slot["dim"] + 1) :] = 0
        return (
            embeddings,
            self.torch.rand(samples, len(config["numbers"]), generator=draw),
            self.torch.zeros(samples, len(config["labels"])),
        )

    def map(self, request):
        """Maps more of the shared memory."""
        count = request["floats"]
        view = mmap.mmap(self.memory, 4 * count, offset=request["offset"])
        self.areas[request["area"]] = self.torch.frombuffer(view, dtype=self.torch.float32, count=count)

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
        state = {name: value.detach().clone() for name, value in self.module.state_dict().items()}
        self.torch.save(state, request["file"])
        return {}

    def step(self, request):
        """Takes a step of the user's optimizer."""
        self.optimizer.step(self.areas[request["area"]], request["share"])
        return {}

    def bind(self, number):
        """Gives the module the parameters of an area."""
        if number == self.bound:
            return
        area = self.areas[number]
        for (lo, hi), p in zip(self.places, self.parameters):
            p.data = area[lo:hi].view(p.shape)
        self.bound = number

    def forward(self, request):
        torch = self.torch
        p = Pass(self, request)
        self.bind(p.params)
        self.set_training(p.train)
        if self.norms and not p.train:
            self.read_running(p.running)
        if p.train:
            torch.default_generator.manual_seed(p.seed())  # of the processors alone, as it takes no time
        with torch.set_grad_enabled(p.train):
            p.leaf = p.embeddings.detach().requires_grad_(p.train)
            out = self.run(p.leaf, p.numbers, p.labels, p.train)
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

    def finite(self, tensors):
        return all(self.torch.isfinite(t).all() for t in tensors)

    def set_training(self, training):
        if training != self.training:
            self.module.train(training)
            self.training = training

    def run(self, embeddings, numbers, labels, train):
        """Calls the module, and returns its logits, samples × labels, or its loss."""
        torch, names = self.torch, self.config["labels"]
        self.samples = samples = numbers.shape[0]
        by_slot = {}
        for slot, part in zip(self.config["slots"], self.parts(embeddings)):
            if slot["ids"]:
                ids = part.reshape(samples, slot["ids"], slot["dim"] + 1)
                by_slot[slot["name"]] = (ids[..., :-1], ids[..., -1].detach() > 0)
            else:
                by_slot[slot["name"]] = part
        if self.takes_labels and train:
            given = labels[:, 0] if len(names) == 1 else {n: labels[:, i] for i, n in enumerate(names)}
            loss = self.module(by_slot, numbers, labels=given)
            if not isinstance(loss, torch.Tensor) or loss.dim() != 0:
                raise self.refused(f"forward returned {self.said(loss)} for labels; want a loss, a tensor of "
                                   "one value")
            return loss
        out = self.module(by_slot, numbers, **({"labels": None} if self.takes_labels else {}))
        if isinstance(out, dict) and sorted(out) == sorted(names):
            columns = [out[n] for n in names]
        elif len(names) == 1 and not isinstance(out, dict):
            columns = [out]
        else:
            raise self.refused(f"forward returned {self.said(out)}; want a dictionary with the logits of "
                               f"{', '.join(names)}")
        for c in columns:
            if not isinstance(c, torch.Tensor) or c.shape not in ((samples,), (samples, 1)):
                raise self.refused(f"forward returned logits that are {self.said(c)}; want a tensor of shape "
                                   f"({samples},) or ({samples}, 1)")
        return torch.stack([c.reshape(samples) for c in columns], dim=1)

    def parts(self, embeddings):
        """Returns the columns of each slot."""
        return embeddings.split([s["width"] for s in self.config["slots"]], dim=1)

    def said(self, value):
        if isinstance(value, self.torch.Tensor):
            return f"a tensor of shape {tuple(value.shape)}"
        if isinstance(value, dict):
            return f"a dictionary of {', '.join(map(str, value))}"
        return f"a {type(value).__name__}"

    def backward(self, request):
        """Writes the gradients bucket by bucket, and says so as each is final."""
        torch = self.torch
        p = self.passes.pop(request["pass"])
        self.bind(p.params)
        self.current, self.next = p, 0
        self.missing = [0] * len(self.buckets)
        for lo, _ in self.places:
            self.missing[self.bucket_of(lo)] += 1
        torch.autograd.backward([p.output], None if p.output.dim() == 0 else [p.logit_grads])
        for i in p.without:
            lo, hi = self.places[i]
            p.grads[lo:hi] = 0
        p.embedding_grads.zero_() if p.leaf.grad is None else p.embedding_grads.copy_(p.leaf.grad)
        self.current = None
        self.missing = [0] * len(self.buckets)
        self.report_buckets(p)
        return {"pass": p.number, "done": True}

    def take_gradient(self, parameter, i):
        """Takes the gradient of a parameter, which is final."""
        if self.trial is not None:
            if self.trial[i] is not None:
                raise self.refused_twice(i)
            self.trial[i] = parameter.grad
        else:
            if i not in self.current.without:
                raise self.refused_twice(i)
            lo, hi = self.places[i]
            self.current.grads[lo:hi] = parameter.grad.reshape(-1)
            self.current.without.discard(i)
            self.missing[self.bucket_of(lo)] -= 1
            self.report_buckets(self.current)
        parameter.grad = None

    def refused_twice(self, i):
        return self.refused(f"parameter {self.names[i]} gets its gradient in two parts; give checkpoint() "
                            "use_reentrant=False")

    def report_buckets(self, p):
        """Reports the buckets that are final, in their order."""
        while self.next < len(self.buckets) and self.missing[self.next] == 0:
            self.reply({"pass": p.number, "bucket": self.next})
            self.next += 1

    # Statistics of batch norm: of a group, the number of samples, then mean and variance of each norm.

    # They are written as data, because autograd counts changes between the passes of a group, which may be
    # those of another group, though training uses none.

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


class Optimizer:
    """The torch.optim that a function of the user's file makes.

    Its state is Tandem's: for every entry of a parameter's state a slot, which has a value for each value of
    the parameter, or the same one if the entry is a number.
    """

    def __init__(self, worker, make):
        self.torch = torch = worker.torch
        self.size, self.places = worker.size, worker.places
        at = worker.where_is(make)
        self.parameters = [torch.nn.Parameter(torch.zeros_like(p)) for p in worker.parameters]
        self.own = own = make(list(self.parameters))
        if not isinstance(own, torch.optim.Optimizer):
            raise Refused(f"{at}: optimizer returned a {type(own).__name__}; want a torch.optim.Optimizer "
                          "of its parameters")
        given = [id(p) for group in own.param_groups for p in group["params"]]
        if sorted(given) != sorted(map(id, self.parameters)):
            raise Refused(f"{at}: the optimizer has {len(given)} parameters; want each of the "
                          f"{len(self.parameters)} that the function gets")
        self.rates = [group.get("lr") for group in own.param_groups]
        self.fresh = [self.copied(own.state.get(p, {})) for p in self.parameters]
        for p in self.parameters:
            p.grad = torch.ones_like(p)
        before = self.beside()
        try:
            own.step()
            self.like = [self.copied(own.state[p]) for p in self.parameters]
            own.step()  # some write in the second what they had before the first
        except TypeError as e:
            raise Refused(f"{at}: {type(own).__name__} cannot take a step alone ({e}); take another")
        after = self.beside()
        changed = [name for name in after if after[name] != before.get(name)]
        if changed:
            raise Refused(f"{at}: a step of {type(own).__name__} changes {changed[0]}, which is no state "
                          "of a parameter and would be lost; take another")
        self.entries = sorted(k for k, v in self.like[0].items() if v is not None)
        for p, state in zip(self.parameters, self.like):
            if sorted(k for k, v in state.items() if v is not None) != self.entries:
                raise Refused(f"{at}: the state of {type(own).__name__} differs from parameter to "
                              "parameter; take another")
            for key in self.entries:
                if not self.fits(state[key], p):
                    raise Refused(f"{at}: {key} of {type(own).__name__} has not the shape of its parameter "
                                  "and is no number, or is not float32; take another")

    def beside(self):
        """Returns what the optimizer has beside the state of its parameters, to be compared, by name."""
        own = self.own
        known = {id(part): "known" for part in (own, own.state, own.param_groups, *self.parameters)}
        parts = {f"self.{k}": v for k, v in vars(own).items() if k not in ("state", "param_groups")}
        parts.update((f"{k} of group {i}", v) for i, g in enumerate(own.param_groups) for k, v in g.items())
        parts.update((f"state[{k!r}]", v) for k, v in own.state.items() if id(k) not in known)
        return {name: picture(self.torch, part, dict(known)) for name, part in parts.items()}

    def copied(self, state):
        return {k: v.clone() if isinstance(v, self.torch.Tensor) else v for k, v in state.items()}

    def fits(self, value, parameter):
        if not isinstance(value, self.torch.Tensor):
            return isinstance(value, (int, float))
        return value.numel() == 1 or value.shape == parameter.shape and value.dtype == self.torch.float32

    def step(self, area, share):
        """Takes a step at a share of the learning rates. The area has parameters, gradients and slots."""
        n = self.size
        slots = {key: area[(2 + i) * n : (3 + i) * n] for i, key in enumerate(self.entries)}
        for p, (lo, hi), fresh, like in zip(self.parameters, self.places, self.fresh, self.like):
            p.data = area[lo:hi].view(p.shape)
            p.grad = area[n + lo : n + hi].view(p.shape)
            state = {key: None for key in like}
            for key, slot in slots.items():
                state[key] = self.entry(slot[lo:hi], like[key], p)
            first = bool(slots) and any(s[lo : lo + 1].isnan().any() for s in slots.values())
            self.own.state[p] = self.copied(fresh) if first else state
        for group, rate in zip(self.own.param_groups, self.rates):
            if rate is not None:
                group["lr"] = rate * share
        self.own.step()
        for p, (lo, hi) in zip(self.parameters, self.places):
            for key, slot in slots.items():
                value = self.own.state[p][key]
                if isinstance(value, self.torch.Tensor) and value.shape == p.shape:
                    value = value.reshape(-1)
                slot[lo:hi] = value

    def entry(self, values, like, parameter):
        """Returns an entry of a state from its part of a slot."""
        if not isinstance(like, self.torch.Tensor):
            return type(like)(values[0].item())
        if like.shape == parameter.shape:
            return values.view(like.shape)
        return values[0].clone().to(like.dtype).view(like.shape)


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


def outputs(torch):
    """Returns a context that counts the operations of torch that write memory, and the bytes that they
    write."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Outputs(TorchDispatchMode):
        bytes = kernels = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            if not getattr(function, "is_view", False):
                self.kernels += 1
                every = result if isinstance(result, (tuple, list)) else [result]
                self.bytes += sum(t.numel() * t.element_size() for t in every if isinstance(t, torch.Tensor))
            return result

    return Outputs()


def picture(torch, value, known):
    """Returns what tells whether a value has changed, also in its parts, but for those that are known by
    id."""
    if id(value) in known:
        return known[id(value)]
    if isinstance(value, torch.Tensor):
        return value.dtype, value.shape, value.detach().reshape(-1).tolist()
    if isinstance(value, torch.Generator):
        return value.get_state().tolist()
    if isinstance(value, (int, float, str, type, types.ModuleType, types.FunctionType)):
        return repr(value)
    known[id(value)] = f"part {len(known)}"  # it may have itself as a part
    if isinstance(value, dict):
        return [(picture(torch, k, known), picture(torch, v, known)) for k, v in value.items()]
    if isinstance(value, (list, tuple, collections.deque)):
        return [picture(torch, v, known) for v in value]
    if hasattr(value, "__dict__"):
        return picture(torch, vars(value), known)
    return repr(value)


def listed(names):
    """Returns the first names of a list."""
    rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(map(str, names[:3])) + rest


def kind(value):
    return f"{value.dtype} of shape {tuple(value.shape)}"


def read_state(torch, file):
    """Returns the state_dict of a file that torch.save or safetensors has written."""
    advice = "write one with torch.save(net.state_dict(), FILE)"
    try:
        if file.endswith(".safetensors"):
            return read_safetensors(torch, file)
        if version_of(torch) < SAFE_LOAD_MIN:
            raise Refused(f"{file}: torch.load of torch {torch.__version__} may run what a file says: "
                          f"install {SAFE_LOAD_MIN[0]}.{SAFE_LOAD_MIN[1]} or newer, or write a file of "
                          ".safetensors")
        state = torch.load(file, map_location="cpu", weights_only=True)
    except Refused:
        raise
    except OSError as e:
        raise Refused(f"{file}: {e.strerror}")
    except Exception:  # of any kind, and of many lines
        raise Refused(f"{file} is no file that torch.load(FILE, weights_only=True) reads: {advice}")
    if not isinstance(state, dict):
        raise Refused(f"{file} has a {type(state).__name__} and no state_dict: {advice}")
    others = [name for name, value in state.items() if not isinstance(value, torch.Tensor)]
    if others:
        raise Refused(f"{file} has no state_dict, as its {others[0]} is no tensor: {advice}")
    for name, value in state.items():
        if value.layout != torch.strided or value.device.type != "cpu" or value.is_quantized:
            raise Refused(f"{file}: {name} is sparse, quantized or without values: {advice}")
    return state


def read_safetensors(torch, file):
    """Returns the tensors of a file of safetensors: a header in JSON, and then their bytes."""
    types = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16,
             "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8,
             "BOOL": torch.bool}
    with open(file, "rb") as f:
        data = bytearray(f.read())
    length = int.from_bytes(data[:8], "little")
    try:
        header = json.loads(data[8 : 8 + length])
        if not isinstance(header, dict):
            raise ValueError("a header that is no object")
        header.pop("__metadata__", None)
        state = {}
        for name, entry in header.items():
            (lo, hi), kind = entry["data_offsets"], types[entry["dtype"]]
            part = data[8 + length + lo : 8 + length + hi]
            state[name] = (torch.frombuffer(part, dtype=kind) if part else torch.empty(0, dtype=kind)).view(
                entry["shape"])
        return state
    except (ValueError, KeyError, TypeError, RuntimeError) as e:
        raise Refused(f"{file} is no file of safetensors: {type(e).__name__}: {e}")


def end_with_parent(life):
    """Lets the kernel end the group when the parent has died, whoever holds the lock of the interpreter."""
    fcntl.fcntl(life, fcntl.F_SETOWN, -os.getpid())
    fcntl.fcntl(life, fcntl.F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(life, fcntl.F_SETFL, fcntl.fcntl(life, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([life], [], [], 0)[0]:  # it has died before
        end()


class Watch(threading.Thread):
    """Ends the process when a request takes too long."""

    def __init__(self, config, fail):
        super().__init__(daemon=True)
        self.file, self.limit = config["file"], config["limit"]
        self.fail, self.since = fail, None

    def run(self):
        main = threading.main_thread().ident
        while True:
            time.sleep(min(1.0, self.limit / 4))
            since = self.since
            if since is not None and time.monotonic() - since > self.limit:
                frames = traceback.extract_stack(sys._current_frames()[main])
                self.fail(f"{where(frames, self.file)}: has run for {self.limit:g} s without an end")


def where(frames, file):
    """Returns the innermost line of the user's file among frames, and its function."""
    own = [f for f in frames if f.filename == file]
    return f"{file}:{own[-1].lineno}: {own[-1].name}" if own else file


def sentence(error, file):
    """Returns what the user reads of an exception."""
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, SyntaxError):
        return f"{error.filename}:{error.lineno}: {error.msg}"
    text = " ".join(str(error).split())
    return f"{where(traceback.extract_tb(error.__traceback__), file)}: {type(error).__name__}: {text}"


def take_signals():
    """Ignores what asks the parent to end: it does so after the batches in flight. Processes that the module
    starts end with it."""
    both = (signal.SIGINT, signal.SIGTERM)
    for one in both:
        signal.signal(one, lambda *_: None)  # programs do not inherit it, as they would SIG_IGN
    os.register_at_fork(after_in_child=lambda: [signal.signal(one, signal.SIG_DFL) for one in both])


def end():
    """Ends the process and those that the module has started: its group, which it leads."""
    os.killpg(os.getpid(), signal.SIGKILL)


def main():
    requests = os.fdopen(3, "r")
    replies = os.fdopen(4, "w")
    lock = threading.Lock()

    def reply(answer):
        with lock:
            replies.write(json.dumps(answer) + "\n")
            replies.flush()

    def fail(sentence):
        sys.stdout.flush()
        reply({"error": sentence})
        os._exit(1)

    for shared in (3, 4, 5, 6):  # not with programs that the module starts
        os.set_inheritable(shared, False)
    end_with_parent(5)
    config = json.loads(requests.readline())
    faulthandler.enable()  # a crash prints where it was
    take_signals()
    watch = Watch(config, fail)
    watch.start()
    try:
        watch.since = time.monotonic()
        worker = Worker(config, reply, 6)
        watch.since = None
        for line in requests:
            request = json.loads(line)
            watch.since = time.monotonic()
            answer = getattr(worker, request["do"])(request)
            watch.since = None
            if answer is not None:
                reply(answer)
    except BaseException as e:  # SystemExit too: a module must not end the process
        fail(sentence(e, config["file"]))
    end()


if __name__ == "__main__":
    main()
