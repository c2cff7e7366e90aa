"""The steps of a torch.optim whose state is Tandem's."""

import collections
import types

from .refused import Refused


class Optimizer:
    """The torch.optim that a function of the user's file makes.

    Its state is Tandem's: for every entry of a parameter's state a slot, which has a value for each value of
    the parameter, or the same one if the entry is a number.
    """

    def __init__(self, worker, make):
        self.torch = torch = worker.torch
        self.size, self.places = worker.size, worker.places
        at = worker.where_is(make)
        self.parameters = [torch.nn.Parameter(torch.zeros(p.shape)) for p in worker.parameters]
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
