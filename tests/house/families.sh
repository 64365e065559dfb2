#!/usr/bin/env bash
# families.sh [--fix]: kernels/workloads/families.txt names every kernel of the development set with
# its family, the .cu file it stands in. With --fix the file is made anew.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../kernels/workloads/families"

list() {
	echo "# The family of each kernel of the development set, for \`gpuwatch replay --families\`: made by"
	echo "# tests/house/families.sh --fix of the .cu files."
	for file in *.cu; do
		# A kernel's name is the word before the bracket that follows __global__ and its bounds.
		tr -s '\n\t ' ' ' <"$file" |
			grep -oE '__global__ void ((__launch_bounds__\([^)]*\)) +)?[a-z0-9_]+\(' |
			sed -E "s/.* ([a-z0-9_]+)\($/${file%.cu} \1/"
	done
}

if [ "${1:-}" = --fix ]; then
	list >../families.txt
	exit
fi
if ! list | diff - ../families.txt; then
	echo "kernels/workloads/families.txt is not of the .cu files as they are; run tests/house/families.sh --fix"
	exit 1
fi
