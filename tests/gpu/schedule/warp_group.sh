#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# warp_group.sh PROGRAMS GPUWATCH OUT: what code tells of warp group loops, then what they take on this GPU.
# Exit status: 0 nine of ten loops within 10%, 1 fewer, 77 this GPU can't run them.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
program=$1/warp_group gpuwatch=$2 out=$3
# shellcheck source=../need_gpu.sh
. "$here/need_gpu.sh"
[ "$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader -i 0 2>/dev/null)" = 9.0 ] || {
	echo "SKIP: the GPU is not of compute capability 9.0"
	exit 77
}
mkdir -p "$out"
# Told first: nothing measured is known then.
"$here/schedule/warp_group.py" --gpuwatch "$gpuwatch" "$program" >"$out/reported.txt" || exit 1
timeout 25 "$program" >"$out/measured.txt" || exit 1
"$here/schedule/warp_group.py" --gpuwatch "$gpuwatch" --figures "$out" "$program" "$out/measured.txt"
