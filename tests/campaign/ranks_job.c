/*
 * ranks_job SEED FAULTS MOST_RANKS RANK_DAYS: jobs of 8 to MOST_RANKS ranks under gpuwatch ranks.
 * FAULTS jobs have one rank with a fault from some step on; others, RANK_DAYS in all, have none.
 * Prints a line of counts: faults right rank_right late_alarms other_ranks rank_days false_alarms
 * worst_steps, then one of each cause, injected and right; the last cause is the network, of a
 * communicator of the rank.
 *
 * A job draws its length of a step (0.02 to 2 s; without a fault 0.1 to 4 s), collectives (1 to 6 a
 * step, in line or beside compute), communicators (one, or one of 8 ranks beside one across them),
 * and shares of host, idle and input. Each step of each rank draws from quantiles of recorded
 * steps. Added to that: GPUs that differ by 0.5%, work that differs by 0.5% from rank to rank and
 * by 5% from step to step in all, pauses of a tenth to a whole step once in a thousand steps,
 * clocks of hosts that are up to 5 ms apart and drift by 20 us a second, collectives that end up to
 * 30 us apart. A fault adds 8% to 60% of a step.
 */
#include "cli/ranks/job.h"
#include "cli/common/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	GROUP = 8,
	MEETINGS = 6,
	STEPS = 40,
	HEALTHY_RANKS = 512,
	HEALTHY_STEPS = 1000,
	WITHIN = 10
};
static const double SECOND = 1e9, SPREAD = 0.005, UNEVEN = 0.005, TOGETHER = 0.05, PAUSE = 0.001,
		    APART = 5e6, DRIFT = 20e-6, END = 30e3, LEAST = 0.08, MOST = 0.6;

/*
 * Steps of a data-parallel training run on two H200s with NCCL: how the ranks differ in a step,
 * over the median, either way, at these shares of all 138 (docs/results/ranks-2026-11-26.md).
 */
enum { QUANTILES = 11 };
static const double share_of[QUANTILES] = {0, .02, .05, .1, .25, .5, .75, .9, .95, .98, 1},
		    compute_of[QUANTILES] = {-.324, -.0467, -.021, -.0183, -.0041, 0,
					     .0041, .0183,  .021,  .0467,  .324},
		    host_of[QUANTILES] = {-1,    -.1432, -.1329, -.1037, -.0637, 0,
					  .0637, .1037,  .1329,  .1432,  4.6008},
		    idle_of[QUANTILES] = {-1,   -.0849, -.0392, -.0229, -.012, 0,
					  .012, .0229,  .0392,  .0849,  12.415},
		    input_of[QUANTILES] = {-.0278, -.0183, -.0131, -.0098, -.0052, 0,
					   .0052,  .0098,  .0131,  .0183,  .0278};

static uint64_t state;

static double uniform(void)
{
	state += UINT64_C(0x9e3779b97f4a7c15);

	uint64_t x = state;

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

static double between(double low, double high)
{
	return low + (high - low) * uniform();
}

/* As many in each doubling. */
static double scaled(double low, double high)
{
	return low * pow(high / low, uniform());
}

static double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(2 * 3.14159265358979 * uniform());
}

static double drawn(const double quantiles[QUANTILES])
{
	double at = uniform();
	int i = 0;

	while (i < QUANTILES - 2 && at >= share_of[i + 1])
		i++;
	return 1 + quantiles[i] +
	       (at - share_of[i]) / (share_of[i + 1] - share_of[i]) *
		       (quantiles[i + 1] - quantiles[i]);
}

/* ---- a job ---- */

struct fault {
	uint32_t rank, step;
	enum ranks_cause cause; /* RANKS_CAUSE_UNKNOWN: there is none */
	double ns;
	bool idle;    /* of the host: it launches too slowly, rather than late */
	bool network; /* of the communicators that the rank is in, and of no rank */
};

struct rank {
	double speed, work;   /* of the GPU and of the share: 1 on average */
	double offset, drift; /* of its host's clock */
	double ready;         /* when it is done with all so far, true time */
};

struct plan {
	uint32_t ranks, steps, meetings;
	bool beside, groups;
	double compute, host, idle, input, communication; /* ns a step */
	struct rank *rank;
};

static struct plan draw(uint32_t ranks, uint32_t steps, double least, double most)
{
	struct plan p = {
		.ranks = ranks, .steps = steps, .meetings = 1 + (uint32_t)(uniform() * MEETINGS)};
	double step = scaled(least, most) * SECOND;

	p.beside = uniform() < 0.3;
	p.groups = uniform() < 0.5 && ranks >= 2 * GROUP;
	p.compute = step * between(0.5, 0.85);
	p.host = step * between(0.003, 0.02);
	p.idle = step * between(0.005, 0.03);
	p.input = step * between(0, 0.15);
	p.communication = step * between(0.02, 0.2);
	p.rank = gw_alloc(ranks * sizeof(*p.rank));
	for (uint32_t r = 0; r < ranks; r++) {
		struct rank *k = &p.rank[r];

		k->speed = 1 + SPREAD * normal();
		k->work = 1 + UNEVEN * normal();
		k->offset = r % GROUP ? p.rank[r - 1].offset : between(-APART, APART);
		k->drift = r % GROUP ? p.rank[r - 1].drift : between(-DRIFT, DRIFT);
	}
	return p;
}

static double length(const struct plan *p)
{
	return p->compute + p->host + p->idle + p->input + p->communication;
}

/* What a rank does by itself in a step. */
static void work(const struct plan *p, const struct rank *k, double common, const struct fault *f,
		 struct ranks_step *out)
{
	double expected = p->compute * common * k->work * (1 + UNEVEN * normal());
	double compute = expected * k->speed * drawn(compute_of),
	       input = p->input * drawn(input_of);
	double host = p->host * drawn(host_of), idle = p->idle * drawn(idle_of);

	if (uniform() < PAUSE)
		host += p->compute * between(0.1, 1);
	if (f && f->cause == RANKS_CAUSE_WORK) {
		compute += f->ns * k->speed;
		expected += f->ns;
	} else if (f && f->cause == RANKS_CAUSE_GPU) {
		compute += f->ns;
	} else if (f && f->cause == RANKS_CAUSE_INPUT) {
		input += f->ns;
	} else if (f) {
		*(f->idle ? &idle : &host) += f->ns;
	}
	*out = (struct ranks_step){.expected = (float)(expected * (1 + 0.002 * normal()))};
	out->part[RANKS_COMPUTE] = (float)compute;
	out->part[RANKS_INPUT] = (float)input;
	out->part[RANKS_HOST] = (float)host;
	out->part[RANKS_IDLE] = (float)idle;
}

/* Which ranks meet in collective @p m: those from *first on, each *stride-th, *count of them. */
static void who(const struct plan *p, uint32_t m, uint32_t turn, uint32_t *first, uint32_t *stride,
		uint32_t *count)
{
	bool inside = p->groups && m % 2 == 0 && p->meetings > 1;

	*first = inside ? turn * GROUP : p->groups ? turn : 0;
	*stride = inside || !p->groups ? 1 : GROUP;
	*count = inside ? GROUP : p->groups ? p->ranks / GROUP : p->ranks;
}

static uint32_t turns(const struct plan *p, uint32_t m)
{
	return !p->groups ? 1 : m % 2 == 0 && p->meetings > 1 ? p->ranks / GROUP : GROUP;
}

static double on_clock(const struct rank *k, double time)
{
	return time + k->offset + k->drift * time;
}

/* All ranks of a collective come, the last one makes the others wait. */
static void meet(const struct plan *p, struct ranks_job *job, uint32_t step, uint32_t m,
		 uint32_t turn, const struct fault *f, double *came)
{
	uint32_t first, stride, count;
	double last = 0, end;

	who(p, m, turn, &first, &stride, &count);
	for (uint32_t i = 0; i < count; i++)
		last = fmax(last, came[first + i * stride]);
	end = last + p->communication / p->meetings * between(0.95, 1.05);
	/* What is beside compute is not exposed: the last collective of a step is. */
	if (f->network && step >= f->step && m + 1 == p->meetings && f->rank >= first &&
	    (f->rank - first) % stride == 0 && (f->rank - first) / stride < count)
		end += f->ns;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t r = first + i * stride;
		struct rank *k = &p->rank[r];
		struct ranks_rank *out = &job->ranks[r];
		double mine = end + between(0, END);

		out->meetings[out->meeting_count++] = (struct ranks_meeting){
			.key = ((uint64_t)step * MEETINGS + m) * 65536 + turn,
			.start = on_clock(k, came[r]),
			.end = on_clock(k, mine),
			.exposed = !p->beside || m + 1 == p->meetings,
			.step = step,
			.together = true};
		k->ready = mine;
	}
}

static void run_step(const struct plan *p, struct ranks_job *job, uint32_t step,
		     const struct fault *f, double *came, double *begun)
{
	double common = 1 + TOGETHER * normal();

	for (uint32_t r = 0; r < p->ranks; r++) {
		begun[r] = p->rank[r].ready;
		work(p, &p->rank[r], common,
		     f->rank == r && step >= f->step && f->cause && !f->network ? f : NULL,
		     &job->ranks[r].steps[step]);
	}
	for (uint32_t m = 0; m < p->meetings; m++) {
		for (uint32_t r = 0; r < p->ranks; r++) {
			const struct ranks_step *s = &job->ranks[r].steps[step];
			double busy = (double)s->part[RANKS_COMPUTE];
			double before = (double)(s->part[RANKS_INPUT] + s->part[RANKS_HOST] +
						 s->part[RANKS_IDLE]);

			/* In line, each part of the work begins after the collective before; beside
			 * it goes on. */
			came[r] = p->beside ? fmax(p->rank[r].ready,
						   begun[r] + before + busy * (m + 1) / p->meetings)
					    : p->rank[r].ready + (m ? 0 : before) +
						      busy / p->meetings;
		}
		for (uint32_t t = 0; t < turns(p, m); t++)
			meet(p, job, step, m, t, f, came);
	}
	for (uint32_t r = 0; r < p->ranks; r++) {
		struct ranks_step *s = &job->ranks[r].steps[step];
		double own = (double)(s->part[RANKS_COMPUTE] + s->part[RANKS_INPUT] +
				      s->part[RANKS_HOST] + s->part[RANKS_IDLE]);

		s->part[RANKS_COMMUNICATION] = (float)fmax(p->rank[r].ready - begun[r] - own, 0);
	}
}

static struct ranks_job run(const struct plan *p, const struct fault *f)
{
	struct ranks_job job = {.rank_count = p->ranks, .step_count = p->steps};
	double *came = gw_alloc(p->ranks * sizeof(*came)),
	       *begun = gw_alloc(p->ranks * sizeof(*begun));

	job.ranks = gw_alloc(p->ranks * sizeof(*job.ranks));
	for (uint32_t r = 0; r < p->ranks; r++) {
		job.ranks[r].meetings =
			gw_alloc(p->steps * p->meetings * sizeof(struct ranks_meeting));
		job.ranks[r].steps = gw_alloc(p->steps * sizeof(struct ranks_step));
		job.ranks[r].clock = r / GROUP;
	}
	for (uint32_t s = 0; s < p->steps; s++)
		run_step(p, &job, s, f, came, begun);
	ranks_judge(&job);
	free(came);
	free(begun);
	return job;
}

static void forget(struct ranks_job *job, struct plan *p)
{
	ranks_job_free(job);
	for (uint32_t r = 0; r < p->ranks; r++) {
		free(job->ranks[r].meetings);
		free(job->ranks[r].steps);
	}
	free(job->ranks);
	free(p->rank);
}

/* ---- what is found ---- */

static struct {
	unsigned faults, right, rank_right, late, others, injected[RANKS_CAUSES],
		named[RANKS_CAUSES];
	unsigned worst, alarms;
	double rank_days;
} found;

static void count_found(const struct fault *f, uint32_t step, bool right)
{
	const unsigned steps = step - f->step + 1;

	found.rank_right++;
	found.right += right;
	found.named[f->cause] += right;
	found.worst = steps > found.worst ? steps : found.worst;
}

static void count_late(const struct ranks_job *job, const struct fault *f)
{
	const struct ranks_episode *first = NULL;

	for (size_t i = 0; i < job->episode_count; i++) {
		const struct ranks_episode *e = &job->episodes[i];

		if (e->rank == f->rank && !first && e->found >= f->step)
			first = e;
		found.others += e->rank != f->rank;
	}
	found.others += (unsigned)job->network_count;
	if (first && first->found < f->step + WITHIN)
		count_found(f, first->found, first->cause == f->cause);
	else
		found.late++;
}

/* Right: nobody is called late, and those that meet in the last collective have it, or more: in
 * jobs that communicate beside compute others wait for them there. */
static void count_network(const struct ranks_job *job, const struct plan *p, const struct fault *f)
{
	const struct ranks_network *n = job->networks;
	uint32_t first, stride, count;

	who(p, p->meetings - 1, 0, &first, &stride, &count);
	found.others += (unsigned)job->episode_count;
	if (n && n->found >= f->step && n->found < f->step + WITHIN)
		count_found(f, n->found,
			    !job->episode_count && job->network_count == 1 &&
				    n->ranks >= count - count / 10);
	else
		found.late++;
}

static void one_fault(uint32_t ranks)
{
	/* The unknown one stands for the network. */
	static const enum ranks_cause causes[] = {RANKS_CAUSE_GPU, RANKS_CAUSE_WORK,
						  RANKS_CAUSE_INPUT, RANKS_CAUSE_HOST,
						  RANKS_CAUSE_UNKNOWN};
	struct plan p = draw(ranks, STEPS, 0.02, 2);
	struct fault f = {.rank = (uint32_t)(uniform() * ranks),
			  .step = 5 + (uint32_t)(uniform() * 15),
			  .cause = causes[found.faults % 5],
			  .network = found.faults % 5 == 4,
			  .ns = length(&p) * scaled(LEAST, MOST),
			  .idle = uniform() < 0.5};
	struct ranks_job job = run(&p, &f);

	found.faults++;
	found.injected[f.cause]++;
	if (f.network)
		count_network(&job, &p, &f);
	else
		count_late(&job, &f);
	forget(&job, &p);
}

static void healthy(void)
{
	struct plan p = draw(HEALTHY_RANKS, HEALTHY_STEPS, 0.1, 4);
	struct fault none = {0};
	struct ranks_job job;

	job = run(&p, &none);
	found.alarms += (unsigned)(job.episode_count + job.network_count);
	found.rank_days += job.length * HEALTHY_STEPS * HEALTHY_RANKS / (86400 * SECOND);
	forget(&job, &p);
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	state = strtoull(argv[1], NULL, 10) * UINT64_C(1000003);
	for (unsigned n = (unsigned)atoi(argv[2]); found.faults < n;) {
		double ranks = scaled(8, atof(argv[3]) * 1.4);

		one_fault(8u << (unsigned)(log2(ranks / 8)));
	}
	while (found.rank_days < atof(argv[4]))
		healthy();
	printf("%u %u %u %u %u %.1f %u %u\n", found.faults, found.right, found.rank_right,
	       found.late, found.others, found.rank_days, found.alarms, found.worst);
	for (unsigned c = 1; c < RANKS_CAUSES; c++)
		printf("%s %u %u\n", ranks_cause_key((enum ranks_cause)c), found.injected[c],
		       found.named[c]);
	printf("slow_network %u %u\n", found.injected[RANKS_CAUSE_UNKNOWN],
	       found.named[RANKS_CAUSE_UNKNOWN]);
	return 0;
}
