#!/bin/sh
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
[ "$(cat "$out/arch" 2>/dev/null)" = "$arch" ] || all=1
# What is newer than all it is made of stays: fresh OUT SOURCE...
fresh() {
	[ -z "${all-}" ] && [ -e "$out/$1" ] || return 1
	made=$out/$1
	shift
	for part in "$@" ./*.h build.sh; do
		[ "$made" -nt "$part" ] || return 1
	done
}

driver="-L$home/lib/stubs -L$home/lib64/stubs -lcuda"
workload="workload.cu run_case.cu kernels.cu cases_stream.cu cases_driver.cu cases_graph.cu cases_context.cu"
bench=../bench/gpu_overhead
# shellcheck disable=SC2086  # the lists are words on purpose
{
	fresh kernels.fatbin kernels.cu || "$nvcc" -arch="$arch" -fatbin -o "$out/kernels.fatbin" kernels.cu
	for variant in "static:-cudart static" "shared:-cudart shared" "ptds:-cudart static --default-stream per-thread"; do
		name=${variant%%:*} options=${variant#*:}
		fresh "workload.$name" $workload || $nv $options -o "$out/workload.$name" $workload $driver -lpthread -ldl
		[ "$name" = shared ] || fresh "multi.$name" multi.cu run_case.cu kernels.cu ||
			$nv $options -o "$out/multi.$name" multi.cu run_case.cu kernels.cu $driver -lpthread
	done
	fresh device device.cu run_case.cu || $nv -rdc=true -o "$out/device" device.cu run_case.cu -lcudadevrt
	fresh killed killed.cu || $nv -cudart static -o "$out/killed" killed.cu -lpthread
	fresh hold hold.cu kernels.cu || $nv -cudart static -o "$out/hold" hold.cu kernels.cu -lpthread -ldl
	fresh hold_plug_in.so hold_plug_in.cu ||
		$nv -cudart static -shared -Xcompiler -fPIC -o "$out/hold_plug_in.so" hold_plug_in.cu
	for name in launch_loop pairs; do
		fresh $name $bench/$name.cu || $nv -o "$out/$name" $bench/$name.cu $driver
	done
	fresh blas blas.c || cc $cflags $include -s -o "$out/blas" blas.c -L"$home/lib" -L"$home/lib64" -lcublas -lcudart
	fresh oracle.so oracle.c ||
		cc $cflags $include -s -shared -fPIC -fvisibility=hidden -o "$out/oracle.so" oracle.c -ldl -lpthread
	# Of the product's lists: always.
	cc $cflags -I"$top" -s -o "$out/logdump" logdump.c "$top/cli/log/block.c" \
		"$top/predictor/log/block_pack.c" "$top/predictor/log/block_unpack.c" "$top/predictor/log/crc.c"
	fresh fault.so fault.c || cc $cflags -s -shared -fPIC -o "$out/fault.so" fault.c -lpthread
	fresh idle idle.c || cc $cflags -s -o "$out/idle" idle.c -ldl
	for source in "$top"/examples/*/*.cu; do
		name=$(basename "$source" .cu)
		fresh "$name" "$source" "$top"/examples/check.h || $nv -o "$out/$name" "$source"
	done
	echo "$arch" >"$out/arch"
}
if [ $# -eq 2 ]; then
	build=$(cd "$top" && cd "$2" && pwd)
	cmake --build "$build" --parallel "$(nproc)" --target gpuwatch_preload gpuwatch workloads strangers gpu_pm_record gpu_pm_again
	mkdir -p "$out/bin" "$out/lib" "$out/share/gpuwatch/profiles"
	cp "$build/bin/gpuwatch" "$build/bin/gpuwatch-workloads" "$build/bin/gpu_pm_again" "$out/bin/"
	cp -R "$build/strangers" "$out/"
	cp "$build/lib/libgpuwatch.so" "$build/lib/libgpuwatch_pm_record.so" "$out/lib/"
	cp "$build"/share/gpuwatch/profiles/*.json "$out/share/gpuwatch/profiles/"
	# The product takes none that others may write, and a copy may come from a tree where they may.
	chmod go-w "$out/share/gpuwatch/profiles" "$out"/share/gpuwatch/profiles/*.json
	# Libraries of the command's own that the other machine may lack.
	ldd "$build/bin/gpuwatch" | awk '/=> \// && !/lib(c|m)\.so/ {print $3}' | xargs -r cp -Lt "$out/lib"
	cp "$build/tests/compiled/h200/table.csv" "$out/"
fi
{
	echo "commit=$(git -C "$top" describe --always --dirty --abbrev=12 2>/dev/null || echo unknown)"
	echo "built=$(date -u +%Y-%m-%dT%H:%M:%SZ)"
	"$nvcc" --version | sed -n 's/^.*release \(.*\)$/nvcc=\1/p'
	[ ! -e "$out/lib/libgpuwatch.so" ] || sha256sum "$out/lib/libgpuwatch.so" | sed 's/^\([0-9a-f]*\).*/library=\1/'
} >"$out/built"
du -sh "$out"
