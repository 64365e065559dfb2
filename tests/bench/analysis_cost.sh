#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Instructions of an analysis of one launch, its kernel decoded before, counted by callgrind, each with its limit.
# Usage: analysis_cost.sh PROGRAM COMPILED [OPTION...]   (COMPILED: tests/compiled/code of the build; options of analysis_cost,
# such as --brief)
set -eu
program=$1 compiled=$2
shift 2
command -v valgrind >/dev/null || { echo "skipped: valgrind is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Pointers 0x700000000000 and on; n, m: 2^24, 4096, 512 in hex, lowest byte first.
x=0000000000700000 y=0000000000710000 z=0000000000720000
large=00000001 side=00100000 depth=00020000 two=00000040

count() { # instructions of a whole run: TIMES "LAUNCH", the options after it
	times=$1
	launch=$2
	shift 2
	for i in $(seq "$times"); do echo "$launch"; done >"$work/launches"
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$@" "$compiled/corpus/sm_90.cubin" \
		"$compiled/ptx/evaluate.ptx" "$compiled/waits/sm_90.cubin" <"$work/launches" 2>&1 >"$work/reported" |
		sed -n 's/^.*Collected : \([0-9]*\).*$/\1/p'
	grep -q '"end": "done"' "$work/reported" || { echo "$launch: nothing was reported" >&2; exit 1; }
}

status=0
check() { # LIMIT "LAUNCH" as analysis_cost has it; then its options
	limit=$1
	launch=$2
	shift 2
	few=$(count 1 "$launch" "$@")
	many=$(count 5 "$launch" "$@")
	[ -n "$few" ] && [ -n "$many" ] || { echo "$launch: callgrind gave no count"; exit 1; }
	each=$(((many - few) / 4))
	echo "${launch%% 90 *}: $each instructions, limit $limit"
	[ "$each" -gt 0 ] && [ "$each" -le "$limit" ] || status=1
}

# Launches whose warps are all alike, and some that differ or go on for long. Before alike warps stood for each other, the first
# took 14,318,765, transpose 9,873,839, triangle 755,359,134.
# Its constants lie at an index that is no sum, so every warp that is looked at is run (2,350,000 without them).
check 11500000 "0 _Z5saxpyifPKfPf 90 16 0 65536 1 1 256 1 1 0 $large$two$x$y" "$@"
check 2100000 "1 saxpy 90 16 0 65536 1 1 256 1 1 0 $large$two$x$y" "$@"
check 22500000 "1 grid_stride 90 16 0 1024 1 1 256 1 1 0 ${large}00000000$x$y" "$@"
check 3000000 "1 transpose 90 16 0 128 128 1 32 8 1 0 $side$side$x$y" "$@"
# At the grid's edges warps differ: each is run, or stood for, once more for the shapes of its requests (13,500,000 before).
check 34000000 "1 stencil 90 16 0 128 512 1 32 8 1 0 $side$side$x$y" "$@"
check 39500000 "1 multiply 90 16 0 256 256 1 16 16 1 0 $side$side${depth}00000000$x$y$z" "$@"
check 57000000 "1 triangle 90 16 0 16 1 1 256 1 1 0 ${side}00000000$x$y" "$@"
# Data decide where it loads: its work is taken at both ends, too.
check 2400000 "1 gather 90 16 0 65536 1 1 256 1 1 0 ${large}00000000$x$y$z" "$@"
check 2750000 "2 runs_histogram 90 16 0 1 1 1 256 1 1 0 $x${side}00000000$y" "$@"
exit $status
