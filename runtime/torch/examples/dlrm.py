"""The network of kind dlrm: dot products of all pairs of embeddings (Naumov and others, arXiv 1906.00091)."""

import torch
from torch import nn


def stack(widths):
    """Returns hidden layers of these widths."""
    layers = nn.Sequential()
    for width in widths:
        layers.extend([nn.LazyLinear(width), nn.ReLU()])
    return layers


class DLRM(nn.Module):
    def __init__(self, dim=16, bottom=(64, 32), top=(64, 32)):
        """dim is the length of an embedding: model.embedding-dim of the job."""
        super().__init__()
        self.bottom = stack([*bottom, dim])
        self.top = stack(top)
        self.output = nn.LazyLinear(1)

    def forward(self, embeddings, numbers):
        z = self.bottom(numbers)
        vectors = torch.stack([z, *embeddings.values()], dim=1)
        products = vectors @ vectors.transpose(1, 2)
        count = vectors.shape[1]
        i, j = torch.tril_indices(count, count, offset=-1, device=vectors.device)
        return self.output(self.top(torch.cat([z, products[:, i, j]], dim=1)))
