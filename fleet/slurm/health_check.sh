#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# HealthCheckProgram of slurm.conf: drains a node one of whose GPUs is slow, with the reason. Without an agent nothing
# is known, and nothing is done. Who drained it may resume it.
out=$(gpuwatch health ${GPUWATCH_AGENT:+"--agent=$GPUWATCH_AGENT"} 2>/dev/null)
[ $? -eq 1 ] || exit 0
reason=$(printf '%s\n' "$out" | awk '/^GPU / {gpu = $2} /^  [a-z]+: / {sub(/^  /, ""); sub(/,.*/, ""); print "GPU " gpu ": " $0; exit}')
${SCONTROL:-scontrol} update "nodename=${SLURMD_NODENAME:-$(hostname -s)}" state=drain "reason=gpuwatch: ${reason:-slow GPU}"
