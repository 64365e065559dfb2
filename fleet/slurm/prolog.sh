#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prolog of slurm.conf, as root on each node of a job: a folder for the segments of the job's user, which the agent's group
# may read, whatever groups the user is in. It never fails: a node must not be drained for it.
[ ! -e "${GPUWATCH_KILL_SWITCH:-/etc/gpuwatch/off}" ] || exit 0
folder=${GPUWATCH_SHM:-/dev/shm}/gpuwatch-$SLURM_JOB_UID
group=${GPUWATCH_GROUP:-gpuwatch}
[ -n "${SLURM_JOB_UID:-}" ] && getent group "$group" >/dev/null || exit 0
# Another user may have made it, or a link: it stays as it is then. Once it is the job's user's, that user may put a link in
# its place, which chmod would follow: it comes first.
if mkdir -m 0700 "$folder" 2>/dev/null; then
	chmod 2750 "$folder" && chown -h "$SLURM_JOB_UID:$group" "$folder"
fi
exit 0
