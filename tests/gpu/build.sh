#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles every GPU test program, benchmark and example into OUTDIR (stripped: small enough
# to be carried to the machine that has the GPU). Needs nvcc 13 or later and a C compiler.
#   tests/gpu/build.sh OUTDIR          GPU_ARCH=sm_90 unless set: machine code and PTX for it
#   tests/gpu/build.sh OUTDIR BUILD    also what `prove` needs of the product: builds it in BUILD, a
#                                      folder that CMake has configured, and copies it to OUTDIR
set -eu
if [ $# -ne 1 ] && [ $# -ne 2 ]; then
	sed -n 's/^#   \(tests.*\)/usage: \1/p' "$0" >&2
	exit 2
fi
if [ $# -eq 2 ] && ! command -v zstd >/dev/null; then
	echo "$0: zstd was not found; install it" >&2
	exit 2
fi
if [ $# -eq 2 ] && [ ! -e "$2/CMakeCache.txt" ]; then
	echo "$0: $2 is not configured; do: cmake --preset release" >&2
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
	cases_context.cu -L$home/lib/stubs -L$home/lib64/stubs -lcuda -lpthread -ldl"
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
cc $cflags -s -o "$out/idle" idle.c -ldl
if [ $# -eq 2 ]; then
	build=$(cd "$top" && cd "$2" && pwd)
	cmake --build "$build" --parallel "$(nproc)" --target gpuwatch_preload gpuwatch workloads gpu_pm_record gpu_pm_again
	mkdir -p "$out/bin" "$out/lib" "$out/share/gpuwatch/profiles"
	cp "$build/bin/gpuwatch" "$build/bin/gpuwatch-workloads" "$build/bin/gpu_pm_again" "$out/bin/"
	cp "$build/lib/libgpuwatch.so" "$build/lib/libgpuwatch_pm_record.so" "$out/lib/"
	cp "$top"/calib/profiles/*.json "$out/share/gpuwatch/profiles/"
	# Libraries of the command's own that the other machine may lack.
	ldd "$build/bin/gpuwatch" | awk '/=> \// && !/lib(c|m)\.so/ {print $3}' | xargs -r cp -Lt "$out/lib"
	zstd -dqc "$top/docs/results/h200-2026-11-21/workloads/table.csv.zst" >"$out/table.csv"
fi
{
	echo "commit=$(git -C "$top" describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)"
	echo "built=$(date -u +%Y-%m-%dT%H:%M:%SZ)"
	"$nvcc" --version | sed -n 's/^.*release \(.*\)$/nvcc=\1/p'
	[ ! -e "$out/lib/libgpuwatch.so" ] || sha256sum "$out/lib/libgpuwatch.so" | sed 's/^\([0-9a-f]*\).*/library=\1/'
} >"$out/built"
du -sh "$out"
