#!/bin/bash
# Calibrates the GPU and holds the profile against what is published of the H200 and against the shipped one.
#   tests/gpu/calibrate.sh CLI OUT
# Exit status: 0 done and published values met (another GPU is compared with nothing), 1 not, 77 there is no GPU here.
set -u
if [ $# -ne 2 ]; then
	sed -n 's/^#   \(tests.*\)/usage: \1/p' "$0" >&2
	exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "$2")
# shellcheck source=need_gpu.sh
. "$here/need_gpu.sh"
# --force: an idle context that keeps the GPU set up counts as another process.
prefix=$(dirname "$(dirname "$1")")
LD_LIBRARY_PATH=$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
	"$1" calibrate --force -o "$out/profile.json" >"$out/calibrate.txt" 2>"$out/calibrate.err"
status=$?
tail -n 3 "$out/calibrate.err"
[ $status -eq 0 ] || { echo "FAIL calibrate: exit status $status"; exit 1; }
echo "PASS calibrate"
grep -q 'NVIDIA H200' "$out/profile.json" || exit 0
python3 -B "$here/agree.py" two "$out/profile.json" "$prefix/share/gpuwatch/profiles/nvidia-h200.json" >"$out/shipped.txt"
tail -n 1 "$out/shipped.txt"
if python3 -B "$here/agree.py" published "$out/profile.json" "$here/h200_published.csv" >"$out/published.txt"; then
	echo "PASS published values"
else
	echo "FAIL published values: $(tail -n 1 "$out/published.txt")"
	exit 1
fi
