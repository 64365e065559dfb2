#!/usr/bin/env bash
# exports.sh LIBRARY NAMES: the preloaded library exports exactly the names in the file NAMES,
# those of libcuda and libcupti hidden from look-ups (preload/runtime/linker/export.h), needs nothing but libc, libm and the loader, and runs on glibc 2.34: a name too many would
# capture the application's own symbol, a newer symbol version would kill it at start.
# exports.sh --names CC HOOKS_DEF FOREIGN_DEF NAME...: prints those names, a line each.
# exports.sh LIBRARY --models MODELS: of the models that the list MODELS names, it contains `bounds` alone.
set -euo pipefail
export LC_ALL=C
failed=0
if [ "$1" = --names ]; then
	# Of the two lists of hooks, and those that the preload exports besides.
	cc=$2 hooks=$3 foreign=$4
	shift 4
	"$cc" -E -P -x c -D'HOOK(symbol, ...)=GW_HOOK symbol' -D'FOREIGN(symbol, ...)=GW_HOOK symbol' \
		-include "$hooks" "$foreign" |
		grep -oE 'GW_HOOK +[A-Za-z_0-9]+' | sed 's/GW_HOOK *//'
	printf '%s\n' "$@"
	exit
fi
library=$1

complain() {
	echo "$library: $1"
	failed=1
}

if [ "$2" = --models ]; then
	# Those beside `bounds` are for the command, and every program would load them.
	symbols=$(nm "$library" | awk '{print $NF}')
	for model in $(sed -n 's/^MODEL(\(.*\))$/\1/p' "$3"); do
		contained=no
		! grep -qx "gw_model_$model" <<<"$symbols" || contained=yes
		expected=no
		[ "$model" != bounds ] || expected=yes
		[ "$contained" = "$expected" ] || complain "contains gw_model_$model: $contained, expected: $expected"
	done
	exit "$failed"
fi
names=$2

exported=$(nm -D --defined-only "$library" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort -u)
[ -n "$exported" ] || complain "exports nothing"
while read -r sign name; do
	complain "$([ "$sign" = '+' ] && echo exports || echo 'does not export') $name"
done < <(diff <(sort -u "$names") <(echo "$exported") | sed -n 's/^>/+/p; s/^</-/p')

defined=$(nm -D --defined-only "$library" | awk '{print $3}')
for name in $(grep '^cu' "$names"); do
	grep -qx "$name@GPUWATCH" <<<"$defined" || complain "has no $name@GPUWATCH"
	! grep -qx "$name\(@@.*\)\?" <<<"$defined" || complain "shows $name to look-ups"
done
versions=$(readelf -V "$library")
grep -q 'Index: 2 .*Name: GPUWATCH$' <<<"$versions" || complain "GPUWATCH is not its first version node"

# Weak references that the C start files make are everybody's; another's would be bound to what the program has of it.
for name in $(nm -D "$library" | awk '$1 ~ /^[wv]$/ {sub(/@.*/, "", $2); print $2}'); do
	case $name in
	_ITM_* | __cxa_finalize | __gmon_start__) ;;
	*) complain "refers weakly to $name" ;;
	esac
done

dynamic=$(readelf -d "$library")
symbols=$(objdump -T "$library")
for file in $(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' <<<"$dynamic"); do
	case $file in
	libc.so.6 | libm.so.6 | ld-linux*.so.*) ;;
	*) complain "needs $file" ;;
	esac
done

for version in $(grep -oE 'GLIBC_[0-9.]+' <<<"$symbols" | sort -u); do
	printf '%s\nGLIBC_2.34\n' "$version" | sort -V -C || complain "needs $version; 2.34 is the floor"
done
! grep GLIBC_PRIVATE <<<"$symbols" || complain "uses private symbols of glibc"

grep -q NODELETE <<<"$dynamic" || complain "can be unloaded: link it with -z nodelete"
! grep -q NOOPEN <<<"$dynamic" || complain "cannot be opened by CUDA_INJECTION64_PATH"
exit "$failed"
