#!/usr/bin/env bash
# oracle.sh SASS_AGREE KERNELS: compile the sources in KERNELS (of compiled.tar.xz, unpacked) for every
# architecture that nvcc has, disassemble them, and compare. NVCC and NVDISASM name other tools. Exit 77: a tool is missing.
set -uo pipefail
agree=$1 kernels=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
nvdisasm=${NVDISASM:-$(command -v nvdisasm || echo /usr/local/cuda/bin/nvdisasm)}
for tool in "$nvcc" "$nvdisasm"; do
	[ -x "$tool" ] || { echo "skipped: $tool is not here (set NVCC and NVDISASM)"; exit 77; }
done
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
bad=0 seen=0
check() { # SM CUBIN...
	local sm=$1
	shift
	for cubin in "$@"; do
		"$nvdisasm" -hex -c -ndf "$cubin" 2>"$temp/error" || exit
	done | awk -f "$here/listing.awk" >"$temp/listing" || return
	"$agree" "$sm" "$temp/listing" || bad=1
	seen=$((seen + 1))
}
for arch in 75 80 86 89 90a 100a 120; do
	cubins=()
	for source in "$kernels"/*.cu; do
		[ "${source##*/}" != packed.cu ] || [ "${arch%a}" -ge 100 ] || continue
		cubin=$temp/$arch.${source##*/}.cubin
		if "$nvcc" -w -std=c++17 "-arch=sm_$arch" -cubin -o "$cubin" "$source" 2>"$temp/error"; then
			cubins+=("$cubin")
		else
			echo "sm_$arch ${source##*/}: not compiled: $(head -1 "$temp/error")"
		fi
	done
	[ ${#cubins[@]} -eq 0 ] || check "${arch%a}" "${cubins[@]}"
done
[ "$seen" -gt 0 ] || { echo "skipped: nothing could be compiled"; exit 77; }
exit "$bad"
