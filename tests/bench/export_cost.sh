#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Instructions of gpuwatch export per launch, counted by callgrind, each format with its limit.
# Usage: export_cost.sh GPUWATCH LOG   (LOG: one of many launches; what reading it for the report takes is in it,
# 5,000 of it to unpack a launch)
set -eu
gpuwatch=$1 log=$2
command -v valgrind >/dev/null || { echo "skipped: valgrind is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$gpuwatch" report "$log" >"$work/out" 2>&1 || { ! grep -q "without libzstd" "$work/out" || exit 77; }
launches=$("$gpuwatch" export --format=csv -o - "$log" | tail -n +2 | wc -l)
status=0

check() { # FORMAT LIMIT
	"$gpuwatch" export --help | grep -q "$1" || return 0
	count=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "$gpuwatch" export --format="$1" -o "$work/out" "$log" 2>&1 |
		sed -n 's/^.*Collected : \([0-9]*\).*$/\1/p')
	[ -n "$count" ] || { echo "$1: callgrind gave no count"; exit 1; }
	each=$((count / launches))
	echo "$1: $each instructions per launch, limit $2"
	[ "$each" -gt 0 ] && [ "$each" -le "$2" ] || status=1
}

check perfetto 15000
check chrome 15000
check sqlite 20000
check parquet 19000
check csv 16500
check openmetrics 11700
check pprof 11700
exit $status
