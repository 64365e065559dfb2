#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sealed.sh [--fix]: kernels/strangers/sealed.tar.xz holds exactly the programs that the rule seals (the SHA-256 of the
# program's name, as a number, is a multiple of 3), and they are as sealed.sha256 has them from when they were sealed.
# programs.def lists every source, and each once. --fix moves programs that are added into the archive, and writes the list
# anew.
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
archive unpack sealed.tar.xz "$work"
if [ "${1:-}" = --fix ]; then
	for source in "${closed[@]}"; do
		[ -e "$source" ] || continue
		archive add sealed.tar.xz --into="$(dirname "$source")" "$source"
		mkdir -p "$work/$(dirname "$source")"
		mv "$source" "$work/$source"
	done
	(cd "$work" && sha256sum "${closed[@]}") >sealed.sha256
	exit
fi
sources() { find . -name '*.cu' | sed 's|^\./||' | sort; }
diff <(printf '%s\n' "${open[@]}") <(sources) && diff <(printf '%s\n' "${closed[@]}") <(cd "$work" && sources) || {
	echo "kernels/strangers/programs.def does not list the open sources and those of sealed.tar.xz as they are; tests/house/sealed.sh --fix adds new ones"
	exit 1
}
(cd "$work" && sha256sum "${closed[@]}") | diff sealed.sha256 - || {
	echo "kernels/strangers/sealed.sha256 is not of the sealed programs: they are not to be changed"
	exit 1
}
