#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two to four ranks of a data-parallel training job, of which one becomes slow: `gpuwatch ranks` names it and its cause.

usage: ranks.py --programs DIR --gpuwatch SO --cli GPUWATCH --out DIR [--steps N]

On several GPUs the ranks, at most four, have one each and talk by NCCL, whose collectives must have their numbers in the
logs; on one two share it and talk by gloo. Exit status: 0 all named, 1 not, 77 no GPU or no PyTorch here.
"""
import argparse
import glob
import json
import os
import subprocess
import sys
import time

HERE = os.path.abspath(__file__)
CAUSES = {"none": None, "neighbour": "slow_gpu", "memory": "slow_gpu", "input": "input", "host": "host", "work": "imbalance"}


def neighbour(gpu, fault):
    """Another process that keeps the GPU busy: its SMs, or its memory."""
    import torch
    torch.cuda.set_device(gpu)
    a = torch.randn(4096, 4096 if fault == "neighbour" else 65536, device="cuda", dtype=torch.bfloat16)
    while True:
        for _ in range(50):
            b = a @ a if fault == "neighbour" else a.clone()
        torch.cuda.synchronize()
        print(b.shape[0], flush=True)


def train(backend, fault, steps):
    """A rank; number 1 has the fault from mid-run on."""
    import torch
    import torch.distributed as dist
    rank = int(os.environ["RANK"])
    gpu = rank % torch.cuda.device_count()
    width = 4096 if backend == "nccl" else 2048
    torch.cuda.set_device(gpu)
    dist.init_process_group(backend)
    torch.manual_seed(1)
    model = torch.nn.Sequential(*[layer for _ in range(6) for layer in (torch.nn.Linear(width, width), torch.nn.ReLU())])
    model = torch.nn.parallel.DistributedDataParallel(model.cuda().bfloat16(), device_ids=[gpu])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    usual, more = (torch.randn(n, width).bfloat16().pin_memory() for n in (8192, 16384 if backend == "nccl" else 32768))
    other = None
    for step in range(steps):
        now = rank == 1 and step >= steps // 2
        if now and CAUSES[fault] == "slow_gpu" and not other:
            bare = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "NCCL_PROFILER_PLUGIN")}
            other = subprocess.Popen([sys.executable, HERE, "--neighbour", str(gpu), fault], env=bare, stdout=subprocess.PIPE)
            other.stdout.readline()
        if now and fault == "input":
            time.sleep(0.006)
        loss = model((more if now and fault == "work" else usual).cuda(non_blocking=True)).float().square().mean()
        until = time.perf_counter() + (0.015 if now and fault == "host" else 0)
        while time.perf_counter() < until:
            pass
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
    if other:
        other.kill()
    torch.cuda.synchronize()
    dist.destroy_process_group()


def named(options, backend, ranks, fault, port):
    """Whether `gpuwatch ranks` says of a job with this fault what is true, after a line on it."""
    logs = f"{options.out}/{fault}"
    env = {**os.environ, "LD_PRELOAD": options.gpuwatch, "NCCL_PROFILER_PLUGIN": options.gpuwatch, "GPUWATCH_SUMMARY": "0",
           "GPUWATCH_OUT": logs + ".%r.gwl", "MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "2"}
    with open(logs + ".txt", "w") as text:
        done = subprocess.run([sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}", f"--master-port={port}", HERE,
                               "--train", backend, fault, str(options.steps)], env=env, stdout=text, stderr=text, timeout=120)
    shown = subprocess.run([options.cli, "ranks", "--json", *sorted(glob.glob(logs + ".[0-3].gwl"))], capture_output=True, text=True)
    found = json.loads(shown.stdout) if shown.returncode < 2 else {"late": [], "joined_by": shown.stderr.strip()}
    late = [(one["rank"], one["cause"], one["first_step"], one["found_step"]) for one in found["late"]]
    good = done.returncode == 0 and found["joined_by"] == ("numbers" if backend == "nccl" else "copies")
    if CAUSES[fault]:
        good = good and [one[:2] for one in late] == [("1", CAUSES[fault])] and late[0][3] <= options.steps // 2 + 10
        # Ranks that share a GPU slow each other, and one of them may be named before.
        good = good and (backend != "nccl" or late[0][3] >= options.steps // 2 - 2)
    else:
        good = good and not late
    print(f"{'PASS' if good else 'FAIL'} {fault}, {ranks} ranks by {backend}, joined by {found['joined_by']}: "
          + ("; ".join("rank %s, %s, from step %d, certain at %d" % one for one in late) or "no rank is late"))
    return good


def main():
    parser = argparse.ArgumentParser()
    for name in ("programs", "gpuwatch", "cli", "out"):
        parser.add_argument("--" + name)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--train", nargs=3)
    parser.add_argument("--neighbour", nargs=2)
    options = parser.parse_args()
    if options.neighbour:
        neighbour(int(options.neighbour[0]), options.neighbour[1])
    if options.train:
        return train(options.train[0], options.train[1], int(options.train[2]))
    try:
        import torch
        gpus = torch.cuda.device_count()
    except ImportError:
        gpus = 0
    if not gpus:
        print("SKIP no GPU or no PyTorch here")
        return 77
    backend = "nccl" if gpus > 1 else "gloo"
    # Two ranks on one GPU are slow alike beside a third process.
    faults = [fault for fault in CAUSES if backend == "nccl" or CAUSES[fault] != "slow_gpu"]
    ranks = max(2, min(4, gpus))
    return 0 if all([named(options, backend, ranks, fault, 29500 + os.getpid() % 400 + i) for i, fault in enumerate(faults)]) else 1


if __name__ == "__main__":
    sys.exit(main())
