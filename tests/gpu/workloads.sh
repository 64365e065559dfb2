#!/bin/sh
# workloads.sh PROGRAM PART: gpuwatch-workloads as a command. Skipped (77) where the program has
# not been built: `cmake --build build --target workloads`.
#   list    --list and bad options, which need no GPU
#   no_gpu  without a visible GPU it says so and exits with 77
#   check   every workload gives right results at its smallest size; needs a GPU
set -u
program=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

skip() {
	echo "skipped: $1"
	exit 77
}

fail() {
	echo "FAILED: $1"
	cat "$out"/*
	exit 1
}

expect() { # expect STATUS ARGUMENT...: run, and compare the exit status
	wanted=$1
	shift
	"$program" "$@" >"$out/stdout" 2>"$out/stderr"
	status=$?
	[ "$status" -eq "$wanted" ] || fail "$* gave exit status $status, not $wanted"
}

[ -x "$program" ] || skip "$program is not built; the target is called workloads"
case ${2-} in
list)
	expect 0 --list
	[ "$(wc -l <"$out/stdout")" -ge 40 ] || fail "fewer than 40 workloads are listed"
	[ ! -s "$out/stderr" ] || fail "--list speaks on stderr"
	expect 0 --list --json --only 'copy_f32*'
	[ "$(wc -l <"$out/stdout")" -eq 2 ] || fail "copy_f32* names two workloads"
	expect 0 --list --only stream
	grep -q '^triad_f64 ' "$out/stdout" || fail "a family's name chooses its workloads"
	expect 0 --help
	grep -q -- '--interleave' "$out/stdout" || fail "--help does not list the options"
	expect 0 --list --size 1 --size=2 --seconds 3 --memory 1G
	for bad in --only=nothing --size=6 --size=12 --seconds=x --memory=1 --repeat=x word; do
		expect 2 "$bad"
		[ "$(wc -l <"$out/stderr")" -eq 1 ] || fail "$bad needs one line on stderr"
		[ ! -s "$out/stdout" ] || fail "$bad writes on stdout"
	done
	expect 2 --nonsense
	grep -q "unrecognized option '--nonsense'" "$out/stderr" || fail "an unknown option is not named"
	[ ! -s "$out/stdout" ] || fail "an unknown option writes on stdout"
	;;
no_gpu)
	CUDA_VISIBLE_DEVICES=-1
	export CUDA_VISIBLE_DEVICES
	expect 77 --size 0
	grep -q -- '--list needs no GPU' "$out/stderr" || fail "the message gives no remedy"
	;;
check)
	"$program" --only tiny_kernel --size 0 >"$out/stdout" 2>"$out/stderr"
	[ $? -ne 77 ] || skip "$(cat "$out/stderr")"
	expect 0 --size 0 --check --repeat 1
	! grep -q WRONG "$out/stdout" || fail "a wrong result did not count"
	;;
*)
	echo "usage: workloads.sh PROGRAM list|no_gpu|check"
	exit 2
	;;
esac
