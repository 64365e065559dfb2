#!/bin/sh
# Instructions by callgrind, each with its limit. Exit 77: valgrind is not installed.
#   cost.sh models PROGRAM           of an estimate by each model: at most 2,620 for bounds (the worker asks it, once for each configuration
#                                    and change of its work), 25,000 for any other; and of a snapshot of gpuwatch top's model
#   cost.sh exports GPUWATCH LOG     of gpuwatch export per launch, each format. LOG: one of many launches; what reading it for the report takes
#                                    is in it, 5,000 of it to unpack a launch
#   cost.sh analyses PROGRAM COMPILED [OPTION...]   of an analysis of one launch, its kernel decoded before. COMPILED: tests/compiled/code of
#                                    the build; options of analysis_cost, such as --brief
set -eu
what=$1 program=$2
shift 2
command -v valgrind >/dev/null || { echo "skipped: valgrind is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

collected() { # instructions of a whole run: COMMAND...; its output goes to $work/reported
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >"$work/reported" |
		sed -n 's/^.*Collected : \([0-9]*\).*$/\1/p'
}

within() { # NAME INSTRUCTIONS LIMIT OF
	echo "$1: $2 instructions$4, limit $3"
	[ "$2" -gt 0 ] && [ "$2" -le "$3" ] || status=1
}

counted() { # NAME COUNT...: each is a number
	name=$1
	shift
	for count in "$@"; do
		[ -n "$count" ] || { echo "$name: callgrind gave no count"; exit 1; }
	done
}

model() { # MODEL [heavy]
	few=$(collected "$program" "$1" 100 ${2+"$2"})
	many=$(collected "$program" "$1" 1100 ${2+"$2"})
	counted "$1" "$few" "$many"
	limit=25000
	[ "$1" = bounds ] && limit=2620
	[ "$1" = top ] && limit=1100000 # 20 processes, 2,000 rows, 6,000 configurations, of which 2,000 changed
	within "$*" $(((many - few) / 1000)) "$limit" " per estimate"
}

export_() { # FORMAT LIMIT
	"$program" export --help | grep -q "$1" || return 0
	count=$(collected "$program" export --format="$1" -o "$work/out" "$log")
	counted "$1" "$count"
	within "$1" $((count / launches)) "$2" " per launch"
}

ran() { # instructions of a run: TIMES "LAUNCH", the options after it
	times=$1 launch=$2
	shift 2
	for _ in $(seq "$times"); do echo "$launch"; done >"$work/launches"
	collected "$program" "$@" "$compiled/corpus/sm_90.cubin" "$compiled/ptx/evaluate.ptx" "$compiled/waits/sm_90.cubin" <"$work/launches"
	grep -q '"end": "done"' "$work/reported" || { echo "$launch: nothing was reported" >&2; exit 1; }
}

analysis() { # LIMIT "LAUNCH" as analysis_cost has it; then its options
	limit=$1 launch=$2
	shift 2
	few=$(ran 1 "$launch" "$@")
	many=$(ran 5 "$launch" "$@")
	counted "$launch" "$few" "$many"
	within "${launch%% 90 *}" $(((many - few) / 4)) "$limit" ""
}

case $what in
models)
	for name in $("$program" list); do
		model "$name"
	done
	# Every resource in use and no schedule known. Other models may not answer for such a launch.
	model bounds heavy
	model top
	;;
exports)
	log=$1
	launches=$("$program" export --format=csv -o - "$log" | tail -n +2 | wc -l)
	export_ perfetto 15000
	export_ chrome 15000
	export_ sqlite 20000
	export_ parquet 19000
	export_ csv 16500
	export_ openmetrics 11700
	export_ pprof 11700
	;;
analyses)
	compiled=$1
	shift
	# Pointers 0x700000000000 and on; n, m: 2^24, 4096, 512 in hex, lowest byte first.
	x=0000000000700000 y=0000000000710000 z=0000000000720000
	large=00000001 side=00100000 depth=00020000 two=00000040
	# Warps that are all alike, and some that differ or go on for long.
	# Its constants lie at an index that is no sum, so every warp that is looked at is run.
	analysis 8400000 "0 _Z5saxpyifPKfPf 90 16 0 65536 1 1 256 1 1 0 $large$two$x$y" "$@"
	analysis 1560000 "1 saxpy 90 16 0 65536 1 1 256 1 1 0 $large$two$x$y" "$@"
	analysis 16600000 "1 grid_stride 90 16 0 1024 1 1 256 1 1 0 ${large}00000000$x$y" "$@"
	analysis 1970000 "1 transpose 90 16 0 128 128 1 32 8 1 0 $side$side$x$y" "$@"
	# At the grid's edges warps differ: each is run, or stood for, once more for the shapes of its requests.
	analysis 33900000 "1 stencil 90 16 0 128 512 1 32 8 1 0 $side$side$x$y" "$@"
	analysis 34500000 "1 multiply 90 16 0 256 256 1 16 16 1 0 $side$side${depth}00000000$x$y$z" "$@"
	analysis 43300000 "1 triangle 90 16 0 16 1 1 256 1 1 0 ${side}00000000$x$y" "$@"
	# Data decide where it loads: its work is taken at both ends, too.
	analysis 1280000 "1 gather 90 16 0 65536 1 1 256 1 1 0 ${large}00000000$x$y$z" "$@"
	analysis 1800000 "2 runs_histogram 90 16 0 1 1 1 256 1 1 0 $x${side}00000000$y" "$@"
	;;
*)
	sed -n 's/^#   //p' "$0" >&2
	exit 2
	;;
esac
exit $status
