#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# exports.sh LIBRARY NAMES: the preloaded library exports exactly the names in the file NAMES,
# needs nothing but libc, libm and the loader, and runs on glibc 2.34: a name too many would
# capture the application's own symbol, a newer symbol version would kill it at start.
set -euo pipefail
export LC_ALL=C
library=$1 names=$2 failed=0

complain() {
	echo "$library: $1"
	failed=1
}

exported=$(nm -D --defined-only "$library" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort -u)
[ -n "$exported" ] || complain "exports nothing"
while read -r sign name; do
	complain "$([ "$sign" = '+' ] && echo exports || echo 'does not export') $name"
done < <(diff <(sort -u "$names") <(echo "$exported") | sed -n 's/^>/+/p; s/^</-/p')

needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for file in $needed; do
	case $file in
	libc.so.6 | libm.so.6 | ld-linux*.so.*) ;;
	*) complain "needs $file" ;;
	esac
done

versions=$(objdump -T "$library" | grep -o 'GLIBC_[0-9.]*' | sort -u)
for version in $versions; do
	printf '%s\nGLIBC_2.34\n' "$version" | sort -V -C || complain "needs $version; 2.34 is the floor"
done
objdump -T "$library" | grep GLIBC_PRIVATE && complain "uses glibc's private symbols"

readelf -d "$library" | grep -q NODELETE || complain "can be unloaded: link it with -z nodelete"
! readelf -d "$library" | grep -q NOOPEN || complain "cannot be opened by CUDA_INJECTION64_PATH"
exit "$failed"
