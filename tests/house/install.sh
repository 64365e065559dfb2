#!/usr/bin/env bash
# install.sh CMAKE BUILD LIBDIR: the installed tree works from where it was moved.
set -euo pipefail
cmake=$1 build=$2 lib=$3
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
"$cmake" --install "$build" --prefix "$temp/first" >"$temp/said"
# A library, or that there is none.
grep -q 'libcupti: \(.*/libcupti[.]so[.0-9]* \|not found\)' "$temp/said" || { grep libcupti: "$temp/said"; exit 1; }
mv "$temp/first" "$temp/moved"
tree="$temp/moved"
for file in bin/gpuwatch "$lib/libgpuwatch.so" share/doc/gpuwatch/LICENSE share/doc/gpuwatch/README.md; do
	[ -e "$tree/$file" ] || { echo "not installed: $file"; exit 1; }
done
"$tree/bin/gpuwatch" --help | grep -q . || { echo "gpuwatch --help prints nothing"; exit 1; }
cd "$temp"
status=0
# The child has to see the library of the moved tree, and run gives back its exit status.
# shellcheck disable=SC2016
"$tree/bin/gpuwatch" run -- sh -c 'printf %s "$LD_PRELOAD"; exit 7' >seen || status=$?
[ "$status" -eq 7 ] || { echo "gpuwatch run: exit status $status, not its command's 7"; exit 1; }
grep -qF "$tree/$lib/libgpuwatch.so" seen || { echo "LD_PRELOAD is '$(cat seen)'"; exit 1; }
"$tree/bin/gpuwatch" run -- true
