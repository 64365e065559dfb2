#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# papers.sh LIBRARY MODELS: of the models that the list MODELS names, the preloaded library contains
# `bounds` alone: the others are for the command, and every program would load them.
set -euo pipefail
library=$1 models=$2 failed=0

symbols=$(nm "$library" | awk '{print $NF}')
for model in $(sed -n 's/^MODEL(\(.*\))$/\1/p' "$models"); do
	contained=no
	! grep -qx "gw_model_$model" <<<"$symbols" || contained=yes
	expected=no
	[ "$model" != bounds ] || expected=yes
	[ "$contained" = "$expected" ] || {
		echo "$library: contains gw_model_$model: $contained, expected: $expected"
		failed=1
	}
done
exit "$failed"
