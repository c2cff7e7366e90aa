"""What a module must do to be trained, tried with made-up samples."""

from .module import TRIALS, Module
from .refused import Refused


class Trial(Module):
    """A module that is tried: what it cannot do is Refused, and what it costs is counted."""

    trial = None  # gradients of a trial

    def try_module(self):
        """Refuses what cannot be trained. It leaves a fresh module, and returns what a sample costs."""
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
        self.try_compiled()
        self.try_rounded()
        self.check_constructor(fresh, output)
        return cost

    def train_once(self, samples):
        """Returns what forward returns in training for made-up samples."""
        x, n, y = self.trial_samples(samples)
        self.device.seed(1)
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
        before = self.device.random_state()
        with torch.no_grad():
            together = self.run(x, n, y, False)
            if not torch.equal(before, self.device.random_state()):
                raise self.refused("forward draws random numbers for a prediction; give dropout "
                                   "self.training")
            for part in (slice(0, 2), slice(2, 4), slice(0, 1)):
                apart = self.run(x[part], n[part], y[part], False)
                if not torch.allclose(apart, together[part], rtol=1e-4, atol=1e-4, equal_nan=True):
                    raise self.refused("the prediction of a sample depends on the samples beside it; give "
                                       "batch norm running statistics, and take no means over samples")
        self.set_training(True)

    def try_compiled(self):
        """Refuses a module that torch.compile, if it is asked for, does not compile, or makes another."""
        if not self.config.get("compile"):
            return
        torch, at = self.torch, self.where_is(self.made_of)
        advice = "leave out model.compile"
        try:
            self.compile()
            callee = self.callee
            compiled = self.predictions_and_gradients()
            self.callee, self.compiled = self.module, False
            plain = self.predictions_and_gradients()
            self.callee, self.compiled = callee, True
        except Refused:
            raise
        except Exception as e:  # of many kinds, and of many lines
            line = next(iter(str(e).strip().splitlines()), "")
            raise Refused(f"{at}: torch.compile, which needs a C++ compiler such as g++, cannot compile the "
                          f"module ({type(e).__name__}: {line}): {advice}")
        if not torch.allclose(plain[0], compiled[0], rtol=1e-3, atol=1e-4, equal_nan=True):
            raise Refused(f"{at}: torch.compile makes other predictions of the module: {advice}")
        largest = max(float(g.abs().max()) for g in plain[1:] if g is not None)
        for name, a, b in zip(("the embeddings", *self.names), plain[1:], compiled[1:]):
            if not same_gradient(a, b, largest):
                raise Refused(f"{at}: torch.compile computes another gradient of {name} of the module: "
                              f"{advice}")
        self.set_training(True)

    def try_rounded(self):
        """Refuses a module that cannot be trained in bf16, if the job wants that: one may add what autocast
        has rounded to memory of its own."""
        if not self.config.get("bf16"):
            return
        try:
            with self.rounded(True):
                output = self.train_once(TRIALS[-1])
            self.check_gradients(output.float())
        except Refused:
            raise
        except Exception as e:  # of many kinds, and of many lines
            line = next(iter(str(e).strip().splitlines()), "")
            raise self.refused(f"under autocast, as model.precision: bf16 asks for, {type(e).__name__}: "
                               f"{line}; leave out model.precision, or give memory of your own the dtype "
                               "of what it takes")

    def predictions_and_gradients(self):
        """Returns the predictions of made-up samples, and the gradients of their embeddings and of the
        parameters in training. Of a module that draws random numbers they are those of predictions, as
        what is compiled draws others."""
        torch = self.torch
        self.set_training(True)
        before = self.device.random_state()
        gradients = self.gradients()
        self.device.seed(1)
        seeded = self.device.random_state()
        self.run(*self.trial_samples(TRIALS[-1]), True)
        draws = not torch.equal(seeded, self.device.random_state())
        self.device.set_random_state(before)
        for m in self.norms:  # both ways predict with the same
            m.reset_running_stats()
        self.set_training(False)
        if draws:
            gradients = self.gradients()
        with torch.no_grad():
            return [self.run(*self.trial_samples(TRIALS[-1]), False), *gradients]

    def gradients(self):
        """Returns the gradients of embeddings and parameters, in training or in a prediction."""
        torch = self.torch
        self.trial = [None] * len(self.parameters)
        x, n, y = self.trial_samples(TRIALS[-1])
        output = self.run(x.requires_grad_(), n, y, self.training)
        weights = torch.linspace(1, 2, output.numel(), device=output.device)  # each sample counts otherwise
        (output * weights.view(output.shape)).sum().backward()
        gradients, self.trial = self.trial, None
        return [x.grad, *gradients]

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

    def take_gradient(self, parameter, i):
        """Takes the gradient of a parameter in a trial."""
        if self.trial[i] is not None:
            raise self.refused_twice(i)
        self.trial[i] = parameter.grad
        parameter.grad = None

    def refused_twice(self, i):
        return self.refused(f"parameter {self.names[i]} gets its gradient in two parts; give checkpoint() "
                            "use_reentrant=False")


def same_gradient(a, b, largest):
    """Reports whether two gradients agree to 0.1 % of their largest value. Of values below a hundredth of
    the largest of all gradients, as those of a shift before batch norm, the difference counts beside that."""
    if a is None or b is None:
        return a is b
    return bool((a - b).abs().max() <= 1e-3 * max(float(a.abs().max()), 0.01 * largest))


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
