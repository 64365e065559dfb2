#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles every GPU test program, benchmark and example into OUTDIR (stripped: small enough
# to be carried to the machine that has the GPU). Needs nvcc 13 or later and a C compiler.
#   tests/gpu/build.sh OUTDIR        GPU_ARCH=sm_90 unless set: machine code and PTX for it
set -eu
if [ $# -ne 1 ]; then
	echo "usage: $0 OUTDIR" >&2
	exit 2
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
nvcc=${NVCC:-nvcc}
arch=${GPU_ARCH:-sm_90}
command -v "$nvcc" >/dev/null || {
	echo "$0: $nvcc was not found; put the CUDA toolkit's bin folder on PATH or set NVCC" >&2
	exit 2
}
home=$(dirname "$(dirname "$(readlink -f "$(command -v "$nvcc")")")")
include="-isystem $home/include -isystem $home/extras/CUPTI/include"
cflags="-std=gnu11 -O2 -D_GNU_SOURCE -Wall -Wextra -Wshadow -Wconversion -Werror"
nv="$nvcc -O2 -arch=$arch -Xcompiler -Wall,-Wextra,-Werror -Xlinker -s"

cd "$here"
"$nvcc" -arch="$arch" -fatbin -o "$out/kernels.fatbin" kernels.cu
workload="workload.cu run_case.cu kernels.cu cases_stream.cu cases_driver.cu cases_graph.cu
	cases_context.cu cases_wait.cu -L$home/lib/stubs -L$home/lib64/stubs -lcuda -lpthread -ldl"
# shellcheck disable=SC2086  # the lists are words on purpose
{
	$nv -cudart static -o "$out/workload.static" $workload
	$nv -cudart shared -o "$out/workload.shared" $workload
	$nv -cudart static --default-stream per-thread -o "$out/workload.ptds" $workload
	for variant in "static:" "ptds:--default-stream per-thread"; do
		$nv -cudart static -o "$out/multi.${variant%%:*}" ${variant#*:} multi.cu run_case.cu \
			kernels.cu -L"$home/lib/stubs" -L"$home/lib64/stubs" -lcuda -lpthread
	done
	$nv -rdc=true -o "$out/device" device.cu run_case.cu -lcudadevrt
	$nv -cudart static -o "$out/hold" hold.cu kernels.cu
	$nv -o "$out/launch_loop" ../bench/gpu_overhead/launch_loop.cu
	$nv -o "$out/slices" ../bench/gpu_overhead/slices.cu
	$nv -o "$out/storm" storm.cu storm_detach.cu -L"$home/lib/stubs" -L"$home/lib64/stubs" -lcuda -lpthread -ldl
	$nv $include -o "$out/buffers" buffers.cu -ldl
	$nv -o "$out/pairs" ../bench/gpu_overhead/pairs.cu -L"$home/lib/stubs" -L"$home/lib64/stubs" -lcuda
	cc $cflags $include -s -o "$out/blas" blas.c -L"$home/lib" -L"$home/lib64" -lcublas -lcudart
	cc $cflags $include -s -shared -fPIC -fvisibility=hidden -o "$out/oracle.so" oracle.c -ldl \
		-lpthread
	cc $cflags -I"$top" -s -o "$out/logdump" logdump.c "$top/predictor/crc.c"
	for source in "$top"/examples/*/*.cu; do
		$nv -o "$out/$(basename "$source" .cu)" "$source"
	done
}
du -sh "$out"
