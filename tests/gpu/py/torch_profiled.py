# SPDX-License-Identifier: Apache-2.0
"""torch.profiler in the middle of a program: prints which kernels it saw and how often.
argv[1]: `late` (kernels ran before it starts) or `early` (it starts before anything else)."""
import collections
import sys

import torch
from torch.profiler import ProfilerActivity, profile


def work(x, steps):
    for _ in range(steps):
        x = torch.nn.functional.gelu(x @ x.T).softmax(-1)
    torch.cuda.synchronize()
    return x


def main():
    early = sys.argv[1] == "early"
    if not early:
        work(torch.ones(256, 256, device="cuda"), 20)
    for _ in range(2):  # it comes, goes, and comes again
        with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as p:
            x = work(torch.ones(256, 256, device="cuda"), 5)
        seen = collections.Counter(e.name for e in p.events()
                                   if e.device_type == torch.autograd.DeviceType.CUDA)
        for name, count in sorted(seen.items()):
            print(count, name[:100])
    x = work(x, 20)
    print("sum %.6f" % x.double().sum().item())


main()
