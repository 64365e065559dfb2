#!/usr/bin/env python3
"""Two to four ranks of a data-parallel training job, of which one becomes slow: `gpuwatch ranks` names it and its cause.

usage: ranks.py --programs DIR --gpuwatch SO --cli GPUWATCH --out DIR [--steps N] [--limit SECONDS]

On several GPUs the ranks, at most four, have one each and talk by NCCL, whose collectives must have their numbers in the
logs; on one two to four share it and talk by gloo. All jobs load PyTorch at once, then run in turn. Exit status: 0 all named, 1 not,
or not run within SECONDS, 77 no GPU or no PyTorch here.
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
    if not sys.stdin.readline():
        return
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
    other = None
    if rank == 1 and CAUSES[fault] == "slow_gpu":
        bare = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "NCCL_PROFILER_PLUGIN")}
        other = subprocess.Popen([sys.executable, HERE, "--neighbour", str(rank), fault], env=bare, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    open(f"{os.environ['HELD']}.{rank}", "w").close()
    while not os.path.exists(os.environ["HELD"] + ".go"):
        time.sleep(0.05)
    gpu = rank % torch.cuda.device_count()
    width = 4096 if backend == "nccl" else 2048
    torch.cuda.set_device(gpu)
    dist.init_process_group(backend)
    torch.manual_seed(1)
    model = torch.nn.Sequential(*[layer for _ in range(6) for layer in (torch.nn.Linear(width, width), torch.nn.ReLU())])
    model = torch.nn.parallel.DistributedDataParallel(model.cuda().bfloat16(), device_ids=[gpu])
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    usual, more = (torch.randn(n, width).bfloat16().pin_memory() for n in (8192, 16384 if backend == "nccl" else 32768))
    for step in range(steps):
        now = rank == 1 and step >= steps // 2
        if other and step == steps // 2:
            other.stdin.write(b"\n")
            other.stdin.flush()
            other.stdout.readline()
        if now and fault == "input":
            time.sleep(0.004 * dist.get_world_size())  # ranks on one GPU take turns, which hide a shorter one
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


def held(options, backend, ranks, fault, port):
    """A job that waits for a file before it uses a GPU: its logs' name and its process."""
    logs = f"{options.out}/{fault}-{ranks}"
    env = {**os.environ, "LD_PRELOAD": options.gpuwatch, "NCCL_PROFILER_PLUGIN": options.gpuwatch, "GPUWATCH_SUMMARY": "0", "HELD": logs + ".held",
           "GPUWATCH_OUT": logs + ".%r.gwl", "MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "2"}
    with open(logs + ".txt", "w") as text:
        return logs, subprocess.Popen([sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}", f"--master-port={port}",
                                       HERE, "--train", backend, fault, str(options.steps)], env=env, stdout=text, stderr=text)


def named(options, backend, ranks, fault, logs, job, end):
    """Whether `gpuwatch ranks` says of a job with this fault what is true, after a line on it."""
    open(logs + ".held.go", "w").close()
    try:
        status = job.wait(max(0, min(60, end - time.time())))
    except subprocess.TimeoutExpired:
        job.terminate()  # which ends its ranks
        print(f"FAIL {fault}, {ranks} ranks by {backend}: not run to its end", flush=True)
        return False
    shown = subprocess.run([options.cli, "ranks", "--json", *sorted(glob.glob(logs + ".[0-3].gwl"))], capture_output=True, text=True)
    found = json.loads(shown.stdout) if shown.returncode < 2 else {"late": [], "joined_by": shown.stderr.strip()}
    late = [(one["rank"], one["cause"], one["first_step"], one["found_step"]) for one in found["late"]]
    good = status == 0 and found["joined_by"] == ("numbers" if backend == "nccl" else "copies")
    if CAUSES[fault]:
        good = good and [one[:2] for one in late] == [("1", CAUSES[fault])]
        good = good and options.steps // 2 - 2 <= late[0][3] <= options.steps // 2 + 10
    else:
        good = good and not late
    print(f"{'PASS' if good else 'FAIL'} {fault}, {ranks} ranks by {backend}, joined by {found['joined_by']}: "
          + ("; ".join("rank %s, %s, from step %d, certain at %d" % one for one in late) or "no rank is late"), flush=True)
    return good


def main():
    parser = argparse.ArgumentParser()
    for name in ("programs", "gpuwatch", "cli", "out"):
        parser.add_argument("--" + name)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--limit", type=float, default=600)
    parser.add_argument("--train", nargs=3)
    parser.add_argument("--neighbour", nargs=2)
    options = parser.parse_args()
    end = time.time() + options.limit
    if options.neighbour:
        return neighbour(int(options.neighbour[0]), options.neighbour[1])
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
    most = min(4, gpus)
    if gpus > 1:
        jobs = [("nccl", most, fault) for fault in CAUSES] + [("nccl", ranks, "neighbour") for ranks in range(2, most)]
    else:
        # Ranks on one GPU are slow alike beside another process.
        jobs = [("gloo", ranks, fault) for ranks in (4, 3, 2) for fault in ("none", "input", "host")] + [("gloo", 2, "work")]
    running = [held(options, *job, 29500 + os.getpid() % 400 + i) for i, job in enumerate(jobs)]
    # What others load would slow the host of the first.
    for (_, ranks, _), (logs, job) in zip(jobs, running):
        while job.poll() is None and time.time() < end and not all(os.path.exists(f"{logs}.held.{rank}") for rank in range(ranks)):
            time.sleep(0.05)
    passed = sum([named(options, *job, *run, end) for job, run in zip(jobs, running)])
    print(f"{'PASS' if passed == len(jobs) else 'FAIL'}: {passed} of {len(jobs)} jobs")
    return 0 if passed == len(jobs) else 1


if __name__ == "__main__":
    sys.exit(main())
