"""PyTorch's side of the experiment "speed": it follows networks.py of package pytorch. With the
argument "fbgemm" it is FBGEMM's side, which does sparse steps and trainings with row-wise
Adagrad and needs fbgemm_gpu.

Reads requests from standard input, one JSON object per line, and responds to each
with one line on standard output, which is {"error": text} if the request failed:

  {"do": "hello"}                 describe this PyTorch
  {"do": "open", "case": {...}, "files": {...}, "warm_ups": n}
                                  build the work of a case and warm it up
  {"do": "run", "steps": n}       do n steps and return their seconds
  {"do": "close"}                 release the case

It does what a careful user of PyTorch does for speed on a CPU: optimizers are fused
if possible, gradients are set to None, inputs are contiguous and in memory, and the
number of threads is that of the case. Sizes and values come from the other side, so
that both sides do the same work.
"""

import gc
import json
import os
import platform
import re
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


def params(case):
    """Returns the parameters that the other side has written, or None."""
    return values(case, "params") if "params" in case["files"] else None


class Dense:
    """Forward, backward and optimizer of a network, with the gradient of its input."""

    def __init__(self, case):
        samples = case["batch"]
        self.net = network(case["net"], params(case))
        self.optimizer = adam(self.net)
        self.embeddings = values(case, "embeddings").view(samples, -1).requires_grad_()
        self.numbers = values(case, "numbers").view(samples, -1)
        self.labels = values(case, "labels")

    def step(self):
        self.embeddings.grad = None
        self.optimizer.zero_grad(set_to_none=True)
        self.last = F.binary_cross_entropy_with_logits(self.net(self.embeddings, self.numbers), self.labels)
        self.last.backward()
        self.optimizer.step()

    def check(self):
        return self.last.item()


class Sparse:
    """Lookup, backward and Adagrad of embedding rows. One table for all slots with sparse
    gradients is faster here than a table per slot and than EmbeddingBag."""

    def __init__(self, case):
        rows, samples = case["rows"], case["batch"]
        slots, each, dim = rows["slots"], rows["each"], rows["dim"]
        ids = values(case, "ids", np.int64).view(-1, slots, samples)
        ids += torch.arange(slots).view(1, slots, 1) * each
        self.ids = ids.transpose(1, 2).contiguous()  # samples × slots, by batch
        self.grads = values(case, "grads").view(samples, slots, dim)
        # zero_ writes every page; torch.zeros would leave them to the system.
        self.table = nn.Embedding(slots * each, dim, sparse=True,
                                  _weight=torch.empty(slots * each, dim).zero_())
        self.optimizer = torch.optim.Adagrad(self.table.parameters(), lr=0.01, initial_accumulator_value=0.01)
        # The other side divides by the number of samples, as a mean loss does.
        self.grads /= samples
        self.steps = 0

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.pooled = self.table(self.ids[self.steps % len(self.ids)])
        self.pooled.backward(self.grads)
        self.optimizer.step()
        self.steps += 1

    def check(self):
        return self.pooled.abs().mean(dtype=torch.float64).item()


def table_batched(counts, dim, row_wise):
    """Returns FBGEMM's tables of so many rows each, with Adagrad or row-wise Adagrad."""
    tables, kinds = FBGEMM["tables"], FBGEMM["config"].EmbOptimType
    built = tables.SplitTableBatchedEmbeddingBagsCodegen(
        [(count, dim, tables.EmbeddingLocation.HOST, tables.ComputeDevice.CPU) for count in counts],
        optimizer=kinds.EXACT_ROWWISE_ADAGRAD if row_wise else kinds.EXACT_ADAGRAD,
        learning_rate=0.01,
        eps=1e-10,
    )
    for states in built.split_optimizer_states():
        states[0].fill_(0.01)
    return built


class TableBatched:
    """The same by FBGEMM's table-batched embedding, which has a table per slot and updates its
    rows within the backward pass."""

    def __init__(self, case):
        rows, samples = case["rows"], case["batch"]
        slots, each, dim = rows["slots"], rows["each"], rows["dim"]
        self.ids = values(case, "ids", np.int64).view(-1, slots * samples)  # by batch, slot and sample
        self.offsets = torch.arange(slots * samples + 1)
        self.grads = values(case, "grads").view(samples, slots * dim) / samples
        self.tables = table_batched([each] * slots, dim, case.get("row_wise"))
        for weights in self.tables.split_embedding_weights():
            weights.zero_()
        self.steps = 0

    def step(self):
        self.pooled = self.tables(self.ids[self.steps % len(self.ids)], self.offsets)
        self.pooled.backward(self.grads)
        self.steps += 1

    def check(self):
        return self.pooled.abs().mean(dtype=torch.float64).item()


class Train:
    """A training from data to model. A step is a whole training of a new model. The table
    has only the ids that occur."""

    def __init__(self, case):
        self.case, slots, numeric = case, case["net"]["slots"], case["net"]["numeric"]
        self.parts = {}
        for part in "train", "test":
            self.parts[part] = (
                values(case, part + " ids", np.int64).view(-1, slots),
                values(case, part + " numbers").view(-1, numeric),
                values(case, part + " labels"),
            )

    def step(self):
        case, (_, _, labels) = self.case, self.parts["train"]
        size = case["batch"]
        self.net = network(case["net"], params(case))
        optimizers = [adam(self.net)] + self.new_rows()
        begin = time.perf_counter()
        for _ in range(case["corpus"]["epochs"]):
            order = torch.randperm(len(labels))
            for at in range(0, len(labels), size):
                for optimizer in optimizers:
                    optimizer.zero_grad(set_to_none=True)
                self.loss("train", order[at : at + size]).backward()
                for optimizer in optimizers:
                    optimizer.step()
        return time.perf_counter() - begin

    def new_rows(self):
        """Makes new rows and returns the optimizers that update them after a backward pass."""
        count, dim = self.case["corpus"]["ids"], self.case["net"]["dim"]
        rows = torch.empty(count, dim).uniform_(-0.01, 0.01)
        self.table = nn.Embedding(count, dim, sparse=True, _weight=rows)
        return [torch.optim.Adagrad(self.table.parameters(), lr=0.01, initial_accumulator_value=0.01)]

    def pooled(self, part, chosen):
        """Returns the embeddings of the chosen samples, a line for each."""
        return self.table(self.parts[part][0][chosen]).view(len(chosen), -1)

    def loss(self, part, chosen):
        _, numbers, labels = self.parts[part]
        logits = self.net(self.pooled(part, chosen), numbers[chosen])
        return F.binary_cross_entropy_with_logits(logits, labels[chosen])

    def check(self):
        with torch.no_grad():
            return self.loss("test", torch.arange(len(self.parts["test"][2]))).item()


class TrainTableBatched(Train):
    """The same as TorchRec does it on one host: FBGEMM's table-batched embedding, with a table
    per slot and row-wise Adagrad within the backward pass, and a network of PyTorch."""

    def __init__(self, case):
        super().__init__(case)
        # FBGEMM's tables are numbered from 0 each, and ids are ordered by slot.
        train, test = self.parts["train"][0], self.parts["test"][0]
        columns, self.counts = [], []
        for column in torch.cat([train, test]).T:
            known, numbers = torch.unique(column, return_inverse=True)
            columns.append(numbers)
            self.counts.append(len(known))
        ids = torch.stack(columns)
        self.ids = {"train": ids[:, : len(train)].contiguous(), "test": ids[:, len(train) :].contiguous()}

    def new_rows(self):
        self.tables = table_batched(self.counts, self.case["net"]["dim"], row_wise=True)
        for weights in self.tables.split_embedding_weights():
            weights.uniform_(-0.01, 0.01)
        return []

    def pooled(self, part, chosen):
        ids = self.ids[part].index_select(1, chosen).flatten()
        return self.tables(ids, torch.arange(len(ids) + 1))


KINDS = {"dense": Dense, "sparse": Sparse, "train": Train}
FBGEMM = {}  # the modules of FBGEMM


def use_fbgemm():
    """Imports FBGEMM, for sparse steps and trainings with row-wise Adagrad."""
    import fbgemm_gpu
    from fbgemm_gpu import split_embedding_configs, split_table_batched_embeddings_ops_training

    FBGEMM.update(
        version=getattr(fbgemm_gpu, "__version__", "of an unknown version"),
        tables=split_table_batched_embeddings_ops_training,
        config=split_embedding_configs,
    )
    KINDS.update(sparse=TableBatched, train=TrainTableBatched)


class Peer:
    """The open case, and a method for each request."""

    def __init__(self):
        self.case = None

    def hello(self, _):
        built = torch.__config__.show()
        blas = re.search(r"BLAS_INFO=(\w+)", built)
        capability = re.search(r"CPU capability usage: (\S+)", built)
        return {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "blas": blas.group(1) if blas else "unknown BLAS",
            "capability": capability.group(1) if capability else "unknown",
            "fused": bool(adam(nn.Linear(1, 1)).defaults.get("fused")),
            "fbgemm": FBGEMM.get("version", ""),
            "openblas_coretype": os.environ.get("OPENBLAS_CORETYPE", ""),
        }

    def open(self, request):
        case = {**request["case"], "files": request["files"]}
        torch.set_num_threads(case["threads"])
        self.close(None)  # frees its memory first
        self.case = KINDS[case["kind"]](case)
        for _ in range(request["warm_ups"]):
            self.case.step()
        return {"check": self.case.check()}

    def run(self, request):
        begin, own = time.perf_counter(), 0.0
        for _ in range(request["steps"]):
            # A step with preparations returns the time of the rest.
            own += self.case.step() or 0.0
        return {"seconds": own or time.perf_counter() - begin}

    def close(self, _):
        self.case = None
        gc.collect()  # modules that refer to themselves hold their rows until then
        return {}


def main():
    # Libraries that print must not disturb the responses.
    responses = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    torch.set_num_interop_threads(1)
    if sys.argv[1:] == ["fbgemm"]:
        use_fbgemm()
    peer = Peer()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            response = getattr(peer, request["do"])(request)
        except (RuntimeError, MemoryError, ValueError, KeyError) as problem:
            response = {"error": f"{type(problem).__name__}: {problem}"}
        print(json.dumps(response), file=responses, flush=True)


main()
