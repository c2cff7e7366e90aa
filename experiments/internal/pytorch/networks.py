"""Networks that PyTorch builds as Tandem does: needs torch and numpy, nothing else. The program of a
peer follows this text and uses its names.
"""

import numpy as np
import torch
from torch import nn


def values(case, name, dtype=np.float32):
    """Returns the array that the other side has written under a name."""
    return torch.from_numpy(np.fromfile(case["files"][name], dtype=dtype))


def stack(width, widths):
    """Returns hidden layers, each with its ReLU, and the width of the last one."""
    layers = []
    for out in widths:
        layers += [nn.Linear(width, out), nn.ReLU(inplace=True)]
        width = out
    return nn.Sequential(*layers), width


class FeedForward(nn.Module):
    """Concatenated embeddings and numbers, hidden layers, a logit."""

    def __init__(self, net):
        super().__init__()
        self.top, width = stack(net["slots"] * net["dim"] + net["numeric"], net["top"])
        self.output = nn.Linear(width, 1)

    def forward(self, embeddings, numbers):
        return self.output(self.top(torch.cat([embeddings, numbers], 1))).squeeze(1)


class DLRM(nn.Module):
    """As in the code of its authors: bottom, dot products of all pairs, top. Pairs are
    selected by one index, whose backward pass is faster than that of their two."""

    def __init__(self, net):
        super().__init__()
        self.dim, vectors = net["dim"], net["slots"] + 1
        self.bottom, _ = stack(net["numeric"], net["bottom"] + [self.dim])
        self.top, width = stack(self.dim + vectors * (vectors - 1) // 2, net["top"])
        self.output = nn.Linear(width, 1)
        rows, columns = torch.tril_indices(vectors, vectors, -1)
        self.register_buffer("pairs", rows * vectors + columns)

    def forward(self, embeddings, numbers):
        bottom = self.bottom(numbers)
        vectors = torch.cat([bottom, embeddings], 1).view(len(numbers), -1, self.dim)
        products = torch.bmm(vectors, vectors.transpose(1, 2)).flatten(1).index_select(1, self.pairs)
        return self.output(self.top(torch.cat([bottom, products], 1))).squeeze(1)


class DCNv2(nn.Module):
    """Cross layers x0 * (Wx + b) + x, and beside them hidden layers."""

    def __init__(self, net):
        super().__init__()
        width = net["slots"] * net["dim"] + net["numeric"]
        self.cross = nn.ModuleList(nn.Linear(width, width) for _ in range(net["cross"]))
        self.top, deep = stack(width, net["top"])
        self.output = nn.Linear(width + deep, 1)

    def forward(self, embeddings, numbers):
        first = torch.cat([embeddings, numbers], 1)
        x = first
        for layer in self.cross:
            x = first * layer(x) + x
        return self.output(torch.cat([x, self.top(first)], 1)).squeeze(1)


def network(net, params=None):
    """Returns a network, with the parameters of the other side if there are any."""
    built = {"feed-forward": FeedForward, "dlrm": DLRM, "dcn-v2": DCNv2}[net["kind"]](net)
    if params is not None:
        count = sum(p.numel() for p in built.parameters())
        if count != len(params):
            raise ValueError(f"the network has {count} parameters, but the other side has {len(params)}")
        at = 0
        with torch.no_grad():
            for p in built.parameters():
                p.copy_(params[at : at + p.numel()].view_as(p))
                at += p.numel()
    return built


def adam(net):
    """Returns Adam with its default settings, fused if this PyTorch can."""
    try:
        return torch.optim.Adam(net.parameters(), lr=0.001, fused=True)
    except (TypeError, RuntimeError):
        return torch.optim.Adam(net.parameters(), lr=0.001)
