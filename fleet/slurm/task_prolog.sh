#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TaskProlog of slurm.conf: what it prints as "export NAME=VALUE" enters the task's environment. Tasks with a GPU are
# watched, unless the user has GPUWATCH_MODE=off or an LD_PRELOAD of their own, which is left alone, or the node has the
# file that turns all of it off.
library=${GPUWATCH_LIBRARY:-/usr/lib/libgpuwatch.so}
[ ! -e "${GPUWATCH_KILL_SWITCH:-/etc/gpuwatch/off}" ] || exit 0
[ -n "${SLURM_JOB_GPUS:-${SLURM_STEP_GPUS:-}}" ] || exit 0
[ "${GPUWATCH_MODE:-}" != off ] && [ -z "${LD_PRELOAD:-}" ] && [ -r "$library" ] || exit 0
echo "export LD_PRELOAD=$library"
echo "export GPUWATCH_MODE=${GPUWATCH_MODE:-watch}"
echo "export GPUWATCH_RUN_MODE=0640"
