import torch
from torch import nn


class Everything(nn.Module):
    """Has all that a graph must have: a raw slot, batch norm, a constant, dropout and two labels."""

    def __init__(self, hidden=16):
        super().__init__()
        self.score = nn.LazyLinear(1)
        self.top = nn.Sequential(nn.LazyLinear(hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Dropout(0.5))
        self.heads = nn.ModuleDict({label: nn.Linear(hidden, 1) for label in ("bought", "clicked")})
        self.register_buffer("scale", torch.tensor([1.5, 0.5]))

    def forward(self, embeddings, numbers):
        rows, mask = embeddings["history"]
        weights = self.score(rows).squeeze(2).masked_fill(~mask, -1e9).softmax(1) * mask
        pooled = (weights.unsqueeze(2) * rows).sum(1)
        x = self.top(torch.cat([embeddings["user"] * embeddings["item"], pooled, numbers * self.scale], 1))
        return {label: head(x) for label, head in self.heads.items()}


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, embeddings, numbers):
        return self.layer(embeddings["user"])


class Branching(Plain):
    """Does what no graph can: it looks at values."""

    def forward(self, embeddings, numbers):
        y = super().forward(embeddings, numbers)
        return y if y.sum() > 0 else 2 * y
