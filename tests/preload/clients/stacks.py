# Launches by ctypes from Python functions of several kinds; the lines that launch are those with "launch here".
import ctypes
import threading

cuda = ctypes.CDLL("libcuda.so.1")
POINTER = ctypes.c_void_p


def check(result):
    assert result == 0, result


def setup():
    check(cuda.cuInit(0))
    context, device = POINTER(), ctypes.c_int()
    check(cuda.cuDeviceGet(ctypes.byref(device), 0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    check(cuda.cuCtxSetCurrent(context))
    module, function = POINTER(), POINTER()
    check(cuda.cuModuleLoadData(ctypes.byref(module), b"gpuwatch-stand-in-module\nkernel k ns=2000\n\0"))
    check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"k"))
    return context, function


class Model:
    def forward(self, grid):
        check(cuda.cuLaunchKernel(function, grid, 1, 1, 32, 1, 1, 0, None, None, None))  # launch here


def größe(grid):
    for _ in range(3):
        Model().forward(grid)


def steps(grid):
    yield 1
    größe(grid)
    yield 2


def deep(depth, grid):
    if depth:
        return deep(depth - 1, grid)
    Model().forward(grid)


def on_thread():
    check(cuda.cuCtxSetCurrent(context))
    größe(5)


context, function = setup()
größe(1)
list(steps(2))
list(map(lambda grid: größe(grid), [3]))
deep(200, 4)
thread = threading.Thread(target=on_thread)
thread.start()
thread.join()
exec("\n" * 400 + "Model().forward(6)")
check(cuda.cuCtxSynchronize())
