"""PyTorch's side of the experiment "gpu": needs torch and numpy, nothing else. The argument is
the device, such as cuda:0.

Reads requests from standard input, one JSON object per line, and responds to each
with one line on standard output, which is {"error": text} if the request failed:

  {"do": "hello"}                  describe this PyTorch and its ways to do a step
  {"do": "open", "case": {...}}    read the values of a case
  {"do": "check", "way": w, "gradients": path}
                                   build a step of one way from the first parameters, do
                                   it some times, write the gradients of the first
  {"do": "run", "way": w, "steps": n}
                                   do n steps and return their seconds
  {"do": "close"}                  release the case

A step is forward, backward and Adam, on values that are on the device. It does what a
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


def values(case, name):
    """Returns the array that the other side has written under a name."""
    return torch.from_numpy(np.fromfile(case["files"][name], dtype=np.float32))


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


class Loss(nn.Module):
    """The mean loss of a network."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, embeddings, numbers, labels):
        return F.binary_cross_entropy_with_logits(self.net(embeddings, numbers).float(), labels)


def network(case):
    """Returns the network of a case with the parameters of the other side."""
    kinds = {"feed-forward": FeedForward, "dlrm": DLRM, "dcn-v2": DCNv2}
    net, given = kinds[case["network"]["kind"]](case["network"]), values(case, "params")
    count = sum(p.numel() for p in net.parameters())
    if count != len(given):
        raise ValueError(f"the network has {count} parameters, but the other side has {len(given)}")
    at = 0
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(given[at : at + p.numel()].view_as(p))
            at += p.numel()
    return net


def adam(net):
    """Returns Adam with its default settings, fused if this PyTorch can."""
    try:
        return torch.optim.Adam(net.parameters(), lr=0.001, fused=True)
    except (TypeError, RuntimeError):
        return torch.optim.Adam(net.parameters(), lr=0.001)


class Step:
    """A step of one way, from the first parameters on."""

    def __init__(self, case, way, device):
        samples = case["batch"]
        self.device, self.half = device, case["precision"] == "bf16"
        self.net = network(case).to(device)
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
        self.case = request["case"]
        torch.set_float32_matmul_precision("high" if self.case["precision"] == "tf32" else "highest")
        return {}

    def check(self, request):
        way = request["way"]
        self.steps.pop(way, None)
        step = Step(self.case, way, self.device)
        losses = [step.backward().item()]
        gradients = [p.grad for p in step.net.parameters()] + [step.embeddings.grad]
        with open(request["gradients"], "wb") as file:
            for gradient in gradients:
                file.write(gradient.float().cpu().numpy().tobytes())
        step.optimizer.step()
        losses += [step.step().item() for _ in range(request["steps"] - 1)]
        if not np.isfinite(losses).all() or not all(g.isfinite().all() for g in gradients):
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
