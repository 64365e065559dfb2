"""Loops of PyTorch in turns with those of other processes (turns.py). argv: which of
  train   a training step that runs ahead of the GPU
  gemm    matrix products into the same memory
  decode  a token of a language model: replays a CUDA graph and waits for it
  deep    the same of a deeper model: more than 400 kernels in a graph
  conv    a training step of a small convolution net, bound by the host
  jax     a training step and a scan by JAX
For each line NAME COUNT of standard input a quarter of so many steps untimed, then all of them
timed; prints the microseconds of a step."""
import importlib
import itertools
import json
import os
import sys
import time

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attend = nn.MultiheadAttention(width, heads, batch_first=True)
        self.wide = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(),
                                  nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm(x)
        x = x + self.attend(y, y, y, need_weights=False)[0]
        return x + self.wide(x)


def train():
    net = nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True).cuda().bfloat16()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
    x = torch.randn(16, 512, 1024, device="cuda", dtype=torch.bfloat16)

    def step():
        optimizer.zero_grad()
        net(x).float().pow(2).mean().backward()
        optimizer.step()
    return step, 20


def gemm():
    a, b = (torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    c = torch.empty_like(a)
    return lambda: torch.mm(a, b, out=c), 100


def model(blocks=8):
    net = nn.Sequential(*[Block(1024, 16) for _ in range(blocks)]).cuda().bfloat16().eval()
    return net, torch.randn(8, 1, 1024, device="cuda", dtype=torch.bfloat16)


def captured(net, x):
    """A graph of net(x), after some runs of it, and its output."""
    side = torch.cuda.Stream()
    with torch.no_grad(), torch.cuda.stream(side):
        for _ in range(3):
            net(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        y = net(x)
    return graph, y


def decode(blocks=8):
    net, x = model(blocks)
    graph, y = captured(net, x)

    def token():
        graph.replay()
        x.copy_(y.clamp(-1, 1))
    return token, 1


def deep():
    return decode(36)


def programs():
    """Programs of tests/gpu/py."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "gpu", "py"))
    return importlib.import_module("programs")


def conv():
    step, numbers = programs().conv(torch), itertools.count()
    return lambda: step(next(numbers)), 10


def with_jax():
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    step, number = programs().with_jax()
    return lambda: number(step(0)), 1


def run(loop, count):
    step, together = loop
    begin = time.perf_counter()
    for i in range(count):
        step()
        if i % together == together - 1:
            torch.cuda.synchronize()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / count * 1e6


LOOPS = {"train": train, "gemm": gemm, "decode": decode, "deep": deep, "conv": conv, "jax": with_jax}


def main(names):
    torch.manual_seed(0)
    loops = {name: LOOPS[name]() for name in names}
    made = dict.fromkeys(names, 0)
    for loop in loops.values():
        run(loop, 30)
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    print("ready", flush=True)
    for line in sys.stdin:
        name, number = line.split()
        run(loops[name], int(number) // 4)
        print(f"{run(loops[name], int(number)):.1f}", flush=True)
        made[name] += int(number)
    print(json.dumps({"steps": made}))


if __name__ == "__main__":
    main(sys.argv[1:])
