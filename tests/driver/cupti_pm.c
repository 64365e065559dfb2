/*
 * PM sampling. What a kernel counts follows from its launch: for each warp, the number that stands
 * for the metric's name (below); spread evenly over its time. A sample is what the kernels that
 * overlap it count there. So every sum is known, and a test can ask for it.
 */
#include "cupti_si.h"
#include <cupti_pmsampling.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 1 << 16, MAGIC = 0x504d5331 };

/* Metrics of this chip: what a warp counts of each; NAN: cycles of a clock of 1.5 GHz. */
static const struct {
	const char *name;
	double per_warp, added;
} known[] = {
#define PM_TRUTH(name, per_warp, added) {name, per_warp, added},
#include "cupti_pm.def"
#undef PM_TRUTH
};
enum { KNOWN = sizeof known / sizeof known[0] };

/* Counter data is opaque to the client: here it is this. */
struct data {
	uint32_t magic, room, count;
	struct {
		uint64_t begin, end;
		double value[KNOWN];
	} sample[];
};
struct CUpti_PmSampling_Object {
	bool enabled, configured, started, overflowed;
	struct sc_config config;
	uint64_t interval, begin, end,
		before; /* driver's time; before: when the last window ended */
	unsigned windows;
};

static struct CUpti_PmSampling_Object sampler; /* a GPU has one */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* What ran, and of that what ran in the window at hand. */
static struct run {
	uint64_t start, end;
	struct warps {
		double all, traced; /* traced: instrumented for an activity record */
	} warps;
} runs[RUNS], near[RUNS];
static uint64_t run_count, first_start; /* when the first kernel of all started */
static size_t near_count;

static uint64_t option(const char *name)
{
	return sc_driver()->env_u64(name, 0);
}

void sc_pm_kernel(const struct si_execution *x)
{
	uint64_t threads = (uint64_t)x->config.block.x * x->config.block.y * x->config.block.z;
	uint64_t blocks = (uint64_t)x->config.grid.x * x->config.grid.y * x->config.grid.z;
	double warps = (double)(blocks * ((threads + 31) / 32));
	pthread_mutex_lock(&lock);
	if (!run_count)
		first_start = x->start;
	runs[run_count++ % RUNS] =
		(struct run){x->start, x->end, {warps, sc_activity_traces_kernels() ? warps : 0}};
	pthread_mutex_unlock(&lock);
}

static CUptiResult permission(void)
{
	if (option("STANDIN_PM_BUSY"))
		return CUPTI_ERROR_HARDWARE_BUSY;
	return option("STANDIN_PM_DENY") ? CUPTI_ERROR_INSUFFICIENT_PRIVILEGES : CUPTI_SUCCESS;
}

/* ---- what there is to sample ---- */

SC_API cuptiPmSamplingGetCounterAvailability(CUpti_PmSampling_GetCounterAvailability_Params *p)
{
	CUptiResult r = permission();
	SC_ENTER();
	if (r != CUPTI_SUCCESS)
		return r;
	if (p->pCounterAvailabilityImage)
		memset(p->pCounterAvailabilityImage, 1, p->counterAvailabilityImageSize);
	else
		p->counterAvailabilityImageSize = 64;
	return CUPTI_SUCCESS;
}

int sc_pm_metric(const char *name)
{
	for (int i = 0; i < KNOWN; i++)
		if (!strcmp(known[i].name, name))
			return i;
	return -1;
}

bool sc_pm_value(const uint8_t *bytes, size_t index, const char *name, double *value)
{
	const struct data *data = (const struct data *)(const void *)bytes;
	int metric = sc_pm_metric(name);
	if (data->magic != MAGIC || index >= data->count || metric < 0)
		return false;
	*value = data->sample[index].value[metric];
	return true;
}

/* ---- the sampler ---- */

SC_API cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params *p)
{
	CUptiResult r = permission();
	SC_ENTER();
	if (r != CUPTI_SUCCESS)
		return r;
	if (sampler.enabled)
		return CUPTI_ERROR_INVALID_OPERATION;
	/* The real one's first sample reaches back by seconds, to no moment that means anything. */
	pthread_mutex_lock(&lock);
	sampler = (struct CUpti_PmSampling_Object){
		.enabled = true, .windows = sampler.windows, .end = first_start};
	pthread_mutex_unlock(&lock);
	sc_watch_kernels();
	p->pPmSamplingObject = &sampler;
	return CUPTI_SUCCESS;
}

SC_API cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params *p)
{
	SC_ENTER();
	if (p->pPmSamplingObject != &sampler || !sampler.enabled)
		return CUPTI_ERROR_INVALID_PARAMETER;
	sampler.enabled = false;
	return CUPTI_SUCCESS;
}

/*
 * As libnvperf's first use: takes long, and has made a static object by its end whose destructor
 * the thread that is in it does not survive.
 */
__attribute__((visibility("default"))) extern _Atomic int standin_pm_configuring;
_Atomic int standin_pm_configuring;

static void destroy(void)
{
	if (standin_pm_configuring)
		raise(SIGSEGV);
}

static void register_destroy(void)
{
	atexit(destroy);
}

static void configure_slowly(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint64_t ms = option("STANDIN_PM_CONFIGURE_MS");
	struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000};
	if (!ms)
		return;
	standin_pm_configuring = 1;
	pthread_once(&once, register_destroy);
	nanosleep(&t, NULL);
	standin_pm_configuring = 0;
}

static void configure_with_effort(void)
{
	const uint64_t ms = option("STANDIN_PM_CONFIGURE_CPU_MS");
	struct timespec now, from;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((uint64_t)(now.tv_sec - from.tv_sec) * 1000 + (uint64_t)now.tv_nsec / 1000000 <
	       ms + (uint64_t)from.tv_nsec / 1000000);
}

SC_API cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params *p)
{
	SC_ENTER();
	configure_slowly();
	configure_with_effort();
	if (p->pPmSamplingObject != &sampler || !sampler.enabled ||
	    p->configSize < sizeof(struct sc_config))
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (option("STANDIN_PM_NO_TIMER") &&
	    p->triggerMode == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL)
		return CUPTI_ERROR_NOT_SUPPORTED;
	memcpy(&sampler.config, p->pConfig, sizeof(struct sc_config));
	if (sampler.config.magic != SC_CONFIG_MAGIC || sampler.config.passes != 1)
		return CUPTI_ERROR_NOT_SUPPORTED;
	sampler.interval = p->samplingInterval;
	if (p->triggerMode == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL)
		sampler.interval = p->samplingInterval * 2 / 3; /* a clock of 1.5 GHz */
	sampler.configured = true;
	return CUPTI_SUCCESS;
}

static size_t data_size(uint32_t samples)
{
	return sizeof(struct data) + samples * sizeof(((struct data *)NULL)->sample[0]);
}

SC_API cuptiPmSamplingGetCounterDataSize(CUpti_PmSampling_GetCounterDataSize_Params *p)
{
	SC_ENTER();
	p->counterDataSize = data_size(p->maxSamples);
	return CUPTI_SUCCESS;
}

SC_API
cuptiPmSamplingCounterDataImageInitialize(CUpti_PmSampling_CounterDataImage_Initialize_Params *p)
{
	struct data *data = (struct data *)(void *)p->pCounterData;
	SC_ENTER();
	*data = (struct data){.magic = MAGIC};
	data->room = (uint32_t)((p->counterDataSize - sizeof *data) / sizeof data->sample[0]);
	return CUPTI_SUCCESS;
}

SC_API cuptiPmSamplingStart(CUpti_PmSampling_Start_Params *p)
{
	SC_ENTER();
	if (p->pPmSamplingObject != &sampler || !sampler.configured || sampler.started ||
	    sampler.overflowed)
		return CUPTI_ERROR_INVALID_OPERATION;
	sampler.started = true;
	sampler.before = sampler.end;
	sampler.begin = sc_driver()->now();
	return CUPTI_SUCCESS;
}

SC_API cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params *p)
{
	SC_ENTER();
	if (p->pPmSamplingObject != &sampler || !sampler.started)
		return CUPTI_ERROR_INVALID_OPERATION;
	sampler.started = false;
	sampler.end = sc_driver()->now();
	return CUPTI_SUCCESS;
}

/* Warps that ran between two times, each kernel's by the part of its time that lies there. */
static struct warps warps_in(const struct run *list, size_t count, uint64_t begin, uint64_t end)
{
	struct warps sum = {0, 0};
	for (size_t i = 0; i < count; i++) {
		const struct run *x = &list[i];
		uint64_t from = x->start > begin ? x->start : begin,
			 to = x->end < end ? x->end : end;
		double share = to > from ? (double)(to - from) / (double)(x->end - x->start) : 0;
		sum.all += x->warps.all * share;
		sum.traced += x->warps.traced * share;
	}
	return sum;
}

static size_t runs_kept(void)
{
	return run_count < RUNS ? run_count : RUNS;
}

/* A window has hundreds of samples, and only some of all kernels are in it. */
static void find_near(uint64_t begin, uint64_t end)
{
	near_count = 0;
	for (size_t i = 0; i < runs_kept(); i++)
		if (runs[i].end > begin && runs[i].start < end)
			near[near_count++] = runs[i];
}

/* What is counted of a metric from `begin` to `end` while so many warps run. */
static double counted(int metric, struct warps warps, uint64_t begin, uint64_t end)
{
	double foreign = (double)option("STANDIN_PM_FOREIGN") * (double)(end - begin) * 1e-9;
	if (isnan(known[metric].per_warp))
		return 1.5 * (double)(end - begin);
	if (known[metric].per_warp == 0)
		return 0;
	return foreign + warps.all * known[metric].per_warp + warps.traced * known[metric].added;
}

/* Whether the real one's samples follow a clock that a tool registers is not known: both. */
static uint64_t stamp(const struct sc_clock *clock, uint64_t ns)
{
	return option("STANDIN_PM_OWN_CLOCK") ? ns + (uint64_t)sc_clock_offset()
					      : sc_clock_reported(clock, ns);
}

/* One more sample: what was counted between two times, under the stamps it is handed out with. */
static void sample(struct data *data, struct warps warps, uint64_t from, uint64_t to,
		   uint64_t begin, uint64_t end)
{
	if (data->count == data->room)
		return;
	data->sample[data->count].begin = begin;
	data->sample[data->count].end = end;
	for (uint32_t i = 0; i < sampler.config.count; i++) {
		int metric = sampler.config.metric[i];
		data->sample[data->count].value[metric] = counted(metric, warps, from, to);
	}
	data->count++;
}

/*
 * As the real one, where a window had more samples than were read: they come with the next one, and
 * have lost their times. The lock is held.
 */
static void leftovers(struct data *data, const struct sc_clock *clock, uint64_t count)
{
	uint64_t at = sampler.before - count * sampler.interval;
	uint64_t when = stamp(clock, sampler.before / 2);

	for (uint64_t i = 0; sampler.before && i < count; i++, at += sampler.interval)
		sample(data, warps_in(runs, runs_kept(), at, at + sampler.interval), at,
		       at + sampler.interval, when, when);
}

/* As the real one's, the first sample begins where the window before ended. The lock is held. */
static void first_sample(struct data *data, const struct sc_clock *clock, uint64_t skew)
{
	uint64_t from = sampler.before ? sampler.before : sampler.begin - sampler.interval;
	sample(data, warps_in(runs, runs_kept(), from, sampler.begin), from, sampler.begin,
	       stamp(clock, from + skew), stamp(clock, sampler.begin + skew));
}

SC_API cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params *p)
{
	struct data *data = (struct data *)(void *)p->pCounterDataImage;
	uint64_t drop = option("STANDIN_PM_DROP"), overflow = option("STANDIN_PM_OVERFLOW");
	uint64_t skew = option("STANDIN_PM_SKEW"), made = 0;
	struct sc_clock clock;
	SC_ENTER();
	if (p->pPmSamplingObject != &sampler || !sampler.enabled || data->magic != MAGIC)
		return CUPTI_ERROR_INVALID_OPERATION;
	sampler.windows++;
	sc_driver()->settle(); /* what began before the end of the window is in `runs` now */
	clock = sc_clock_look();
	pthread_mutex_lock(&lock);
	leftovers(data, &clock, option("STANDIN_PM_LEFT"));
	first_sample(data, &clock, skew);
	find_near(sampler.begin, sampler.end);
	for (uint64_t at = sampler.begin, to = at + sampler.interval;
	     to <= sampler.end && data->count < data->room; at = to, to += sampler.interval)
		if (!drop || ++made % drop != 0)
			sample(data, warps_in(near, near_count, at, to), at, to,
			       stamp(&clock, at + skew), stamp(&clock, to + skew));
	pthread_mutex_unlock(&lock);
	p->overflow = overflow && sampler.windows % overflow == 0;
	sampler.overflowed |= p->overflow != 0;
	p->decodeStopReason = CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
	return p->overflow ? CUPTI_ERROR_OUT_OF_MEMORY : CUPTI_SUCCESS;
}

SC_API cuptiPmSamplingGetCounterDataInfo(CUpti_PmSampling_GetCounterDataInfo_Params *p)
{
	const struct data *data = (const struct data *)(const void *)p->pCounterDataImage;
	SC_ENTER();
	p->numTotalSamples = data->room;
	p->numPopulatedSamples = p->numCompletedSamples = data->count;
	return CUPTI_SUCCESS;
}

SC_API
cuptiPmSamplingCounterDataGetSampleInfo(CUpti_PmSampling_CounterData_GetSampleInfo_Params *p)
{
	const struct data *data = (const struct data *)(const void *)p->pCounterDataImage;
	SC_ENTER();
	if (p->sampleIndex >= data->count)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p->startTimestamp = data->sample[p->sampleIndex].begin;
	p->endTimestamp = data->sample[p->sampleIndex].end;
	return CUPTI_SUCCESS;
}

/*
 * The host half of PM sampling: names of metrics into images, collected data into values.
 * STANDIN_METRICS=n: so many fit into one pass (default 8). STANDIN_NO_METRIC=name: one this chip
 * lacks.
 */

struct CUpti_Profiler_Host_Object {
	const char *names[SC_NAMES];
	size_t count;
};

static size_t in_one_pass(void)
{
	return (size_t)sc_driver()->env_u64("STANDIN_METRICS", 8);
}

SC_API cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params *p)
{
	(void)p;
	SC_ENTER();
	return CUPTI_SUCCESS;
}

SC_API cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params *p)
{
	SC_ENTER();
	p->pChipName = "STANDIN";
	return p->deviceIndex ? CUPTI_ERROR_INVALID_DEVICE : CUPTI_SUCCESS;
}

SC_API cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params *p)
{
	SC_ENTER();
	if (!p->pChipName || strcmp(p->pChipName, "STANDIN") ||
	    p->profilerType != CUPTI_PROFILER_TYPE_PM_SAMPLING)
		return CUPTI_ERROR_INVALID_PARAMETER;
	p->pHostObject = calloc(1, sizeof(*p->pHostObject));
	if (!p->pHostObject)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	return CUPTI_SUCCESS;
}

SC_API cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params *p)
{
	SC_ENTER();
	free(p->pHostObject);
	return CUPTI_SUCCESS;
}

SC_API cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params *p)
{
	const char *lacking = getenv("STANDIN_NO_METRIC");

	SC_ENTER();
	for (size_t i = 0; i < p->numMetrics; i++) {
		if ((lacking && !strcmp(p->ppMetricNames[i], lacking)) ||
		    sc_pm_metric(p->ppMetricNames[i]) < 0)
			return CUPTI_ERROR_INVALID_METRIC_NAME;
		if (p->pHostObject->count == SC_NAMES)
			return CUPTI_ERROR_OUT_OF_MEMORY;
		p->pHostObject->names[p->pHostObject->count++] = p->ppMetricNames[i];
	}
	return CUPTI_SUCCESS;
}

SC_API cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params *p)
{
	SC_ENTER();
	p->configImageSize = sizeof(struct sc_config);
	return CUPTI_SUCCESS;
}

SC_API cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params *p)
{
	struct sc_config c = {.magic = SC_CONFIG_MAGIC};

	SC_ENTER();
	if (p->configImageSize < sizeof(c))
		return CUPTI_ERROR_INVALID_PARAMETER;
	c.passes = (uint32_t)((p->pHostObject->count + in_one_pass() - 1) / in_one_pass());
	for (size_t i = 0; i < p->pHostObject->count; i++)
		c.metric[c.count++] = (uint8_t)sc_pm_metric(p->pHostObject->names[i]);
	memcpy(p->pConfigImage, &c, sizeof(c));
	return CUPTI_SUCCESS;
}

SC_API cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params *p)
{
	struct sc_config c;

	SC_ENTER();
	memcpy(&c, p->pConfigImage, sizeof(c));
	p->numOfPasses = c.passes;
	return c.magic == SC_CONFIG_MAGIC ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

SC_API cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params *p)
{
	size_t found = 0;

	SC_ENTER();
	while (found < p->numMetrics &&
	       sc_pm_value(p->pCounterDataImage, p->rangeIndex, p->ppMetricNames[found],
			   &p->pMetricValues[found]))
		found++;
	return found == p->numMetrics ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_METRIC_NAME;
}
