"""Two towers, whose negatives are the other items of the batch (Yi and others, RecSys 2019).

It computes a loss of its own, because a score for every pair of a batch is no logit of a row.
"""

import torch
from torch import nn
from torch.nn import functional as F


def tower(width):
    return nn.Sequential(nn.LazyLinear(2 * width), nn.ReLU(), nn.Linear(2 * width, width))


class TwoTower(nn.Module):
    def __init__(self, users=("user",), items=("item",), width=16, temperature=0.2):
        """users and items are slots. What is in neither, and numbers, are not used."""
        super().__init__()
        self.users, self.items, self.temperature = users, items, temperature
        self.user, self.item = tower(width), tower(width)

    def forward(self, embeddings, numbers, labels=None):
        user = F.normalize(self.user(torch.cat([embeddings[slot] for slot in self.users], dim=1)))
        item = F.normalize(self.item(torch.cat([embeddings[slot] for slot in self.items], dim=1)))
        if labels is None:  # the prediction of a row
            return (user * item).sum(dim=1) / self.temperature
        scores = user @ item.T / self.temperature  # a row for each user, a column for each item
        own = torch.arange(len(user), device=user.device)
        return (labels * F.cross_entropy(scores, own, reduction="none")).mean()
