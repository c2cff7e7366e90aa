"""The networks of experiment modules, for both sides."""

import torch
from torch import nn


def stack(width, widths):
    """Returns hidden layers, each with its ReLU, and the width of the last one."""
    layers = []
    for out in widths:
        layers += [nn.Linear(width, out), nn.ReLU(inplace=True)]
        width = out
    return nn.Sequential(*layers), width


class FeedForward(nn.Module):
    """Concatenated embeddings and numbers, hidden layers, a logit."""

    def __init__(self, slots, numbers, dim, top):
        super().__init__()
        self.top, width = stack(slots * dim + numbers, top)
        self.output = nn.Linear(width, 1)

    def forward(self, embeddings, numbers):
        return self.output(self.top(torch.cat([*embeddings.values(), numbers], dim=1)))


class DLRM(nn.Module):
    """Bottom, dot products of all pairs, top. Pairs are selected by one index, whose backward pass is faster
    than that of their two."""

    def __init__(self, slots, numbers, dim, bottom, top):
        super().__init__()
        vectors = slots + 1
        self.bottom, _ = stack(numbers, [*bottom, dim])
        self.top, width = stack(dim + vectors * (vectors - 1) // 2, top)
        self.output = nn.Linear(width, 1)
        rows, columns = torch.tril_indices(vectors, vectors, -1)
        self.register_buffer("pairs", rows * vectors + columns)

    def forward(self, embeddings, numbers):
        bottom = self.bottom(numbers)
        vectors = torch.stack([bottom, *embeddings.values()], dim=1)
        products = torch.bmm(vectors, vectors.transpose(1, 2)).flatten(1).index_select(1, self.pairs)
        return self.output(self.top(torch.cat([bottom, products], dim=1)))
