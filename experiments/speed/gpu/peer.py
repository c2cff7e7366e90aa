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
