#!/usr/bin/env bash
# package.sh CMAKE BUILD: the Debian package and the wheel hold a command that runs, finds its library and needs
# no glibc newer than 2.34, and no library that a bare system lacks.
set -euo pipefail
cmake=$1 build=$2
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
fail() { echo "$@"; exit 1; }

# works PREFIX: the tree below it.
works() {
	local library newest needs
	library=$(cd "$1" && find "$PWD" -name libgpuwatch.so)
	[ -n "$library" ] || fail "$1: no libgpuwatch.so"
	# shellcheck disable=SC2016
	[ "$("$1/bin/gpuwatch" run --summary=0 -- sh -c 'case $LD_PRELOAD in *libgpuwatch.so*) echo yes ;; esac')" = yes ] ||
		fail "$1: gpuwatch run preloads nothing"
	"$1/bin/gpuwatch" calibrate --help >/dev/null || fail "$1: no calibrate"
	[ -e "$1/share/gpuwatch/profiles/nvidia-h200.json" ] || fail "$1: no device profiles"
	for file in "$library" "$1/bin/gpuwatch"; do
		newest=$(objdump -T "$file" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1)
		[ "$(printf 'GLIBC_2.34\n%s\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.34 ] || fail "$file needs $newest"
		needs=$(objdump -p "$file" | awk '/NEEDED/ && $2 !~ /^(libc|libm|libdl|libpthread|ld-linux.*)\.so\./ {print $2}')
		[ -z "$needs" ] || fail "$file needs $needs"
	done
}

if command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null; then
	cpack=$(dirname "$cmake")/cpack
	(cd "$build" && "$cpack" -G DEB -B "$temp/deb") >"$temp/log" 2>&1 || { cat "$temp/log"; exit 1; }
	dpkg-deb --info "$temp"/deb/*.deb | grep 'Depends: .*libc6' >/dev/null || fail "the Debian package names no dependency"
	dpkg-deb -x "$temp"/deb/*.deb "$temp/root"
	works "$temp/root/usr"
	fleet=$(dirname "$0")/../../fleet
	grep -ho '/usr/lib[^} ]*libgpuwatch.so' "$fleet/slurm/task_prolog.sh" "$fleet/systemd/gpuwatch.conf" | sort -u >"$temp/named"
	[ -s "$temp/named" ] || fail "fleet/ names no library"
	while read -r file; do
		[ -e "$temp/root$file" ] || fail "fleet/ names $file, which the Debian package has not"
	done <"$temp/named"
else
	echo "no dpkg here: the Debian package is left out"
fi

"$cmake" --build "$build" --target wheel >"$temp/log" 2>&1 || { cat "$temp/log"; exit 1; }
wheel=$(ls -t "$build"/gpuwatch-*.whl | head -n 1)
python3 -c 'import venv, ensurepip' 2>/dev/null || { echo "python3 has no venv: the wheel is not installed"; exit 0; }
python3 -m venv "$temp/venv"
"$temp/venv/bin/python" -m pip --disable-pip-version-check install -q --no-index "$wheel"
works "$temp/venv"
# The package finds the command that came with it, whatever is in PATH.
(cd "$temp" && PATH=/usr/bin:/bin "$temp/venv/bin/python" -c 'import gpuwatch, sys; sys.exit(gpuwatch.command() != sys.argv[1])' \
	"$(realpath "$temp")/venv/bin/gpuwatch") || fail "the Python package does not find its command"
"$temp/venv/bin/python" -m pip --disable-pip-version-check uninstall -q -y gpuwatch
[ ! -e "$temp/venv/bin/gpuwatch" ] || fail "pip does not uninstall the command"
