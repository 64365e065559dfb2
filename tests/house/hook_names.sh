#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# hook_names.sh CC HOOKS_DEF FOREIGN_DEF NAME...: the symbols of the two lists, and the other names,
# a line each.
set -euo pipefail
cc=$1 hooks=$2 foreign=$3
shift 3
"$cc" -E -P -x c -D'HOOK(symbol, ...)=GW_HOOK symbol' -D'FOREIGN(symbol, ...)=GW_HOOK symbol' \
	-include "$hooks" "$foreign" |
	grep -oE 'GW_HOOK +[A-Za-z_0-9]+' | sed 's/GW_HOOK *//'
printf '%s\n' "$@"
