#!/usr/bin/env bash
# aarch64.sh BUILD NAMES: library and command compile for aarch64, in BUILD, and the library exports what it does here.
# Exit 77: no cross compiler, or no libraries for aarch64.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=$1 names=$2 sysroot=$PWD/build/aarch64-sysroot
command -v aarch64-linux-gnu-gcc >/dev/null ||
	{ echo "skipped: there is no aarch64-linux-gnu-gcc (Debian: gcc-aarch64-linux-gnu)"; exit 77; }
[ -e "$sysroot" ] || { echo "skipped: no libraries for aarch64 (tests/aarch64 --fetch downloads them)"; exit 77; }
[ -e "$build/CMakeCache.txt" ] || cmake -S . -B "$build" --toolchain cmake/aarch64.cmake -DGW_SYSROOT="$sysroot" \
	-DCMAKE_BUILD_TYPE=Release -DGW_WERROR=ON -DBUILD_TESTING=OFF
cmake --build "$build" --target gpuwatch_preload --target gpuwatch --parallel "$(nproc)"
for file in lib/libgpuwatch.so bin/gpuwatch; do
	readelf -h "$build/$file" | grep -q 'Machine: *AArch64' || { echo "$file is not for aarch64"; exit 1; }
done
tests/preload/exports.sh "$build/lib/libgpuwatch.so" "$names"
