#!/usr/bin/env bash
# cuda_version.sh CMAKE ROOT: a CUDA toolkit that is too old is passed over, by its cuda.h, both where the
# set-up looks for one and where cmake does. ROOT is a toolkit that is new enough.
set -euo pipefail
cmake=$1 root=$2
tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

# toolkit FOLDER VERSION
toolkit() {
	mkdir -p "$1/include" "$1/bin"
	printf '#ifndef __cuda_cuda_h__\n#define CUDA_VERSION %s\n#endif\n' "$2" >"$1/include/cuda.h"
	: >"$1/include/cupti.h"
	printf '#!/bin/sh\n' >"$1/bin/nvcc"
	chmod +x "$1/bin/nvcc"
}
toolkit "$temp/old" 12040
toolkit "$temp/new" 13010

# shellcheck source=cmake/setup.sh
. "$tree/cmake/setup.sh"
gw_cuda_is_new "$temp/new" || { echo "setup.sh refuses CUDA 13.1"; exit 1; }
! gw_cuda_is_new "$temp/old" || { echo "setup.sh takes CUDA 12.4"; exit 1; }
! gw_cuda_is_new "$temp" || { echo "setup.sh takes a folder without cuda.h"; exit 1; }

# found CUDA_HOME: the root that GwCuda.cmake takes.
mkdir "$temp/project"
cat >"$temp/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(probe LANGUAGES NONE)
include($tree/cmake/GwCuda.cmake)
file(WRITE $temp/found "\${GW_CUDA_ROOT} \${GW_CUDA_INCLUDE} \${GW_NVCC}")
END
found() {
	rm -rf "$temp/build" "$temp/found"
	CUDA_HOME=$1 PATH=$root/bin:$PATH "$cmake" -S "$temp/project" -B "$temp/build" >"$temp/log" 2>&1 ||
		{ cat "$temp/log"; exit 1; }
	cat "$temp/found"
}
[ "$(found "$temp/new")" = "$temp/new $temp/new/include $temp/new/bin/nvcc" ] ||
	{ echo "cmake does not take CUDA_HOME: $(cat "$temp/found")"; exit 1; }
case $(found "$temp/old") in
*"$temp/old"*) echo "cmake takes CUDA 12.4: $(cat "$temp/found")"; exit 1 ;;
esac
