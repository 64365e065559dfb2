# SPDX-License-Identifier: Apache-2.0
"""A training step that runs ahead of the GPU, in turns with other processes (turns.py): for each
line COUNT of standard input a quarter of so many steps untimed, then all of them timed; prints
the microseconds of a step."""
import json
import sys
import time

import torch

net = torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True).cuda().bfloat16()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
x = torch.randn(16, 512, 1024, device="cuda", dtype=torch.bfloat16)
made = 0


def steps(count):
    global made
    begin = time.perf_counter()
    for i in range(count):
        optimizer.zero_grad()
        net(x).float().pow(2).mean().backward()
        optimizer.step()
        if i % 20 == 19:
            torch.cuda.synchronize()
    torch.cuda.synchronize()
    made += count
    return (time.perf_counter() - begin) / count * 1e6


steps(30)
print("ready", flush=True)
for line in sys.stdin:
    steps(int(line) // 4)
    print(f"{steps(int(line)):.1f}", flush=True)
print(json.dumps({"steps": made}))
