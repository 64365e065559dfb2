#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# measure.sh RUNNER OUT: counts what each launch of the coalescing test asks of memory, with ncu.
#   launches.json  what was launched, one line a launch
#   counted.csv    counters per launch, caches left alone
#   cold.csv       traffic of device memory and L2 with the caches emptied before each launch
# Clocks are left as they are. Counters that this ncu does not know are left out.
set -euo pipefail
runner=$1 out=$2
wanted="l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum
l1tex__t_requests_pipe_lsu_mem_global_op_st.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
l1tex__t_sector_hit_rate.pct
l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum
l1tex__data_pipe_lsu_wavefronts_mem_lg.sum
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum
smsp__inst_executed_op_shared_ld.sum
smsp__inst_executed_op_global_ld.sum
smsp__inst_executed.sum
lts__t_sectors_op_read.sum
lts__t_sectors_op_write.sum"
cold="dram__bytes_read.sum
dram__bytes_write.sum
lts__t_sectors_srcunit_tex_op_read.sum
lts__t_sectors_srcunit_tex_op_read_lookup_hit.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum
l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"

nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu,power.draw --format=csv >"$out/machine.txt"
ncu --version >>"$out/machine.txt"
chip=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | grep -q '^9' && echo gh100 || echo ga100)
ncu --query-metrics --chip "$chip" >"$out/metrics.txt" 2>&1 || true

# Those of the list on standard input whose base name the chip has, with commas.
known() {
	while read -r metric; do
		grep -qE "^${metric%%.*}( |$)" "$out/metrics.txt" && echo "$metric" || echo "unknown: $metric" >>"$out/machine.txt"
	done | paste -sd,
}
profile() { # NAME CACHES METRICS
	ncu --clock-control none --cache-control "$2" --print-units base --csv --page raw \
		--metrics "$3" "$runner" "$out/$1-launches.json" >"$out/$1.csv" 2>"$out/$1.err" ||
		{ tail -5 "$out/$1.err" "$out/$1.csv" >&2; return 1; }
}
profile counted none "$(echo "$wanted" | known)"
profile cold all "$(echo "$cold" | known)"
rm -f "$out/metrics.txt"
nvidia-smi --query-gpu=clocks.sm,clocks.mem,temperature.gpu --format=csv >>"$out/machine.txt"
wc -l "$out"/*.json "$out"/*.csv
