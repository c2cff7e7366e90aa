"""Several labels of each row, by a mixture of experts (MMoE: Ma and others, KDD 2018)."""

import torch
from torch import nn


class MultiTask(nn.Module):
    def __init__(self, labels, experts=4, width=32):
        """labels are those of the data, in any order."""
        super().__init__()
        self.experts = nn.ModuleList(nn.Sequential(nn.LazyLinear(width), nn.ReLU()) for _ in range(experts))
        self.gates = nn.ModuleDict({label: nn.LazyLinear(experts) for label in labels})
        self.heads = nn.ModuleDict({label: nn.Linear(width, 1) for label in labels})

    def forward(self, embeddings, numbers):
        x = torch.cat([*embeddings.values(), numbers], dim=1)
        experts = torch.stack([expert(x) for expert in self.experts], dim=1)
        logits = {}
        for label, head in self.heads.items():
            shares = self.gates[label](x).softmax(dim=1)
            logits[label] = head(torch.einsum("se,sev->sv", shares, experts))
        return logits
