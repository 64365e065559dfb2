/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/cli/samples.h"

#include <math.h>
#include <string.h>

enum { LAUNCHES = 60, BLOCK_OF = 15 };

static void begin(struct lb *b, uint32_t pid, uint32_t flags, const char *command)
{
	lb_header(b, pid, flags, command);
	lb_device(b, 1, flags & GW_HEADER_STAND_IN ? "CPU stand-in" : "NVIDIA H200",
	          "aabbccdd00112233");
	lb_stream(b, 1, 1);
	lb_kernel(b, 1, "_Z10vector_addPKfS0_Pfi");
	lb_kernel(b, 2, "_ZN2at6native29vectorized_elementwise_kernelILi4EEEvi");
	lb_config(b, 1, 1, 1024, 256);
	lb_config(b, 2, 1, 64, 128);
	lb_config(b, 3, 2, 2048, 128);
}

/* Launch @p i of the plain sample: the kernels take turns, times vary by up to 8%. */
static struct gw_record_launch launch(uint32_t i)
{
	static const uint64_t base[3] = {12000, 3100, 250000};
	uint32_t config = i % 3;
	uint64_t duration = base[config] + base[config] * (i * 7 % 9) / 100;
	float predicted = i < 3 ? NAN : (float)base[config] * 1.04f;
	struct gw_record_launch l = lb_launch(config + 1, 1000000ull * i, duration, predicted, i);

	if (i == 20)
		l.flags |= GW_LAUNCH_LATE;
	if (i % 3 == 2)
		l.flags |= GW_LAUNCH_GRAPH;
	return l;
}

static void totals(struct lb *b, uint64_t launches)
{
	uint64_t values[GW_COUNTERS] = {0};

	values[GW_COUNTER_launches] = launches * 2 / 3;
	values[GW_COUNTER_graph_launches] = launches / 3;
	values[GW_COUNTER_graph_kernels] = launches / 3;
	values[GW_COUNTER_activity] = launches;
	values[GW_COUNTER_joined] = launches;
	values[GW_COUNTER_predicted] = launches - 4;
	values[GW_COUNTER_predicted_late] = 1;
	values[GW_COUNTER_observations] = launches;
	values[GW_COUNTER_log_bytes] = 4321;
	values[GW_COUNTER_worker_cpu_ns] = 1234567;
	values[GW_COUNTER_attach_ns] = 8100000;
	values[GW_COUNTER_overhead_ns] = 150000;
	lb_counters(b, values, GW_COUNTERS);
}

void sample_plain(struct lb *b, uint32_t pid, uint32_t flags)
{
	begin(b, pid, flags, "./vector_add 1000000");
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		lb_add_launch(b, launch(i));
		if (i % BLOCK_OF == BLOCK_OF - 1)
			lb_block(b);
	}
	totals(b, LAUNCHES);
	lb_end(b);
}

void sample_violations(struct lb *b)
{
	begin(b, 4242, 0, "./liar");
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		struct gw_record_launch l = launch(i);

		if (i == 30)
			l.known = i + 1; /* itself */
		if (i == 40)
			l.call_ns -= 5000000; /* called before the launches it knows had ended */
		lb_add_launch(b, l);
	}
	lb_end(b);
}

void sample_aggregates(struct lb *b)
{
	struct gw_record_aggregate a = {.config = 1,
	                                .launches = 1000,
	                                .measured = 990,
	                                .scored = 980,
	                                .covered = 900,
	                                .error_sum = 19.6f,
	                                .start_ns = 1700000010ull * 1000000000,
	                                .total_ns = 990 * 12500ull,
	                                .min_ns = 11000,
	                                .max_ns = 15000};

	begin(b, 4242, 0, "./long_run");
	for (uint32_t i = 0; i < 6; i++)
		lb_add_launch(b, launch(i));
	lb_degraded(b, GW_DEGRADED_LOG_FULL,
	            "the log reached GPUWATCH_LOG_MAX: ten-second aggregates from here");
	lb_record(b, GW_RECORD_AGGREGATE, &a, sizeof(a), NULL, 0);
	totals(b, 1006);
	lb_end(b);
}

bool sample_named(struct lb *b, const char *name)
{
	if (!strcmp(name, "plain"))
		sample_plain(b, 4242, 0);
	else if (!strcmp(name, "second"))
		sample_plain(b, 4243, 0);
	else if (!strcmp(name, "stand_in"))
		sample_plain(b, 4242, GW_HEADER_STAND_IN);
	else if (!strcmp(name, "violations"))
		sample_violations(b);
	else if (!strcmp(name, "aggregates"))
		sample_aggregates(b);
	else
		return false;
	return true;
}
