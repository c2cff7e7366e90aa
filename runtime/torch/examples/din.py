"""Attention of a candidate over a history of ids (Zhou and others, KDD 2018).

The slot of the history is raw: n in the job. forward gets it as its embeddings, samples × n × values, and a
mask, samples × n, that is false where a sample has fewer ids.
"""

import torch
from torch import nn


class DIN(nn.Module):
    def __init__(self, history="history", candidate="item", attention=16, hidden=32):
        super().__init__()
        self.history, self.candidate = history, candidate
        self.score = nn.Sequential(nn.LazyLinear(attention), nn.ReLU(), nn.Linear(attention, 1))
        self.top = nn.Sequential(nn.LazyLinear(hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, embeddings, numbers):
        others = [rows for slot, rows in embeddings.items() if slot != self.history]
        rows, mask = embeddings[self.history]
        item = embeddings[self.candidate].unsqueeze(1).expand_as(rows)
        scores = self.score(torch.cat([rows, item, rows * item], dim=2)).squeeze(2)
        # As in the paper there is no softmax, so a long history weighs more, and an empty one is zero.
        interest = torch.einsum("si,siv->sv", scores * mask, rows)
        return self.top(torch.cat([interest, *others, numbers], dim=1))
