"""A module, as the text and the class of a job make it, and how it is called."""

import functools
import inspect
import linecache
import os
import random
import sys
import types

from .device import Device
from .refused import Refused, import_torch

TRIALS = (4, 5)  # samples of the passes that try a module


class Module:
    """The user's module, with the order of its parameters. self.module is replaced by make_module."""

    def __init__(self, config):
        self.config = config
        self.torch = torch = import_torch()
        self.device = Device(torch, config.get("devices", []), config.get("rank", 0))
        self.file = config["file"]
        self.make_class()
        self.make_module(0)

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
        self.training, self.callee, self.compiled = True, self.module, False
        values, lazy = [*self.module.parameters(), *self.module.buffers()], torch.nn.parameter.is_lazy
        if any(lazy(v) for v in values):
            with torch.no_grad():  # lazy layers take their widths from a first pass
                before = [(v, v.clone()) for v in values if not lazy(v)]
                self.run(*self.host_samples(TRIALS[0]), True)
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
        self.move()
        self.names = [name for name, _ in self.module.named_parameters()]
        self.parameters = [p for _, p in self.module.named_parameters()]
        self.places, at_value = [], 0
        for p in self.parameters:
            self.places.append((at_value, at_value + p.numel()))
            at_value += p.numel()
        self.size = at_value
        self.norms = self.find_norms()
        self.buckets = self.cut_buckets()
        for i, p in enumerate(self.parameters):
            p.register_post_accumulate_grad_hook(lambda p, i=i: self.hook(p, i))

    def move(self):
        """Puts the module on its device, without values of Tandem's."""
        self.module.to(self.device.own)
        self.bound = None

    def hook(self, parameter, i):
        """Takes a gradient. What is compiled gives none for a parameter that has no effect."""
        if parameter.grad is not None:
            self.take_gradient(parameter, i)

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
        if not self.compiled and x.numel() != self.samples * m.num_features:
            raise self.refused(f"a batch norm of {m.num_features} features gets values of shape "
                               f"{tuple(x.shape)} for {self.samples} samples; its running statistics need "
                               "one value of each feature for a sample: use layer norm")
        if x.numel() != m.num_features:
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
            loss = self.callee(by_slot, numbers, labels=given)
            if not isinstance(loss, torch.Tensor) or loss.dim() != 0:
                raise self.refused(f"forward returned {self.said(loss)} for labels; want a loss, a tensor of "
                                   "one value")
            return loss
        out = self.callee(by_slot, numbers, **({"labels": None} if self.takes_labels else {}))
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

    def compile(self):
        """Lets torch.compile compile the module, if it is asked to and has not. What is compiled is for
        ranges of numbers of samples, so not for those before, which differ from rank to rank."""
        if self.config.get("compile") and not self.compiled:
            import torch._dynamo
            import torch._inductor.config

            torch._inductor.config.compile_threads = 1  # no processes of its own
            torch._dynamo.reset()  # else modules of earlier trainings count towards its limit
            limits = torch._dynamo.config
            for name, value in (("recompile_limit", 256), ("cache_size_limit", 256),
                                ("fail_on_recompile_limit_hit", True), ("fail_on_cache_limit_hit", True)):
                if hasattr(limits, name):  # by version; beyond the limit nothing is compiled, silently
                    setattr(limits, name, value)
            self.callee, self.compiled = self.torch.compile(self.module, dynamic=True), True

    def rounded(self, train):
        """Returns the context of a pass: in training, autocast rounds to bf16 if the job wants that."""
        torch, rounds = self.torch, bool(train and self.config.get("bf16"))
        return torch.autocast(self.device.own.type, torch.bfloat16, enabled=rounds)

    def parts(self, embeddings):
        """Returns the columns of each slot."""
        return embeddings.split([s["width"] for s in self.config["slots"]], dim=1)

    def said(self, value):
        if isinstance(value, self.torch.Tensor):
            return f"a tensor of shape {tuple(value.shape)}"
        if isinstance(value, dict):
            return f"a dictionary of {', '.join(map(str, value))}"
        return f"a {type(value).__name__}"

    def values(self):
        """Returns a copy of the parameters."""
        return [p.detach().clone() for p in self.parameters]

    def same(self, a, b):
        return a.shape == b.shape and self.torch.allclose(a, b.to(a.device), rtol=0, atol=0,
                                                          equal_nan=True)

    def finite(self, tensors):
        return all(self.torch.isfinite(t).all() for t in tensors)

    def trial_samples(self, samples):
        """Returns embeddings, numbers and labels of a few samples that are not in the data, on the device."""
        return tuple(t.to(self.device.own) for t in self.host_samples(samples))

    def host_samples(self, samples):
        """Returns embeddings, numbers and labels of a few samples that are not in the data, on the host."""
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
