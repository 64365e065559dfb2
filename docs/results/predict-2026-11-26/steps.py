# SPDX-License-Identifier: Apache-2.0
"""A fixed number of steps: steps.py NAME STEPS; gemm: bf16 products of many shapes."""
import sys
import time
import programs


def gemms(torch):
    sizes = [(256, 1024, 1024), (512, 2048, 1024), (1024, 4096, 1024), (2048, 4096, 4096), (4096, 4096, 4096), (8192, 4096, 4096),
             (4096, 11008, 4096), (4096, 4096, 11008), (128, 4096, 4096), (1, 4096, 4096), (16, 11008, 4096), (3072, 768, 768)]
    pairs = [(torch.randn(m, k, device="cuda").bfloat16(), torch.randn(n, k, device="cuda").bfloat16()) for m, n, k in sizes]

    def step(_):
        for a, b in pairs:
            c = a @ b.T
        return c.float().sum()
    return step


name, steps = sys.argv[1], int(sys.argv[2])
if name == "gemms":
    import torch
    torch.manual_seed(0)
    step, number = gemms(torch), lambda value: value.item()
else:
    step, number = programs.prepare(name)
begin, total = time.monotonic(), 0.0
for i in range(steps):
    total += number(step(i))
print(f"{name}: {steps} steps in {time.monotonic() - begin:.2f} s, sum {total:.6g}")
