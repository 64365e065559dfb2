"""Triton kernels, launched into the current stream and a stream of their own."""
import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask) + tl.load(y + at, mask), mask)


@triton.jit
def row_sum(x, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out + row, tl.sum(tl.load(x + row * width + at, at < width, 0.0)))


n = 100_000
x, y = torch.ones(n, device="cuda"), torch.full((n,), 2.0, device="cuda")
out, sums = torch.empty_like(x), torch.empty(100, device="cuda")
for block in (256, 1024):
    for _ in range(10):
        add[(triton.cdiv(n, block),)](x, y, out, n, BLOCK=block)
torch.cuda.synchronize()
with torch.cuda.stream(torch.cuda.Stream()):
    for warps in (1, 4):
        for _ in range(5):
            row_sum[(100,)](out, sums, 1000, BLOCK=1024, num_warps=warps)
torch.cuda.synchronize()
print(f"sum {sums.sum().item():.1f}")
