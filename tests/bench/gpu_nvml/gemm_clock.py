# SPDX-License-Identifier: Apache-2.0
"""A long dense GEMM that draws much power: duration of each, and the clocks NVML tells meanwhile."""
import sys, threading, time, ctypes
import torch

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 8
nvml = ctypes.CDLL("libnvidia-ml.so.1")
nvml.nvmlInit_v2()
dev = ctypes.c_void_p()
nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(dev))
t0 = time.monotonic()
rows, stop = [], False

def poll():
    sm, mem, temp, mw = (ctypes.c_uint() for _ in range(4))
    why = ctypes.c_ulonglong()
    while not stop:
        t = time.monotonic() - t0
        nvml.nvmlDeviceGetClockInfo(dev, 1, ctypes.byref(sm))
        nvml.nvmlDeviceGetClockInfo(dev, 2, ctypes.byref(mem))
        nvml.nvmlDeviceGetCurrentClocksThrottleReasons(dev, ctypes.byref(why))
        nvml.nvmlDeviceGetTemperature(dev, 0, ctypes.byref(temp))
        nvml.nvmlDeviceGetPowerUsage(dev, ctypes.byref(mw))
        rows.append((t, sm.value, mem.value, why.value, temp.value, mw.value))
        time.sleep(0.05)

a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
b = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
c = a @ b
torch.cuda.synchronize()
t0 = time.monotonic()
th = threading.Thread(target=poll)
th.start()
out = []
while time.monotonic() - t0 < seconds:
    events = [torch.cuda.Event(enable_timing=True) for _ in range(41)]
    events[0].record()
    t = time.monotonic() - t0
    for e in events[1:]:
        torch.matmul(a, b, out=c)
        e.record()
    torch.cuda.synchronize()
    ms = sorted(events[i].elapsed_time(events[i + 1]) for i in range(40))
    out.append((t, ms[4], ms[20], ms[36]))
stop = True
th.join()
print("# N: s, SM MHz, memory MHz, reasons, degrees, mW; G: s, ms p10, median, p90 of 40 GEMMs of 8192^3 bf16")
for r in rows:
    print("N %.3f %d %d 0x%x %d %d" % r)
for r in out:
    print("G %.3f %.4f %.4f %.4f" % r)
