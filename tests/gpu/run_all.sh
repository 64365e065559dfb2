#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Everything that needs a real GPU, in one go and in less than eight minutes: the proof
# (compare.py), the overhead benchmark, the examples. Goes on after failures; the summary is
# printed last.
#   tests/gpu/run_all.sh OUTDIR [FILTER]
# FILTER: a regular expression on case names, or `beside` (another profiler), `bench` or
#   `examples` for that part alone.
# OUTDIR gets at most eight files: summary.txt, machine.txt, compare.txt, compare.json,
# overhead.txt, overhead.json, examples.tar.gz, raw.tar.gz.
#   GPU_PROGRAMS   folder filled by tests/gpu/build.sh; default build/tests/gpu, built if empty
#                  its lib/, if any, holds libraries the command needs and this machine may lack
#   GPUWATCH_LIB   default build/lib/libgpuwatch.so      GPUWATCH_CLI   default build/bin/gpuwatch
# Exit status: 0 all passed, 1 something failed, 77 there is no GPU here, 2 wrong use.
set -u
if [ $# -lt 1 ] || [ $# -gt 2 ]; then
	sed -n 's/^#   \(tests.*\)/usage: \1/p' "$0" >&2
	exit 2
fi
mkdir -p "$1" || exit 2
out=$(cd "$1" && pwd)
filter=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
programs=$(realpath -m "${GPU_PROGRAMS:-$top/build/tests/gpu}")
library=$(realpath -m "${GPUWATCH_LIB:-$top/build/lib/libgpuwatch.so}")
cli=$(realpath -m "${GPUWATCH_CLI:-$top/build/bin/gpuwatch}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
unset LD_PRELOAD CUDA_INJECTION64_PATH

reason=$(cd "$here" && python3 -c 'import compare; print(compare.why_no_gpu() or "")') || exit 2
if [ -n "$reason" ]; then
	echo "SKIP: $reason"
	exit 77
fi
if [ ! -e "$programs/logdump" ] && ! "$here/build.sh" "$programs"; then
	echo "run_all.sh: the programs could not be built in $programs" >&2
	exit 2
fi

wanted() { # is this part to run? $1: its name
	[ -z "$filter" ] || [ "$filter" = "$1" ]
}

machine() {
	date -u
	nvidia-smi
	uname -a
	ldd --version | head -1
	nvcc --version | tail -2
	python3 --version
	git -C "$top" rev-parse HEAD 2>/dev/null
	sha256sum "$library"
}

# One example: its output and its report, as a reader would see them.
example() {
	local folder=$1 name
	local -a program
	if ls "$folder"/*.cu >/dev/null 2>&1; then
		name=$(basename "$folder"/*.cu .cu)
		cp "$programs/$name" "$scratch/build/examples/"
		program=("build/examples/$name")
	else
		name=$(basename "$folder"/*.py .py)
		program=(python3 "examples/$(basename "$folder")/$name.py")
	fi
	echo "\$ build/bin/gpuwatch run --out=$name.gwl -- ${program[*]}"
	timeout -k 5 60 "$cli" run --out="$name.gwl" -- "${program[@]}" || return 1
	echo "\$ build/bin/gpuwatch report $name.gwl"
	timeout -k 5 20 "$cli" report "$name.gwl"
}

examples() {
	local folder name
	# The commands of the READMEs run as they stand there.
	mkdir -p "$scratch/build/examples" "$scratch/out/examples"
	ln -s "$top/examples" "$scratch/examples"
	cd "$scratch" || return
	if [ -d "$programs/lib" ]; then
		export LD_LIBRARY_PATH="$programs/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
	fi
	for folder in "$top"/examples/[0-9]*/; do
		name=$(basename "$folder")
		if example "${folder%/}" >"out/examples/$name.txt" 2>"out/examples/$name.err"; then
			echo "PASS example $name"
		else
			echo "FAIL example $name: $(tail -1 "out/examples/$name.err")"
		fi
		sed -i "s|$scratch/||g; s|$top/||g" "out/examples/$name.txt"
	done
	cp ./*.gwl out/examples/ 2>/dev/null
	tar -C out -czf "$out/examples.tar.gz" examples
}

begin=$SECONDS
for file in summary.txt machine.txt compare.txt compare.json overhead.txt overhead.json \
	examples.tar.gz raw.tar.gz; do
	rm -f "$out/$file"
done
: >"$scratch/verdicts"
machine >"$out/machine.txt" 2>&1
if [ "$filter" != bench ] && [ "$filter" != examples ] && [ "$filter" != beside ]; then
	timeout -k 5 270 python3 "$here/compare.py" --programs "$programs" --gpuwatch "$library" \
		--out "$scratch/compare" --filter "$filter" --jobs "${JOBS:-6}" --timeout 40 --limit 200 \
		>"$out/compare.txt" 2>&1
	echo "compare.py: exit status $?" >>"$out/compare.txt"
	grep -E '^(PASS|FAIL|SKIP|compare.py:) ' "$out/compare.txt" >>"$scratch/verdicts"
	cp "$scratch/compare/compare.json" "$out/" 2>/dev/null
	echo "compare: $((SECONDS - begin)) s"
fi
if [ -z "$filter" ] || [ "$filter" = beside ]; then
	timeout -k 5 150 python3 "$here/beside.py" --programs "$programs" --gpuwatch "$library" \
		--out "$scratch/compare" --timeout 40 >>"$out/compare.txt" 2>&1
	echo "beside.py: exit status $?" >>"$out/compare.txt"
	grep -E '^(PASS|FAIL|SKIP) torch-profiler|^beside.py:' "$out/compare.txt" >>"$scratch/verdicts"
	echo "beside: $((SECONDS - begin)) s"
fi
if wanted bench; then
	timeout -k 5 400 python3 "$top/tests/bench/gpu_overhead/overhead.py" --programs "$programs" \
		--gpuwatch "$library" --out "$scratch/bench" --limit ${BENCH_LIMIT:-260} >"$out/overhead.txt" 2>&1
	echo "overhead.py: exit status $?" >>"$out/overhead.txt"
	grep -E '^(PASS|FAIL|SKIP|overhead.py:) ' "$out/overhead.txt" >>"$scratch/verdicts"
	cp "$scratch/bench/overhead.json" "$out/" 2>/dev/null
	echo "bench: $((SECONDS - begin)) s"
fi
if wanted examples; then
	(examples) >>"$scratch/verdicts"
	echo "examples: $((SECONDS - begin)) s"
fi
if [ -d "$scratch/compare/raw" ]; then
	tar -C "$scratch/compare" -czf "$out/raw.tar.gz" raw
	if [ "$(stat -c %s "$out/raw.tar.gz")" -gt 15000000 ]; then
		tar -C "$scratch/compare" --exclude='*.gwl' -czf "$out/raw.tar.gz" raw
	fi
fi
failed=$(grep -c '^FAIL' "$scratch/verdicts")
{
	grep -A8 '^FAIL' "$out/compare.txt" 2>/dev/null | grep -E '^(FAIL|    )' | head -80
	cat "$out/overhead.txt" 2>/dev/null
	grep 'FAIL example' "$scratch/verdicts"
	grep -E '^(compare|beside|overhead)\.py:' "$scratch/verdicts"
	echo "$(grep -c '^PASS' "$scratch/verdicts") passed, $failed failed," \
		"$(grep -c '^SKIP' "$scratch/verdicts") skipped in $((SECONDS - begin)) s"
} | tee "$out/summary.txt"
[ "$failed" -eq 0 ] && grep -q '^PASS' "$scratch/verdicts" &&
	! grep -qE '^(compare|overhead)\.py: exit status ([2-9]|1[0-9][0-9])' "$scratch/verdicts"
