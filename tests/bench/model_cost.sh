#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Instructions per estimate of each model, counted by callgrind: at most 2,500 for bounds (the worker asks it, once for each configuration and change of its work),
# 20,000 for any other. Usage: model_cost.sh PROGRAM
set -eu
program=$1
command -v valgrind >/dev/null || { echo "skipped: valgrind is not installed"; exit 77; }

count() { # instructions of a whole run: MODEL TIMES [heavy]
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$@" 2>&1 |
		sed -n 's/^.*Collected : \([0-9]*\).*$/\1/p'
}

status=0
check() { # MODEL [heavy]
	model=$1
	shift
	few=$(count "$model" 100 "$@")
	many=$(count "$model" 1100 "$@")
	if [ -z "$few" ] || [ -z "$many" ]; then
		echo "$model: callgrind gave no count"
		exit 1
	fi
	each=$(((many - few) / 1000))
	limit=25000
	[ "$model" = bounds ] && limit=2500
	echo "$model $*: $each instructions per estimate, limit $limit"
	[ "$each" -gt 0 ] && [ "$each" -le "$limit" ] || status=1
}

for model in $("$program" list); do
	check "$model"
done
# Every resource in use and no schedule known. Other models may not answer for such a launch.
check bounds heavy
exit $status
