#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# hook_names.sh CC HOOKS_DEF NAME...: the symbols of the hook list, and the other names, a line each.
set -euo pipefail
cc=$1 list=$2
shift 2
"$cc" -E -P -x c -D'HOOK(symbol, ...)=GW_HOOK symbol' "$list" |
	grep -oE 'GW_HOOK +[A-Za-z_0-9]+' | sed 's/GW_HOOK *//'
printf '%s\n' "$@"
