#include "preload/analysis/analysis_jobs.h"

#include "preload/runtime/bell.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/options.h"
#include "preload/runtime/own_files.h"
#include "preload/runtime/processors.h"
#include "preload/runtime/spawn.h"

#include <errno.h>
#include <math.h>
#include <semaphore.h>

static struct gw_analysis_job jobs[GW_ANALYSIS_JOBS];
static sem_t wanted; /* posted for each job that is put */
static _Atomic bool stop;
static _Atomic uint64_t spent_ns; /* by all threads */
static unsigned most, made;       /* threads: that there may be, that were made */
static uint64_t numbers;

unsigned gw_analysis_threads_usual(void)
{
	double quota = gw_processors_quota(), half = fmin(gw_processors(), quota) / 2;

	if (quota < 2)
		return 0;
	if (half >= GW_ANALYSIS_THREADS)
		return GW_ANALYSIS_THREADS;
	return half >= 1 ? (unsigned)half : 1;
}

void gw_analysis_jobs_start(unsigned threads)
{
	for (unsigned i = 0; i < GW_ANALYSIS_JOBS; i++)
		atomic_store(&jobs[i].state, GW_ANALYSIS_JOB_FREE);
	sem_init(&wanted, 0, 0);
	atomic_store(&stop, false);
	atomic_store(&spent_ns, 0);
	most = threads;
	made = 0;
}

bool gw_analysis_jobs_usable(void)
{
	return most && !atomic_load(&stop);
}

/* The one in @p state that was put first. */
static struct gw_analysis_job *first_in(int state)
{
	struct gw_analysis_job *found = NULL;

	for (unsigned i = 0; i < GW_ANALYSIS_JOBS; i++) {
		struct gw_analysis_job *job = &jobs[i];

		/* Pairs with the releases of put and run: what was filled in is there. */
		if (atomic_load_explicit(&job->state, memory_order_acquire) == state &&
		    (!found || job->number < found->number))
			found = job;
	}
	return found;
}

/* ---- the threads' side ---- */

static bool go_on(void *arg)
{
	struct gw_analysis_job *job = arg;

	job->stopped = job->stopped || atomic_load_explicit(&stop, memory_order_relaxed);
	return !job->stopped && gw_thread_cpu_ns() - job->begun_cpu < GW_ANALYSIS_LAUNCH_MS * GW_MS;
}

void gw_analysis_job_do(struct gw_analysis_job *job)
{
	uint64_t decoded;

	job->stopped = false;
	job->begun_cpu = gw_thread_cpu_ns();
	gw_analysis_code_decode(job->launch.slot);
	decoded = gw_thread_cpu_ns();
	job->end = gw_analysis_code(&job->launch, &job->work, &job->why, &job->limited, &job->code);
	job->cpu_ns = gw_thread_cpu_ns() - job->begun_cpu;
	job->evaluated = job->cpu_ns - (decoded - job->begun_cpu);
}

/* A number may be read while another thread has the job: its state decides. */
static struct gw_analysis_job *take(void)
{
	for (;;) {
		struct gw_analysis_job *job = first_in(GW_ANALYSIS_JOB_PUT);
		int expected = GW_ANALYSIS_JOB_PUT;

		if (!job ||
		    atomic_compare_exchange_strong(&job->state, &expected, GW_ANALYSIS_JOB_TAKEN))
			return job;
	}
}

/* Where there is nothing left to do the worker is woken: it has results, and maybe more jobs. */
static void run(void)
{
	bool did = false, lowered = false;

	gw_own_files(false); /* else each file is opened on a thread of its own */
	while (!atomic_load(&stop)) {
		struct gw_analysis_job *job = take();

		if (job) {
			if (!lowered && (gw_options_watch() ||
					 atomic_load(&spent_ns) >= GW_ANALYSIS_FIRST_MS * GW_MS)) {
				gw_lower_priority();
				lowered = true;
			}
			gw_analysis_job_do(job);
			atomic_fetch_add(&spent_ns, job->cpu_ns);
			/* Pairs with the acquire of first_in(). */
			atomic_store_explicit(&job->state, GW_ANALYSIS_JOB_DONE,
					      memory_order_release);
			did = true;
			continue;
		}
		if (did)
			gw_bell_ring();
		did = false;
		while (sem_wait(&wanted) && errno == EINTR)
			;
	}
}

/* ---- the worker's side ---- */

struct gw_analysis_job *gw_analysis_job_new(void)
{
	for (unsigned i = 0; i < GW_ANALYSIS_JOBS; i++)
		if (atomic_load(&jobs[i].state) == GW_ANALYSIS_JOB_FREE)
			return &jobs[i];
	return NULL;
}

bool gw_analysis_job_put(struct gw_analysis_job *job)
{
	/* The last thread that could be made is the last that is asked for. */
	if (made < (gw_options_watch() ? 1 : most) && made <= gw_analysis_jobs_out()) {
		if (gw_spawn("gpuwatch-code", run))
			made++;
		else
			most = made;
	}
	if (!most)
		return false;
	job->number = ++numbers | (uint64_t)job->turn << 32;
	job->launch.go_on = go_on;
	job->launch.go_on_arg = job;
	/* Pairs with the acquire of first_in(). */
	atomic_store_explicit(&job->state, GW_ANALYSIS_JOB_PUT, memory_order_release);
	sem_post(&wanted);
	return true;
}

struct gw_analysis_job *
gw_analysis_job_withdraw(bool (*needless)(const struct gw_analysis_job *job))
{
	for (;;) {
		struct gw_analysis_job *last = NULL;
		int expected = GW_ANALYSIS_JOB_PUT;

		for (struct gw_analysis_job *job = jobs; job < jobs + GW_ANALYSIS_JOBS; job++)
			if (atomic_load(&job->state) == expected && needless(job) &&
			    (!last || job->number > last->number))
				last = job;
		/* Pairs with the exchange in take(): a thread has it, or nobody. */
		if (!last ||
		    atomic_compare_exchange_strong(&last->state, &expected, GW_ANALYSIS_JOB_FREE))
			return last;
	}
}

struct gw_analysis_job *gw_analysis_job_done(void)
{
	return first_in(GW_ANALYSIS_JOB_DONE);
}

unsigned gw_analysis_jobs_out(void)
{
	unsigned out = 0;

	for (unsigned i = 0; i < GW_ANALYSIS_JOBS; i++)
		out += atomic_load(&jobs[i].state) != GW_ANALYSIS_JOB_FREE;
	return out;
}

void gw_analysis_jobs_stop(void)
{
	atomic_store(&stop, true);
	for (unsigned i = 0; i < made; i++)
		sem_post(&wanted);
}
