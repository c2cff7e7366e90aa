import torch
from torch import nn


class Net(nn.Module):
    """A hidden layer over embeddings and numbers."""

    def __init__(self, hidden=16):
        super().__init__()
        self.top = nn.Sequential(nn.LazyLinear(hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, embeddings, numbers):
        return self.top(torch.cat([*embeddings.values(), numbers], dim=1))


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
        if len(numbers) != 4:  # not in the trial
            raise ValueError("no such user")
        return super().forward(embeddings, numbers)


class Hanging(Net):
    def forward(self, embeddings, numbers):
        while len(numbers) != 4:
            pass
        return super().forward(embeddings, numbers)


class Idle(Net):
    def __init__(self):
        super().__init__()
        self.idle = nn.Parameter(torch.zeros(2))
