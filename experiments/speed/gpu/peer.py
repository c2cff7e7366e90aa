"""PyTorch's side of the experiment "gpu": it follows networks.py of package pytorch. The argument is
the device, such as cuda:0.

Reads requests from standard input, one JSON object per line, and responds to each
with one line on standard output, which is {"error": text} if the request failed:

  {"do": "hello"}                  describe this PyTorch and its ways to do a step
  {"do": "open", "case": {...}, "files": {...}}
                                   read the values of a case
  {"do": "check", "way": w, "gradients": path}
                                   build a step of one way from the first parameters, do
                                   it some times, write the gradients of the first
  {"do": "run", "way": w, "steps": n}
                                   do n steps and return their seconds
  {"do": "close"}                  release the case

With "tables" in the case, a step is a TableStep, and check returns losses alone. Else a
step is forward, backward and Adam, on values that are on the device. It does what a
careful user does for speed: Adam is fused if possible, gradients are set to None, nothing
waits for the device within a step. bf16 is autocast: operands of products are rounded,
parameters and their updates are fp32.
"""

import json
import os
import platform
import sys
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

COMPILED = {"compiled": "default", "compiled with graphs": "reduce-overhead"}


class Loss(nn.Module):
    """The mean loss of a network."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, embeddings, numbers, labels):
        return F.binary_cross_entropy_with_logits(self.net(embeddings, numbers).float(), labels)


class Step:
    """A step of one way, from the first parameters on."""

    def __init__(self, case, way, device):
        samples = case["batch"]
        self.device, self.half = device, case["precision"] == "bf16"
        self.net = network(case["network"], values(case, "params")).to(device)
        self.optimizer = adam(self.net)
        self.embeddings = values(case, "embeddings").view(samples, -1).to(device).requires_grad_()
        self.numbers = values(case, "numbers").view(samples, -1).to(device)
        self.labels = values(case, "labels").to(device)
        self.loss = Loss(self.net)
        if way in COMPILED:
            self.loss = torch.compile(self.loss, mode=COMPILED[way], dynamic=False)
        self.begin = lambda: None
        if COMPILED.get(way) == "reduce-overhead" and hasattr(torch, "compiler"):
            self.begin = getattr(torch.compiler, "cudagraph_mark_step_begin", self.begin)

    def backward(self):
        self.begin()
        self.embeddings.grad = None
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
            loss = self.loss(self.embeddings, self.numbers, self.labels)
        loss.backward()
        return loss

    def step(self):
        loss = self.backward()
        self.optimizer.step()
        return loss

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def update(weight, state, ids, grads):
    """Takes a step of row-wise Adagrad. The squares of the gradients of a repeated row are
    added one by one, which needs no sort and no number that the host has to wait for."""
    state.index_add_(0, ids, grads.square().mean(1))
    root = state[ids].sqrt().add_(1e-8).unsqueeze(1)
    weight.index_add_(0, ids, grads.mul(-0.01).div_(root))


class TableStep:
    """A step of one way with the tables of all slots in GPU memory, as one table of zeros.
    The next batch is copied from pinned memory. With graphs, all else is one CUDA graph."""

    def __init__(self, case, way, device):
        net, samples, self.device = case["network"], case["batch"], device
        self.half, self.dim = case["precision"] == "bf16", net["dim"]
        self.net = network(net, values(case, "params")).to(device)
        graphs = way == "compiled with graphs"
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=0.001, capturable=True) \
            if graphs else adam(self.net)
        self.weight = torch.zeros(case["tables"] * net["slots"], self.dim, device=device)
        self.state = torch.zeros(len(self.weight), device=device)
        self.batches = values(case, "ids", np.int64).view(-1, samples * net["slots"])
        if device.type == "cuda":
            self.batches = self.batches.pin_memory()
        self.ids = self.batches[0].to(device)
        self.numbers = values(case, "numbers").view(samples, -1).to(device)
        self.labels = values(case, "labels").to(device)
        self.loss, self.update, self.next = Loss(self.net), update, 0
        if way in COMPILED:
            self.loss = torch.compile(self.loss, dynamic=False)
            self.update = torch.compile(update, dynamic=False)
        # A graph is recorded after steps on the stream that records it.
        self.graph, self.stream = None, torch.cuda.Stream(device) if graphs else None

    def work(self):
        self.optimizer.zero_grad(set_to_none=True)
        embeddings = self.weight[self.ids].view(len(self.labels), -1).requires_grad_()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
            loss = self.loss(embeddings, self.numbers, self.labels)
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            self.update(self.weight, self.state, self.ids, embeddings.grad.view(-1, self.dim))
        return loss.detach()

    def step(self):
        self.ids.copy_(self.batches[self.next % len(self.batches)], non_blocking=True)
        self.next += 1
        if self.stream is None:
            return self.work()
        if self.next <= 3:
            self.stream.wait_stream(torch.cuda.current_stream(self.device))
            with torch.cuda.stream(self.stream):
                loss = self.work()
            torch.cuda.current_stream(self.device).wait_stream(self.stream)
            return loss
        if self.graph is None:
            torch.cuda.synchronize(self.device)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph, stream=self.stream):  # records, and does nothing
                self.captured = self.work()
        self.graph.replay()
        return self.captured

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


class Peer:
    """The open case, and a method for each request."""

    def __init__(self, device):
        self.device, self.case, self.steps = torch.device(device), None, {}

    def hello(self, _):
        cuda = self.device.type == "cuda"
        if cuda and not torch.cuda.is_available():
            raise RuntimeError("this PyTorch has no CUDA, or finds no GPU")
        return {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "cuda": torch.version.cuda or "",
            "device": torch.cuda.get_device_name(self.device) if cuda else platform.processor() or "cpu",
            "fused": bool(adam(nn.Linear(1, 1).to(self.device)).defaults.get("fused")),
            "ways": ["eager"] + (list(COMPILED) if cuda and hasattr(torch, "compile") else []),
        }

    def open(self, request):
        self.close(request)
        self.case = {**request["case"], "files": request["files"]}
        torch.set_float32_matmul_precision("high" if self.case["precision"] == "tf32" else "highest")
        return {}

    def check(self, request):
        way = request["way"]
        self.steps.pop(way, None)
        if self.case.get("tables"):
            step = TableStep(self.case, way, self.device)
            losses = [step.step().item() for _ in range(request["steps"])]
            if not np.isfinite(losses).all():
                raise ValueError("a loss is not finite")  # which JSON cannot express
            self.steps[way] = step
            return {"losses": losses}
        step = Step(self.case, way, self.device)
        losses = [step.backward().item()]
        gradients = [p.grad for p in step.net.parameters()] + [step.embeddings.grad]
        with open(request["gradients"], "wb") as file:
            for gradient in gradients:
                file.write(gradient.float().cpu().numpy().tobytes())
        # The next step of a graph overwrites the gradients.
        finite = all(g.isfinite().all().item() for g in gradients)
        step.optimizer.step()
        losses += [step.step().item() for _ in range(request["steps"] - 1)]
        if not finite or not np.isfinite(losses).all():
            raise ValueError("a loss or a gradient is not finite")  # which JSON cannot express
        self.steps[way] = step
        return {"losses": losses}

    def run(self, request):
        step = self.steps[request["way"]]
        step.wait()
        begin = time.perf_counter()
        for _ in range(request["steps"]):
            step.step()
        step.wait()
        return {"seconds": time.perf_counter() - begin}

    def close(self, _):
        self.case, self.steps = None, {}
        if hasattr(torch, "_dynamo"):
            torch._dynamo.reset()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
        return {}


def main():
    # Libraries that print must not disturb the responses.
    responses = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    peer = Peer(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        try:
            response = getattr(peer, request["do"])(request)
        except Exception as problem:  # a compiler has errors of its own
            text = str(problem).strip().splitlines() or [""]
            response = {"error": f"{type(problem).__name__}: {text[0]}"}
        print(json.dumps(response), file=responses, flush=True)


main()
