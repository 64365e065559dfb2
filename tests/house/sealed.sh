#!/usr/bin/env bash
# sealed.sh [--fix]: kernels/strangers/sealed.tar.xz holds exactly the programs that the rule seals (the SHA-256 of the
# program's name, as a number, is a multiple of 3), open.tar.xz all others, and the sealed ones are as sealed.sha256 has
# them from when they were sealed. programs.def lists every source, and each once. --fix moves sources that lie in
# kernels/strangers into the archive where they belong, and writes the checksums anew.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../kernels/strangers"
for tool in sha256sum python3; do
	command -v "$tool" >/dev/null || {
		echo "skipped: there is no $tool"
		exit 77
	}
done
archive() { python3 -B ../../tests/archive "$@"; }

# A number in base 16 is a multiple of 3 where the sum of its digits is, since 16 is 1 more than 15.
sealed() { # sealed NAME
	local digits sum=0 i
	digits=$(printf '%s' "$1" | sha256sum | cut -c1-64)
	for ((i = 0; i < 64; i++)); do sum=$((sum + 16#${digits:i:1})); done
	[ $((sum % 3)) -eq 0 ]
}

open=() closed=()
for source in $(sed -nE 's|^PROGRAM\(([a-z0-9_]+), ([a-z0-9_]+), .*|\1/\2.cu|p' programs.def | sort); do
	if sealed "$(basename "$source" .cu)"; then closed+=("$source"); else open+=("$source"); fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pack() { # pack ARCHIVE SOURCE...: moves those that lie here into the archive
	local into=$1 source
	shift
	for source in "$@"; do
		[ -e "$source" ] || continue
		archive add "$into.tar.xz" --into="$(dirname "$source")" "$source"
		rm "$source"
		rmdir --ignore-fail-on-non-empty "$(dirname "$source")"
	done
}
if [ "${1:-}" = --fix ]; then
	pack sealed "${closed[@]}"
	pack open "${open[@]}"
fi
archive unpack sealed.tar.xz "$work/sealed"
archive unpack open.tar.xz "$work/open"
if [ "${1:-}" = --fix ]; then
	(cd "$work/sealed" && sha256sum "${closed[@]}") >sealed.sha256
	exit
fi
sources() { (cd "$1" && find . -name '*.cu' | sed 's|^\./||' | sort); }
diff <(printf '%s\n' "${open[@]}") <(sources "$work/open") && diff <(printf '%s\n' "${closed[@]}") <(sources "$work/sealed") && [ -z "$(sources .)" ] || {
	echo "kernels/strangers/programs.def does not list the sources of open.tar.xz and sealed.tar.xz as they are; tests/house/sealed.sh --fix packs those that lie beside them"
	exit 1
}
(cd "$work/sealed" && sha256sum "${closed[@]}") | diff sealed.sha256 - || {
	echo "kernels/strangers/sealed.sha256 is not of the sealed programs: they are not to be changed"
	exit 1
}
