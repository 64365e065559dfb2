#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Single-warp loops, then which pipe each instruction goes through.
set -u
q() { nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,temperature.gpu,power.draw --format=csv; }
q > "$OUT/gpu.csv"
timeout 20 ./schedule > "$OUT/schedule.1.txt" 2> "$OUT/schedule.err"; echo "schedule: $?"
timeout 20 ./schedule > "$OUT/schedule.2.txt" 2>> "$OUT/schedule.err"
q >> "$OUT/gpu.csv"
m=smsp__inst_executed.sum
for p in alu fma fmaheavy fmalite fp16 fp64 xu lsu tex uniform cbu adu; do m=$m,smsp__inst_executed_pipe_$p.sum; done
timeout 45 ncu --csv --page raw --cache-control none --clock-control none -k 'regex:^[a-z]+[a-z0-9_]*$' --metrics "$m" ./schedule once > "$OUT/pipes.csv" 2> "$OUT/pipes.err"; echo "ncu: $?"
grep -c . "$OUT/schedule.1.txt" "$OUT/pipes.csv"
head -40 "$OUT/schedule.1.txt"
tail -3 "$OUT/pipes.csv"; cat "$OUT/gpu.csv" "$OUT/schedule.err" | tail -5
