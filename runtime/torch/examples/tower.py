"""The network of kind feed-forward: hidden layers over all embeddings and numbers."""

import torch
from torch import nn


class Tower(nn.Module):
    def __init__(self, hidden=(64, 32), batch_norm=True):
        super().__init__()
        self.layers = nn.Sequential()
        for width in hidden:
            self.layers.append(nn.LazyLinear(width))
            if batch_norm:
                self.layers.append(nn.BatchNorm1d(width))
            self.layers.append(nn.ReLU())
        self.layers.append(nn.LazyLinear(1))

    def forward(self, embeddings, numbers):
        return self.layers(torch.cat([*embeddings.values(), numbers], dim=1))
