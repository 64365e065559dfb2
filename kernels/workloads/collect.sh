#!/usr/bin/env bash
# collect.sh OUT STEP [K/N]: runs the development set on this machine's GPU and leaves the raw output
# in the folder OUT. With K/N only every Nth workload, beginning with the Kth (from 0). Steps:
#   check   every case against its reference, several processes at once: check.jsonl, check.err
#   times   every launch under gpuwatch's audit mode, in place: times.jsonl, times.gwl
#   code    counters of what the code does, by ncu's kernel replay: code.jsonl, code.csv
#   cache   what SMs ask of L1 and L2, by kernel replay: cache.jsonl, cache.csv
#   light   ncu's Speed-of-Light, by kernel replay: light.jsonl, light.csv
#   state   counters that depend on L2, in place, by application replay: state.jsonl, state.csv
# Clocks and caches are left as they are. The step's name stands before each file's; K too.
#   WORKLOADS     the program; default build/bin/gpuwatch-workloads
#   GPUWATCH_LIB  default build/lib/libgpuwatch.so
#   ONLY          names or globs of workloads, instead of all
#   SEED          of the inputs, default 1: all steps then run the same work
# Exit status: 0 done, 1 a result was wrong or a tool failed, 2 wrong use, 77 no GPU.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
program=${WORKLOADS:-$top/build/bin/gpuwatch-workloads}
library=${GPUWATCH_LIB:-$top/build/lib/libgpuwatch.so}
seed=${SEED:-1}
if [ $# -lt 2 ] || [ ! -x "$program" ]; then
	sed -n '3,19s/^# \{0,1\}//p' "$0" >&2
	exit 2
fi
mkdir -p "$1" || exit 2
out=$(cd "$1" && pwd)
step=$2
part=${3:-0/1}
k=${part%/*} n=${part#*/}
name=$step$k

"$program" --only tiny_kernel --size 0 --repeat 1 >/dev/null || exit

chosen() {
	set -f # the globs are the program's; this is always a subshell
	# shellcheck disable=SC2046,SC2086  # words on purpose
	"$program" --list $(printf -- '--only=%s ' ${ONLY:-'*'}) | awk -v k="$k" -v n="$n" '(NR - 1) % n == k {print $1}'
}

# The chosen workloads by launches of our own making, one measured round.
only=()
for workload in $(chosen); do
	only+=("--only=$workload")
done
if [ "$part" = 0/1 ] && [ -z "${ONLY:-}" ]; then
	only=() # all, which is more than --only can say
fi

# The metrics of counters.tsv that are taken so and that this chip has, with commas.
metrics() {
	ncu --query-metrics >"$out/known.txt" 2>/dev/null
	awk -F '\t' -v how="$1" '$2 == how {gsub(/\+/, "\n", $3); print $3}' "$here/counters.tsv" | sort -u |
		while read -r metric; do
			if grep -qE "^${metric%%.*} " "$out/known.txt"; then
				echo "$metric"
			else
				echo "$name: this GPU has no $metric" >>"$out/unknown.txt"
			fi
		done | paste -sd,
	rm -f "$out/known.txt"
}

count() { # count OPTION...: one launch of each kernel under ncu
	ncu --clock-control none --cache-control none --profile-from-start off --csv --print-units base \
		--metrics "$(metrics "$step")" "$@" --log-file "$out/$name.csv" \
		"$program" --json --repeat 1 --seed "$seed" "${only[@]}" >"$out/$name.jsonl"
}

case $step in
check)
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
	chosen | xargs -P "$(nproc)" -I{} sh -c \
		'"$1" --only={} --check --repeat 1 --json --seed "$2" >"$3/{}.jsonl" 2>"$3/{}.err"' \
		- "$program" "$seed" "$scratch"
	status=$?
	cat "$scratch"/*.jsonl >"$out/$name.jsonl"
	cat "$scratch"/*.err >"$out/$name.err"
	cat "$out/$name.err" >&2
	[ "$status" -eq 0 ]
	;;
times)
	LD_PRELOAD=$library GPUWATCH_OUT=$out/$name.gwl GPUWATCH_SUMMARY=0 \
		"$program" --json --repeat "${REPEAT:-10}" --seed "$seed" "${only[@]}" >"$out/$name.jsonl"
	;;
code | cache | light)
	count --replay-mode kernel
	;;
state)
	# Each run of the program serves one pass; the same seed makes the runs alike.
	count --replay-mode application --app-replay-buffer memory
	;;
*)
	echo "collect.sh: there is no step \"$step\"; check, times, code, cache, light and state are" >&2
	exit 2
	;;
esac
