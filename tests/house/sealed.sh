#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sealed.sh [--fix]: kernels/strangers/sealed.sha256 lists exactly the programs that the rule seals (the SHA-256 of the
# program's name, as a number, is a multiple of 3), and their sources are as they were when they were sealed. programs.def
# lists every source, and each once. --fix writes the list anew, for programs that are added.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../kernels/strangers"
command -v sha256sum >/dev/null || {
	echo "skipped: there is no sha256sum"
	exit 77
}

# A number in base 16 is a multiple of 3 where the sum of its digits is, since 16 is 1 more than 15.
sealed() { # sealed NAME
	local digits sum=0 i
	digits=$(printf '%s' "$1" | sha256sum | cut -c1-64)
	for ((i = 0; i < 64; i++)); do sum=$((sum + 16#${digits:i:1})); done
	[ $((sum % 3)) -eq 0 ]
}

programs=$(sed -nE 's|^PROGRAM\(([a-z0-9_]+), ([a-z0-9_]+), .*|\1/\2.cu|p' programs.def | sort)
sources=$(find . -name '*.cu' | sed 's|^\./||' | sort)
diff <(echo "$programs") <(echo "$sources") || {
	echo "kernels/strangers/programs.def does not list the sources as they are"
	exit 1
}
list() {
	for source in $programs; do
		if sealed "$(basename "$source" .cu)"; then sha256sum "$source"; fi
	done
}
if [ "${1:-}" = --fix ]; then
	list >sealed.sha256
	exit
fi
list | diff sealed.sha256 - || {
	echo "kernels/strangers/sealed.sha256 is not of the sealed programs: they are not to be changed; tests/house/sealed.sh --fix adds new ones"
	exit 1
}
