# SPDX-License-Identifier: Apache-2.0
"""How fast two PyTorch programs go: a training step launched kernel by kernel, and a loop like the
decoding of a language model, which replays a CUDA graph for each token. Prints one JSON object: ms per
step, median and mean. argv[1]: seconds for each (4)."""
import json
import statistics
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


def timed(step, seconds):
    for _ in range(20):
        step()
    torch.cuda.synchronize()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        step()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e3)
    return {"steps": len(times), "median_ms": statistics.median(times), "mean_ms": statistics.mean(times)}


def train(seconds):
    net = nn.Sequential(*[Block(512, 8) for _ in range(4)]).cuda()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    x = torch.randn(16, 128, 512, device="cuda")

    def step():
        optimizer.zero_grad(set_to_none=True)
        net(x).square().mean().backward()
        optimizer.step()
    return timed(step, seconds)


def decode(seconds):
    net = nn.Sequential(*[Block(1024, 16) for _ in range(8)]).cuda().bfloat16().eval()
    x = torch.randn(8, 1, 1024, device="cuda", dtype=torch.bfloat16)
    with torch.no_grad():
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                net(x)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = net(x)

        def token():
            graph.replay()
            x.copy_(y.clamp(-1, 1))
        return timed(token, seconds)


torch.manual_seed(0)
length = float(sys.argv[1]) if len(sys.argv) > 1 else 4
print(json.dumps({"train": train(length), "decode": decode(length)}))
