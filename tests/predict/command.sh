#!/usr/bin/env bash
# command.sh GPUWATCH MAKE_SAMPLE LAUNCHES_LOG SOURCE TEST [--update]: one behaviour of `gpuwatch predict` and `whatif`.
# --update writes an expected output anew; look at the difference (`diff`, as the test shows it) before.
set -uo pipefail
gpuwatch=$1 make_sample=$2 launches_log=$3 source=$4 test=$5 update=${6-}
cd "$source" || exit 2
papers=examples/papers
export NO_COLOR=1 COLUMNS=120 LC_ALL=C.UTF-8 GPUWATCH_PROFILE=${gpuwatch%/bin/*}/share/gpuwatch/profiles
scratch=$(mktemp -d) && trap 'rm -rf "$scratch"' EXIT

die() { echo "$test: $*" >&2; exit 1; }

# The command's output must be that of tests/golden.tar.xz (`tests/golden tests/golden.tar.xz TEST` prints it), byte by byte.
golden() {
	local all=tests/golden.tar.xz status=0
	"$gpuwatch" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
	[ "$status" = "${expected_status-0}" ] || die "status $status: $(cat "$scratch/err")"
	[ ! -s "$scratch/err" ] || die "stderr: $(cat "$scratch/err")"
	[ "$update" != --update ] || tests/golden $all "$test" update <"$scratch/out"
	tests/golden $all "$test" | diff -u - "$scratch/out" || die "output differs from what is expected"
}

# Status 2, nothing on stdout, one line on stderr that holds every text given before --.
refuses() {
	local texts=() status=0
	while [ "$1" != -- ]; do texts+=("$1"); shift; done
	shift
	"$gpuwatch" "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
	[ "$status" = 2 ] || die "status $status"
	[ ! -s "$scratch/out" ] || die "stdout: $(cat "$scratch/out")"
	[ "$(wc -l <"$scratch/err")" = 1 ] || die "not one message: $(cat "$scratch/err")"
	for text in "${texts[@]}"; do
		grep -qF -- "$text" "$scratch/err" || die "no '$text' in: $(cat "$scratch/err")"
	done
}

devices=(--device=GTX-480 --device=GTX-660 --device=GTX-960 --device=GTX-1060 --device=M2050 --device=K20c)
test_gpu=tests/predict/test-gpu.json

case $test in
golden_sor_text) golden predict "${devices[@]}" --launch=$papers/sor.json --model=qrm ;;
golden_sor_json) golden predict --device=GTX-660 --launch=$papers/sor.json --model=qrm --json ;;
golden_lmsor_text) golden predict "${devices[@]}" --launch=$papers/lmsor.json --model=qrm ;;
golden_sgemm_text) golden predict "${devices[@]}" --launch=$papers/sgemm.json --model=qrm ;;
golden_whatif_rodinia) golden whatif "${devices[@]}" $papers/rodinia.json ;;
golden_whatif_json) golden whatif --device=GTX-480 --device=K20c --json $papers/kernels.json ;;
golden_loop_text) golden predict --device=$papers/devices/m2200.json --launch=$papers/interval-loop.json --model=interval ;;
golden_mxv_text) golden predict --device=$papers/devices/gtx-1080.json --device=$papers/devices/k20c.json --launch=$papers/interval-mxv.json --model=interval ;;
golden_matmul_text) golden predict --device=K40c --launch=$papers/matmul.json --model=wave ;;
golden_tune_text) golden predict --device=$test_gpu --launch=tests/predict/tune.json --tune --any-grid ;;
golden_tune_json) golden predict --device=$test_gpu --launch=tests/predict/tune.json --tune --json ;;
totals_take_only_what_is_known)
	cat >"$scratch/x.json" <<-'END'
	[{"name": "known", "parameters": {"K_type": "fp32", "W_comp": 1e9, "W_traf": 1e6, "E_mix": 100, "D_ops": 50, "D_ldst": 10}},
	 {"name": "unknown", "work": {"fp32_inst": 1}}]
	END
	"$gpuwatch" whatif --device=GTX-660 --device=GTX-480 "$scratch/x.json" >"$scratch/out" || die "failed"
	grep -q "in all (1 of 2 kernels)" "$scratch/out" || die "the sum hides what it leaves out"
	grep -q "^unknown  *unknown  *-  *unknown" "$scratch/out" || die "a time for a kernel without work"
	grep -q "^unknown on GTX-660: not known: " "$scratch/out" || die "no reason" ;;
unknown_device)
	refuses "'no such gpu'" "NVIDIA GeForce GTX 660" "Tesla K40c" -- predict --device="no such gpu" --launch=$papers/sor.json
	refuses "'no such gpu'" "NVIDIA GeForce GTX 660" "Tesla K40c" -- calibrate --from="no such gpu" ;;
unknown_model) refuses '"qrx"' '"roofline"' '"qrm"' '"all"' -- predict --device=GTX-660 --launch=$papers/sor.json --model=qrx ;;
unknown_key)
	printf '{"name": "a",\n "work": {"fp32_ins": 3}}\n' >"$scratch/x.json"
	refuses "$scratch/x.json:2:" '"fp32_ins"' '"fp32_inst"' -- predict --device=GTX-660 --launch="$scratch/x.json" ;;
options_without_effect)
	refuses "--any-grid is for --tune" -- predict --device=GTX-660 --launch=$papers/sor.json --any-grid
	refuses "--shared-per-thread is for --tune" -- predict --device=GTX-660 --launch=$papers/sor.json --shared-per-thread
	refuses "leave out --model" -- predict --device=GTX-660 --launch=$papers/sor.json --tune --model=qrm
	refuses "leave out --plot" -- predict --device=GTX-660 --launch=$papers/sor.json --tune --plot="$scratch/p"
	refuses "leave out --quick" -- calibrate --from="NVIDIA H200" --quick
	refuses "leave out --output" -- calibrate --from="NVIDIA H200" -o "$scratch/p"
	refuses "--plot draws accesses: give --coalescing" -- inspect --plot="$scratch/p" x.cubin
	[ ! -e "$scratch/p" ] || die "something was made" ;;
missing_launch) refuses --launch=FILE -- predict --device=GTX-660 ;;
missing_device) refuses --device=NAME -- predict --launch=$papers/sor.json ;;
broken_json)
	printf '{"name": "a",\n' >"$scratch/x.json"
	refuses "$scratch/x.json:2:" -- whatif --device=GTX-660 "$scratch/x.json" ;;
log_without_work)
	"$make_sample" plain "$scratch/a.gwl" || die "no sample log"
	for form in "" --json; do
		status=0
		"$gpuwatch" whatif --device=GTX-660 $form "$scratch/a.gwl" >"$scratch/out" || status=$?
		[ $status = 1 ] || die "status $status"
		grep -q "the log holds no work" "$scratch/out" || die "does not say what is missing"
		grep -q "GPUWATCH_COUNTERS=pm" "$scratch/out" || die "no remedy"
		! grep -E '"(here_)?seconds": [0-9]|[0-9] [µmn]?s +[0-9.]+ [µmn]?s' "$scratch/out" || die "a guess"
	done ;;
log_with_work)
	# On the GPU that it ran on and on one with the same profile the answers are the same, and those of predict.
	"$launches_log" $test_gpu tests/predict/whatif.json "$scratch/a.gwl" || die "no log"
	"$gpuwatch" whatif --device=$test_gpu --device=GTX-660 --json "$scratch/a.gwl" >"$scratch/log" || die "failed"
	"$gpuwatch" predict --device=$test_gpu --model=bounds --launch=tests/predict/whatif.json --json >"$scratch/each" || die "failed"
	tests/predict/whatif.py "$scratch/log" "$scratch/each" || die "not the same" ;;
whatif_applies_the_utilisation_factor)
	# 5.13 of Konstantinidis 2017: on the GPU of the log, and the first of a launch file, the time is the measured one.
	"$launches_log" $test_gpu tests/predict/whatif.json "$scratch/a.gwl" || die "no log"
	for form in "" --utilisation; do
		"$gpuwatch" whatif --device=$test_gpu --device="NVIDIA H100 80GB HBM3" --model=roofline $form --json "$scratch/a.gwl" >"$scratch/log$form" || die "failed"
		"$gpuwatch" whatif --device=GTX-480 --device=GTX-660 $form --json $papers/sor.json >"$scratch/file$form" || die "failed"
	done
	python3 - "$scratch/log" "$scratch/file" <<-'END' || die "not by the factor"
		import json, math, sys
		for path in sys.argv[1:]:
		    bare, scaled = (json.load(open(path + form)) for form in ("", "--utilisation"))
		    for a, b in zip(bare["kernels"], scaled["kernels"]):
		        here, there = (k["devices"] for k in (a, b))
		        if here[0]["seconds"] is None:
		            continue
		        measured = b.get("measured_seconds") or there[0]["measured_seconds"]
		        factor = measured / here[0]["seconds"]
		        assert math.isclose(there[0]["seconds"], measured), (path, there)
		        assert path.endswith("file") or math.isclose(b["e_util"], factor), (path, b)
		        assert path.endswith("log") or math.isclose(there[1]["seconds"], factor * here[1]["seconds"]), (path, there)
	END
	"$gpuwatch" whatif --device=GTX-660 --device=GTX-480 --utilisation $papers/rodinia.json >"$scratch/out" || die "failed"
	grep -q "no measured time on the first GPU" "$scratch/out" || die "a factor without a measurement" ;;
golden_whatif_log)
	"$launches_log" $test_gpu tests/predict/whatif.json "$scratch/a.gwl" || die "no log"
	golden whatif --device=$test_gpu --device="NVIDIA H100 80GB HBM3" --model=roofline "$scratch/a.gwl" ;;
whatif_adds_up_the_logs_of_a_folder)
	mkdir "$scratch/logs" "$scratch/none"
	for log in a b; do "$launches_log" $test_gpu tests/predict/whatif.json "$scratch/logs/$log.gwl" || die "no log"; done
	for from in logs/a.gwl logs; do
		"$gpuwatch" whatif --device=$test_gpu --json "$scratch/$from" >"$scratch/${from%%/*}.$(basename "$from")" || die "failed"
	done
	python3 - "$scratch/logs.a.gwl" "$scratch/logs.logs" <<-'END' || die "not twice as much"
		import json, math, sys
		one, two = (json.load(open(path)) for path in sys.argv[1:])
		assert len(one["kernels"]) == len(two["kernels"]) > 1
		for a, b in zip(one["kernels"], two["kernels"]):
		    assert a["name"] == b["name"] and 2 * a["launches"] == b["launches"]
		    assert math.isclose(2 * a["here_seconds"], b["here_seconds"])
		    assert math.isclose(2 * a["devices"][0]["seconds"], b["devices"][0]["seconds"])
	END
	refuses "$scratch/none" "no log in this folder" -- whatif --device=$test_gpu "$scratch/none" ;;
log_without_a_profile)
	"$make_sample" no_profile "$scratch/a.gwl" || die "no sample log"
	"$gpuwatch" whatif --device=$test_gpu "$scratch/a.gwl" >"$scratch/out" || die "failed"
	grep -q "^No time on the GPU it ran on of 5 kernels (gather_words and others): no device profile in the log" "$scratch/out" || die "no reason"
	grep -q "^in all (4 of 5 kernels)" "$scratch/out" || die "other GPUs have no time then" ;;
log_that_tells_no_amounts)
	# What is known of it takes no time: an empty kernel's would be no answer.
	printf '[{"name": "%s", "grid": 8, "block": 128, "measured": {"Test GPU": 1e-4}, "work": {%s}}]' guessed \
		'"divergent_branches": 0, "barriers": 0, "shared_atomics": 0, "warp_insts": 100' >"$scratch/x.json"
	"$launches_log" $test_gpu "$scratch/x.json" "$scratch/a.gwl" || die "no log"
	status=0
	"$gpuwatch" whatif --device=$test_gpu "$scratch/a.gwl" >"$scratch/out" || status=$?
	[ $status = 1 ] || die "status $status"
	grep -q "(guessed): not known: the work of the launch" "$scratch/out" || die "no reason" ;;
log_cut_off)
	"$make_sample" worked "$scratch/a.gwl" || die "no sample log"
	head -c -40 "$scratch/a.gwl" >"$scratch/b.gwl"
	"$gpuwatch" whatif --device=$test_gpu "$scratch/b.gwl" >"$scratch/out"
	grep -q "^$scratch/b.gwl: no END record" "$scratch/out" || die "does not say what is lost"
	: >"$scratch/c.gwl"
	refuses "$scratch/c.gwl: it is empty" -- whatif --device=$test_gpu "$scratch/c.gwl" ;;
plots_hold_every_kernel_and_device)
	command -v xmllint >/dev/null || { echo "skipped: xmllint is not here"; exit 77; }
	"$gpuwatch" predict "${devices[@]}" --launch=$papers/kernels.json --plot="$scratch/p" >/dev/null || die "failed"
	xmllint --noout "$scratch"/p/*.svg || die "not well-formed"
	for name in "red/black SOR" LMSOR SGEMM GTX-480 GTX-660 GTX-960 GTX-1060 M2050 K20c; do
		grep -qF "$name" "$scratch/p/quadrant.svg" || die "quadrant.svg lacks $name"
		for file in errors-qrm utilisation-qrm; do
			grep -qF "$name" "$scratch/p/$file.svg" || die "$file.svg lacks $name"
		done
	done
	for file in densities roofline-{gtx-480,gtx-660,gtx-960,gtx-1060,m2050,k20c} \
			quadrant-{red-black-sor,lmsor,sgemm} factors-gtx-480 errors-roofline; do
		[ -s "$scratch/p/$file.svg" ] || die "no $file.svg"
	done
	for name in "red/black SOR" LMSOR SGEMM; do
		for file in densities roofline-k20c factors-gtx-480; do
			grep -qF "$name" "$scratch/p/$file.svg" || die "$file.svg lacks $name"
		done
	done
	! grep -lE '<script|href|@import|url\(http' "$scratch"/p/*.svg || die "a picture needs something else" ;;
plots_leave_out_unknown)
	"$gpuwatch" predict --device=GTX-660 --launch=$papers/matmul.json --plot="$scratch/p" >/dev/null 2>"$scratch/err" || die "failed"
	grep -qF "is left out of the pictures" "$scratch/err" || die "does not say what is left out"
	[ -z "$(ls "$scratch/p")" ] || die "pictures of nothing: $(ls "$scratch/p")" ;;
plot_folder_not_writable)
	: >"$scratch/file"
	refuses "$scratch/file/p" -- predict --device=GTX-660 --launch=$papers/sor.json --plot="$scratch/file/p" ;;
standard_input)
	"$gpuwatch" predict --device=GTX-660 --launch=- --model=qrm <$papers/sor.json >"$scratch/out" || die "failed"
	grep -q "34.803 ms" "$scratch/out" || die "not the answer for the file" ;;
launch_file_from_a_pipe)
	"$gpuwatch" predict --device=GTX-660 --launch=<(cat $papers/sor.json) --model=qrm >"$scratch/out" || die "failed"
	grep -q "34.803 ms" "$scratch/out" || die "not the answer for the file"
	"$gpuwatch" whatif --device=GTX-660 --device=GTX-480 <(cat $papers/kernels.json) >"$scratch/out" || die "failed"
	grep -q "in all (3 of 3 kernels)" "$scratch/out" || die "not the answer for the file" ;;
log_on_standard_input)
	"$launches_log" $test_gpu tests/predict/whatif.json "$scratch/a.gwl" || die "no log"
	"$gpuwatch" whatif --device=$test_gpu "$scratch/a.gwl" >"$scratch/named" || die "failed"
	"$gpuwatch" whatif --device=$test_gpu - <"$scratch/a.gwl" >"$scratch/out" || die "failed"
	cmp "$scratch/named" "$scratch/out" || die "not the same"
	"$gpuwatch" whatif --device=$test_gpu <(sleep 0.1; cat "$scratch/a.gwl") >"$scratch/out" || die "failed of a pipe"
	cmp "$scratch/named" "$scratch/out" || die "not the same of a pipe" ;;
pictures)
	# Four that the examples name.
	[ "$(uname -m)" = x86_64 ] || { echo "skipped: coordinates may round differently here"; exit 77; }
	"$gpuwatch" predict --device=GTX-480 --launch=$papers/rodinia.json --model=qrm --plot="$scratch/r" >/dev/null || die "failed"
	"$gpuwatch" predict "${devices[@]}" --launch=$papers/kernels.json --model=qrm --plot="$scratch/k" >/dev/null || die "failed"
	for picture in r/roofline-gtx-480 r/densities k/quadrant-red-black-sor k/errors-qrm; do
		file=${picture#*/}.svg
		[ "$update" != --update ] || tests/golden tests/golden.tar.xz $file update <"$scratch/$picture.svg"
		tests/golden tests/golden.tar.xz $file | cmp "$scratch/$picture.svg" - || die "the picture differs from $file"
	done ;;
docs_tell_every_key)
	# The error for a key that is like none lists all of them.
	for file in '{"zzzz": 1}' '{"kernel": {"zzzz": 1}}' '{"options": {"zzzz": 1}}' '{"parameters": {"zzzz": 1}}' \
			'{"intervals": [{"zzzz": 1}]}' '{"intervals": [{"code": [{"zzzz": 1}]}]}' \
			'{"work": {"fp32_inst": {"value": 1, "zzzz": 1}}}' '{"zzzz": 1, "launches": []}'; do
		echo "$file" >"$scratch/x.json"
		keys=$("$gpuwatch" predict --device=GTX-660 --launch="$scratch/x.json" 2>&1 |
			sed -n 's/.*did you mean //p' | grep -o '"[^"]*"' | tr -d '"')
		[ -n "$keys" ] || die "no keys listed for $file"
		for key in $keys; do
			grep -qE "[\`\"]$key[\`\"]" docs/user/launch.md || die "docs/user/launch.md does not tell $key"
		done
	done ;;
readme)
	# Every output the examples show is what the commands print now.
	tests/predict/readme.py "$gpuwatch" $papers/README.md ${update:+"$update"} || die "the examples' README is out of date" ;;
*) die "there is no such test" ;;
esac
