import os
import random
import subprocess
import sys
import time

import numpy
import torch
import torch.utils.checkpoint
from torch import nn


class Net(nn.Module):
    """A hidden layer over embeddings and numbers, with dropout."""

    def __init__(self, hidden=16):
        super().__init__()
        norm = nn.BatchNorm1d(hidden)
        self.top = nn.Sequential(nn.LazyLinear(hidden), norm, nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, embeddings, numbers):
        x = torch.cat([*embeddings.values(), numbers], dim=1)
        return self.top(nn.functional.dropout(x, 0.1, self.training))


class Shared(Net):
    def __init__(self):
        super().__init__()
        self.again = self.top[3].weight


class Frozen(Net):
    def __init__(self):
        super().__init__()
        self.top[3].bias.requires_grad_(False)


class Wide(Net):
    def forward(self, embeddings, numbers):
        return torch.cat([super().forward(embeddings, numbers)] * 2, dim=1)


class Counting(Net):
    """Keeps state."""

    def __init__(self):
        super().__init__()
        self.passes = 0

    def forward(self, embeddings, numbers):
        self.passes += 1
        return super().forward(embeddings, numbers) * self.passes


class Raising(Net):
    def forward(self, embeddings, numbers):
        if len(numbers) > 5:  # not in the trial
            raise ValueError("no such user")
        return super().forward(embeddings, numbers)


class Hanging(Net):
    def forward(self, embeddings, numbers):
        while len(numbers) > 5:
            pass
        return super().forward(embeddings, numbers)


class Idle(Net):
    def __init__(self):
        super().__init__()
        self.idle = nn.Parameter(torch.zeros(2))


class Sparse(Net):
    def __init__(self):
        super().__init__()
        self.rows = nn.Embedding(8, 1, sparse=True)

    def forward(self, embeddings, numbers):
        return super().forward(embeddings, numbers) + self.rows(numbers[:, 0].long() % 8)


class Buffered(Net):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, embeddings, numbers):
        self.seen += len(numbers)
        return super().forward(embeddings, numbers)


class Twice(Net):
    def forward(self, embeddings, numbers):
        return super().forward(embeddings, numbers) + super().forward(embeddings, -numbers)


class Drawing(Net):
    def __init__(self):
        super().__init__()
        self.factor = torch.rand(1)

    def forward(self, embeddings, numbers):
        return super().forward(embeddings, numbers) * self.factor


class Losses(Net):
    def forward(self, embeddings, numbers, labels):
        logits = super().forward(embeddings, numbers)[:, 0]
        return logits if labels is None else (logits - labels) ** 2


class Unready(Net):
    def forward(self, embeddings, numbers):
        return super().forward(embeddings, numbers) * embeddings["item"].sum()


class Strict(Net):
    def __init__(self, hidden):
        super().__init__(hidden)


class Extra(Net):
    def get_extra_state(self):
        return {"seen": 0}

    def set_extra_state(self, state):
        pass


class Cut(Net):
    def forward(self, embeddings, numbers):
        logits = super().forward(embeddings, numbers)
        return logits if len(numbers) <= 5 else logits[:1]


class Leaving(Net):
    def forward(self, embeddings, numbers):
        if len(numbers) > 5:
            sys.exit(3)
        return super().forward(embeddings, numbers)


class Killed(Net):
    def forward(self, embeddings, numbers):
        if len(numbers) > 5:
            os.kill(os.getpid(), 9)
        return super().forward(embeddings, numbers)


class Infinite(Net):
    def forward(self, embeddings, numbers):
        return super().forward(embeddings, numbers) * (1 if len(numbers) <= 5 else float("nan"))


class Forking(Net):
    """Starts a process that has its pipes, and a program."""

    started = None

    def __init__(self):
        super().__init__()
        if Forking.started is None:
            Forking.started = [os.fork()]
            while Forking.started[0] == 0:
                time.sleep(1)
            Forking.started.append(subprocess.Popen(["sleep", "1000"]).pid)
            print("started", *Forking.started)


class Rows(Net):
    """Normalizes two rows of a sample."""

    def forward(self, embeddings, numbers):
        x = self.top[0](torch.cat([*embeddings.values(), numbers], dim=1))
        return self.top[2:](self.top[1](torch.cat([x, x]))[: len(x)])


class LazyNorm(nn.Module):
    """Has no lazy parameter, but a lazy buffer."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.LazyBatchNorm1d(affine=False), nn.Linear(4, 1))

    def forward(self, embeddings, numbers):
        return self.layers(embeddings["user"])


class Parts(Net):
    """Has a layer whose gradient comes from two backward passes."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, embeddings, numbers):
        x = torch.cat([*embeddings.values()], dim=1)
        again = torch.utils.checkpoint.checkpoint(self.layer, x, use_reentrant=True)
        return super().forward({"x": self.layer(x) + again}, numbers)


class Guessing(Net):
    def forward(self, embeddings, numbers):
        return nn.functional.dropout(super().forward(embeddings, numbers), 0.5)


class Seeded(Net):
    """Draws parameters by numpy and random, which are seeded."""

    def __init__(self):
        super().__init__()
        with torch.no_grad():
            self.top[3].bias.fill_(numpy.random.rand() + random.random())


class Unseeded(Net):
    def __init__(self):
        super().__init__()
        with torch.no_grad():
            self.top[3].bias.fill_(numpy.random.default_rng().random())


class Clamping(Net):
    def forward(self, embeddings, numbers):
        self.top[3].weight.data.clamp_(min=0)
        return super().forward(embeddings, numbers)


class Bounded(Net):
    def __init__(self):
        super().__init__()
        self.rows = nn.Embedding(8, 4, max_norm=0.1)

    def forward(self, embeddings, numbers):
        x = self.rows((numbers[:, 0] * 8).long() % 8)
        return super().forward(embeddings, numbers) + x.sum(dim=1, keepdim=True)


class Growing(Net):
    """Keeps state in passes of more than four samples."""

    scale = 1.0

    def forward(self, embeddings, numbers):
        if len(numbers) > 4:
            self.scale *= 1.5
        return super().forward(embeddings, numbers) * self.scale


class Untracked(Net):
    def __init__(self):
        super().__init__()
        self.top[1] = nn.BatchNorm1d(16, track_running_stats=False)


class Centred(Net):
    def forward(self, embeddings, numbers):
        z = super().forward(embeddings, numbers)
        return z - z.mean()


class Squeezed(Net):
    def forward(self, embeddings, numbers):
        return super().forward(embeddings, numbers).squeeze()


class Unordered(Net):
    """Has parameters whose order follows from the seed of hashes."""

    def __init__(self):
        super().__init__()
        self.more = nn.ModuleDict({name: nn.Linear(1, 1) for name in {"left", "right", "up", "down", "over"}})

    def forward(self, embeddings, numbers):
        x = super().forward(embeddings, numbers)
        return x + sum(layer(numbers[:, :1]) for layer in self.more.values())


class Noisy(Unordered):
    """Has noise only for more samples than a trial has."""

    def forward(self, embeddings, numbers):
        z = super().forward(embeddings, numbers)
        return z + torch.randn_like(z) / 8 if self.training and len(numbers) > 5 else z


class Fixed(Net):
    """Has a buffer that stays as it is made."""

    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(1))

    def forward(self, embeddings, numbers):
        return super().forward(embeddings, numbers) * self.scale


class Doubled(Net):
    """Has another gradient when it is compiled, and the same value."""

    dropped = 0.0

    def forward(self, embeddings, numbers):
        x = torch.cat([*embeddings.values(), numbers], dim=1)
        if self.dropped:
            x = nn.functional.dropout(x, self.dropped, self.training)
        y = self.top(x)
        return y + (y - y.detach()) if torch.compiler.is_compiling() else y


class DoubledAndDropped(Doubled):
    dropped = 0.1


class Rounded(Net):
    """Adds what autocast has rounded to memory that it has not."""

    def forward(self, embeddings, numbers):
        out = super().forward(embeddings, numbers)
        return torch.zeros(len(numbers), 1).index_add_(0, torch.arange(len(numbers)), out)
