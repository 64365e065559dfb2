#!/usr/bin/env bash
# clocks.sh: what lives in the application's process measures no span and waits for nothing by the wall
# clock, which the administrator sets. Prints each place that reads or waits by it, outside of these files:
allowed='
	preload/counters/gpu_clock.c CLOCK records say when, by the clock of the records of kernels
	preload/counters/pm.c        a window of records opens by the clock of the records of kernels
	preload/counters/pm_windows.c a window begins by that clock
	preload/cupti/activity.c     a window begins and ends by the clock of its records
	preload/cupti/record_clock.c relates another clock of libcupti to it
	preload/live/log_writer.c    END records of a ring of files say when
	preload/live/live_tables.c   totals in the live segment say when they were taken
	preload/runtime/clock.c      gives it, and relates it to the tick counter
	preload/runtime/clock.h      declares it
	preload/runtime/degrade.c    DEGRADED records say when
	preload/live/aggregate.c     AGGREGATE records say when their ten seconds began
	preload/live/graph_sums.c    GRAPH records say the same
	preload/control/control.c    MODE records and answers say when
	preload/worker/pipeline.c    COUNTERS, DEGRADED and END records say when
	calib/nvml/nvml.c            what processes use is asked by the clock of NVML
'
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit
names=$(awk 'NF {print $1}' <<<"$allowed")
wall='CLOCK_REALTIME|CLOCK_TAI|\bgw_wall_ns\b|\b(time|ftime|gettimeofday|timespec_get)[[:space:]]*\(|_(timedwait|timedlock|timedrdlock|timedwrlock|timedjoin_np)\b|\bmktime\b'
bad=0
for file in preload/*.[ch] preload/*/*.[ch] calib/nvml/*.[ch]; do
	grep -qxF "$file" <<<"$names" && continue
	# Comments may name it, and a signal may be taken up without waiting.
	sed -E 's|/\*.*\*/||; s|^[[:space:]]*/?\*.*||; s|sigtimedwait||' "$file" | grep -nE "$wall" |
		sed "s|^|$file:|" | grep . && bad=1
done
# The list itself: who is on it still needs it, and nobody on it waits by it.
for file in $names; do
	grep -qE 'CLOCK_REALTIME|gw_wall_ns' "$file" || { echo "$file: on the list, and does not use the wall clock"; bad=1; }
	grep -nE '_timedwait|gettimeofday|TIMER_ABSTIME' "$file" | sed "s|^|$file:|" | grep . && bad=1
done
exit $bad
