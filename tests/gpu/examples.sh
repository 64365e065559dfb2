#!/bin/bash
# Runs each example under gpuwatch by the commands of its README, and keeps what was printed.
#   tests/gpu/examples.sh PROGRAMS CLI OUT
# PROGRAMS: filled by build.sh; CLI: gpuwatch; OUT gets <example folder>.txt, for examples/refresh_outputs,
# and the logs. Exit status: 0 all ran well, 1 one did not, 77 there is no GPU here, 2 wrong use.
set -u
if [ $# -ne 3 ]; then
	sed -n 's/^#   \(tests.*\)/usage: \1/p' "$0" >&2
	exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
programs=$(realpath -m "$1") cli=$(realpath -m "$2") out=$(realpath -m "$3")
# shellcheck source=need_gpu.sh
. "$here/need_gpu.sh"
# The commands run as they stand in the READMEs: in a folder that looks like the tree.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/build/examples" "$out" || exit 2
ln -s "$top/examples" "$scratch/examples"
ln -s "$(dirname "$cli")" "$scratch/build/bin"
ln -s "$(dirname "$(dirname "$cli")")/lib" "$scratch/build/lib"
cd "$scratch" || exit 2
libraries=$(dirname "$(dirname "$cli")")/lib

one() { # FOLDER: one example and its report, as a reader would see them
	local folder=$1 name
	local -a program
	if ls "$folder"/*.cu >/dev/null 2>&1; then
		name=$(basename "$folder"/*.cu .cu)
		cp "$programs/$name" build/examples/ || return 1
		program=("build/examples/$name")
	else
		name=$(basename "$folder"/*.py .py)
		program=(python3 "examples/$(basename "$folder")/$name.py")
	fi
	echo "\$ build/bin/gpuwatch run --out=$name.gwl -- ${program[*]}"
	# What the command itself needs must not be found by the program before its own.
	timeout -k 5 60 env LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$libraries" \
		build/bin/gpuwatch run --out="$name.gwl" -- "${program[@]}" || return 1
	echo "\$ build/bin/gpuwatch report $name.gwl"
	LD_LIBRARY_PATH=$libraries timeout -k 5 20 build/bin/gpuwatch report "$name.gwl"
}

failed=0
for folder in "$top"/examples/[0-9]*/; do
	name=$(basename "$folder")
	if one "${folder%/}" >"$out/$name.txt" 2>"$out/$name.err"; then
		echo "PASS example $name"
	else
		echo "FAIL example $name: $(tail -n 1 "$out/$name.err")"
		failed=1
	fi
	sed -i "s|$scratch/||g; s|$top/||g" "$out/$name.txt"
done
cp ./*.gwl "$out/" 2>/dev/null
exit $failed
