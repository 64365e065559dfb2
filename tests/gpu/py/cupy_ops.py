"""CuPy: element-wise and reduction kernels, a raw kernel, cuBLAS, a captured graph."""
import cupy

scale = cupy.RawKernel(r"""
extern "C" __global__ void scale(float *x, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] *= by;
}
""", "scale")

x = cupy.arange(4096, dtype=cupy.float32)
for _ in range(8):
    scale((16,), (256,), (x, cupy.float32(1.0), cupy.int32(x.size)))
y = cupy.sqrt(x) + 2 * x
a = cupy.ones((256, 256), dtype=cupy.float32)
product = a @ a
stream = cupy.cuda.Stream(non_blocking=True)
cupy.cuda.Device().synchronize()
with stream:
    stream.begin_capture()
    for _ in range(3):
        scale((16,), (256,), (x, cupy.float32(1.0), cupy.int32(x.size)))
    graph = stream.end_capture()
    for _ in range(5):
        graph.launch(stream)
stream.synchronize()
print(f"sum {float(y.sum()):.1f} product {float(product[3, 5]):.1f}")
