#!/usr/bin/env bash
# Builds legacy.cu by CUDA 11.8 into OUTDIR/legacy118, in the ways that programs of that time were
# built. Needs no GPU, and nothing of the system is changed: the toolkit is Debian 12's (non-free), unpacked
# into CUDA118 (default /tmp/cuda118), from which it is taken again.
#   tests/gpu/legacy/build.sh OUTDIR
set -euo pipefail
if [ $# -ne 1 ]; then
	sed -n 's/^#   \(tests.*\)/usage: \1/p' "$0" >&2
	exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/legacy118"
out=$(cd "$1/legacy118" && pwd)
place=${CUDA118:-/tmp/cuda118}
root=$place/root
packages="nvidia-cuda-toolkit nvidia-cuda-dev libcudart11.0 libnvvm4 g++-11 gcc-11 cpp-11 gcc-11-base libgcc-11-dev libstdc++-11-dev libcu++-dev"

# A state of apt's of our own, with the component that has the toolkit.
fetch() {
	mkdir -p "$place"/apt/{lists,cache/archives,state} "$place/debs" "$root"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main non-free" \
		>"$place/apt/sources.list"
	cat >"$place/apt/conf" <<-EOF
		Dir::State "$place/apt/state";
		Dir::State::Lists "$place/apt/lists";
		Dir::State::status "/var/lib/dpkg/status";
		Dir::Cache "$place/apt/cache";
		Dir::Etc::SourceList "$place/apt/sources.list";
		Dir::Etc::SourceParts "/dev/null";
	EOF
	export APT_CONFIG=$place/apt/conf
	apt-get -q update
	# shellcheck disable=SC2086  # the list is words on purpose
	(cd "$place/debs" && apt-get -q download $packages)
	for package in "$place"/debs/*.deb; do
		case $package in
		# Of its 3 GB no more than a program needs.
		*/nvidia-cuda-dev_*) dpkg-deb --fsys-tarfile "$package" |
			tar -x -C "$root" --wildcards './usr/include/*' '*/libcudart*' '*/libcudadevrt*' ;;
		*) dpkg-deb -x "$package" "$root" ;;
		esac
	done
	touch "$place/unpacked"
}

[ -e "$place/unpacked" ] || fetch
export PATH=$root/usr/lib/nvidia-cuda-toolkit/bin:$root/usr/bin:$PATH
export LD_LIBRARY_PATH=$root/usr/lib/x86_64-linux-gnu
export NVVMIR_LIBRARY_DIR=$root/usr/lib/nvidia-cuda-toolkit/libdevice

compile() {
	local name=$1
	shift
	"$root/usr/lib/nvidia-cuda-toolkit/bin/nvcc" -ccbin "$root/usr/bin/g++-11" -O2 -I"$root/usr/include" \
		-L"$root/usr/lib/x86_64-linux-gnu" -Xlinker -s "$@" -o "$out/$name" "$here/legacy.cu"
}

compile ptx52 -gencode arch=compute_52,code=compute_52
compile sm70 -gencode arch=compute_70,code=sm_70 -gencode arch=compute_70,code=compute_70
compile sm90 -gencode arch=compute_90,code=sm_90
compile ptds -gencode arch=compute_90,code=sm_90 --default-stream per-thread
compile rdc -gencode arch=compute_90,code=sm_90 -gencode arch=compute_52,code=compute_52 -rdc=true
# shellcheck disable=SC2016  # for the loader
compile shared -gencode arch=compute_90,code=sm_90 -gencode arch=compute_52,code=compute_52 -cudart shared -Xlinker '-rpath,$ORIGIN'
cp -L "$root/usr/lib/x86_64-linux-gnu/libcudart.so.11.0" "$out"
printf '%s\n' "$out"/*
