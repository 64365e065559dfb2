# SPDX-License-Identifier: Apache-2.0
"""For slow-launch events: one GEMM, with pauses (cool), back to back (the power cap lowers the
clock), with pauses again. Run it under gpuwatch."""
import sys, time
import torch

cool, hot = (float(x) for x in (sys.argv[1:3] or ("2.5", "4")))
a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
b = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
c = a @ b

def phase(name, seconds, pause):
    begin = time.time()
    n = 0
    while time.time() - begin < seconds:
        for _ in range(20 if not pause else 1):
            torch.matmul(a, b, out=c)
            n += 1
        torch.cuda.synchronize()
        if pause:
            time.sleep(pause)
    print(f"{name}: {n} launches from {begin:.3f} to {time.time():.3f}", flush=True)

phase("cool", cool, 0.004)
if hot:
    phase("hot", hot, 0)
    phase("cool again", cool, 0.004)
