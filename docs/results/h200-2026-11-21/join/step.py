# SPDX-License-Identifier: Apache-2.0
"""A training step that runs ahead of the GPU; prints steps per second."""
import time

import torch

net = torch.nn.TransformerEncoderLayer(1024, 16, 4096, batch_first=True).cuda().bfloat16()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
x = torch.randn(16, 512, 1024, device="cuda", dtype=torch.bfloat16)
begin, steps = time.time(), 0
while time.time() - begin < 6:
    optimizer.zero_grad()
    net(x).float().pow(2).mean().backward()
    optimizer.step()
    steps += 1
    if steps % 20 == 0:
        torch.cuda.synchronize()
torch.cuda.synchronize()
print(steps / (time.time() - begin))
