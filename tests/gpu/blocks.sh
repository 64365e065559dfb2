#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# blocks.sh WORKLOADS GPUWATCH OUT: how often each machine instruction of the development set runs, counted by ncu,
# held against what code and arguments tell of each basic block.
# Exit status: 0 every block of every settled launch is as counted, 1 some are not, 77 no GPU or no ncu.
set -u
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=need_gpu.sh
. "$here/need_gpu.sh"
command -v ncu >/dev/null || {
	echo "SKIP: ncu was not found"
	exit 77
}
mkdir -p "$3"
WORKLOADS=$1 SIZES=${SIZES:-1} "$here/../../kernels/workloads/collect.sh" "$3" source || exit
"$here/block_score.py" --gpuwatch "$2" --program "$1" --figures "$3" "$3/source0.jsonl" "$3/source0.csv" | tee "$3/blocks.txt"
status=${PIPESTATUS[0]}
grep -E '^(PASS|FAIL|SKIP)' "$3/blocks.txt" >/dev/null || echo "FAIL no block was compared"
exit "$status"
