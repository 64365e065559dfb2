#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh FOLDER: single-warp loops, then which pipe each instruction goes through.
set -u
folder=${1:?}
q() { nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu,power.draw --format=csv; }
q > "$folder/gpu.csv"
timeout 20 ./schedule > "$folder/schedule.1.txt" 2> "$folder/schedule.err"; echo "schedule: $?"
timeout 20 ./schedule > "$folder/schedule.2.txt" 2>> "$folder/schedule.err"
q >> "$folder/gpu.csv"
m=smsp__inst_executed.sum
for p in alu fma fmaheavy fmalite fp16 fp64 xu lsu tex uniform cbu adu; do m=$m,smsp__inst_executed_pipe_$p.sum; done
timeout 45 ncu --csv --page raw --cache-control none --clock-control none -k 'regex:^[a-z]+[a-z0-9_]*$' --metrics "$m" ./schedule once > "$folder/pipes.csv" 2> "$folder/pipes.err"; echo "ncu: $?"
grep -c . "$folder/schedule.1.txt" "$folder/pipes.csv"
head -40 "$folder/schedule.1.txt"
tail -3 "$folder/pipes.csv"; cat "$folder/gpu.csv" "$folder/schedule.err" | tail -5
