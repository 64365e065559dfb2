# SPDX-License-Identifier: Apache-2.0
"""What each step of attaching libcupti costs a decode loop of PyTorch that waits for each graph.

phases.py LIBSWITCH WAY: where a token's time goes, us, before and after each step: replaying the graph (the call), two
more launches, waiting. Behind it the time of a graph between two events, and of one of 60 that are queued.
WAY: a  buffers first    b  a subscriber first    c  copies first, then a thread that flushes
Run from the repository's root; LIBSWITCH is built from switch.c."""
import ctypes
import statistics
import sys
import threading
import time

sys.path.insert(0, "tests/bench/gpu_overhead")
import torch  # noqa: E402
import torch_loops  # noqa: E402

way = sys.argv[2]
torch.manual_seed(0)
net, x = torch_loops.model(36)
now = time.perf_counter


def token(graph, y):
    begin = now()
    graph.replay()
    replayed = now()
    x.copy_(y.clamp(-1, 1))
    launched = now()
    torch.cuda.synchronize()
    return replayed - begin, launched - replayed, now() - launched


def by_events(graph):
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    events[0].record()
    graph.replay()
    events[1].record()
    torch.cuda.synchronize()
    return events[0].elapsed_time(events[1]) * 1e3


def queued(graph):
    begin = now()
    for _ in range(60):
        graph.replay()
    torch.cuda.synchronize()
    return (now() - begin) / 60 * 1e6


def phase(name, seconds=0.7, made=None):
    graph, y = made or first
    parts, end = [], now() + seconds
    while now() < end:
        parts.append(token(graph, y))
    step = statistics.median(sum(p) for p in parts) * 1e6
    replay, copy, sync = (statistics.median(p[i] for p in parts) * 1e6 for i in range(3))
    events = statistics.median(by_events(graph) for _ in range(60))
    print(f"{way} {name:30} step {step:7.1f}  replay {replay:6.1f} copy {copy:5.1f} sync {sync:7.1f}  events {events:7.1f}"
          f"  queued {queued(graph):7.1f}", flush=True)


def window(graph):
    switch.switch_kernels(1)
    graph.replay()
    torch.cuda.synchronize()
    switch.switch_kernels(0)
    switch.switch_flush(0)


first = torch_loops.captured(net, x)
switch = ctypes.CDLL(sys.argv[1])
for name in ("warm", "bare", "bare"):
    phase(name)
if not switch.switch_open():
    sys.exit("phases.py: the program has no libcupti")
if way == "a":
    switch.switch_register()
    phase("registered")
    switch.switch_kernels(1)
    switch.switch_kernels(0)
    phase("on-off without launches")
    window(first[0])
    phase("on, one graph, off, flushed")
    phase("new graph", made=torch_loops.captured(net, x))
    switch.switch_kernels(1)
    phase("on")
    switch.switch_kernels(0)
    switch.switch_flush(0)
    phase("off")
    for _ in range(20):
        window(first[0])
    phase("20 windows")
elif way == "b":
    switch.switch_subscriber(1)
    phase("subscribed")
    switch.switch_callbacks(1)
    phase("callbacks on")
    switch.switch_callbacks(0)
    phase("callbacks off")
    switch.switch_register()
    window(first[0])
    phase("a window")
    switch.switch_subscriber(0)
    phase("unsubscribed")
else:
    switch.switch_register()
    switch.switch_copies(1)
    phase("copies on")
    switch.switch_copies(0)
    phase("copies off")
    window(first[0])
    phase("a window")
    stop = threading.Event()

    def flush():
        while not stop.wait(.01):
            switch.switch_flush(0)
    thread = threading.Thread(target=flush)
    thread.start()
    phase("flushed each 10 ms, off")
    stop.set()
    thread.join()
    phase("off")
