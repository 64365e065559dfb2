#!/bin/sh
# conformance.sh PROBE GOLDEN: the stand-in's trace must be the real driver's, line for line.
probe=$1 golden=$2
trace=$(mktemp) || exit 1
trap 'rm -f "$trace"' EXIT
"$probe" >"$trace" || { echo "the probe failed on the stand-in"; cat "$trace"; exit 1; }
if ! diff -u "$golden" "$trace"; then
	echo "the stand-in (+) does not answer as the real driver (-)"
	exit 1
fi
