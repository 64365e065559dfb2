/* Group `pcie`: copies between pinned host memory and the device, both ways, against size. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calib/bench.h"
#include "calib/stats.h"

static const size_t KIB = 1 << 10, MIB = 1 << 20;

/* The placement of a pinned buffer on the host affects its rate: the best of some counts. */
enum { SAMPLES = 7, BUFFERS = 5 };

struct pcie {
	struct gw_bench *bench;
	void *host;
	CUdeviceptr memory;
	size_t bytes;
	CUevent begin, end;
};

static bool noted(struct gw_bench *b, CUresult result, const char *what)
{
	if (result != CUDA_SUCCESS)
		gw_bench_note(b, "%s: %s", what, gw_cuda_error(b->cu, result));
	return result == CUDA_SUCCESS;
}

static bool open_pcie(struct pcie *p, struct gw_bench *b)
{
	*p = (struct pcie){.bench = b, .bytes = (b->quick ? 64 : 256) * MIB};
	p->memory = gw_bench_memory(b, p->bytes);
	return p->memory &&
	       noted(b, b->cu->cuMemHostAlloc(&p->host, p->bytes, 0), "pinned host memory") &&
	       noted(b, b->cu->cuEventCreate(&p->begin, CU_EVENT_DEFAULT), "event") &&
	       noted(b, b->cu->cuEventCreate(&p->end, CU_EVENT_DEFAULT), "event");
}

static void close_pcie(struct pcie *p)
{
	const struct gw_cuda *cu = p->bench->cu;

	cu->cuStreamSynchronize(p->bench->stream);
	if (p->begin)
		cu->cuEventDestroy_v2(p->begin);
	if (p->end)
		cu->cuEventDestroy_v2(p->end);
	if (p->host)
		cu->cuMemFreeHost(p->host);
}

/* Seconds of one copy of @p bytes; NaN: noted. */
static double copy_time(struct pcie *p, bool to_device, size_t bytes)
{
	const struct gw_cuda *cu = p->bench->cu;
	CUstream stream = p->bench->stream;
	float ms = 0;

	if (noted(p->bench, cu->cuEventRecord(p->begin, stream), "event") &&
	    noted(p->bench,
		  to_device ? cu->cuMemcpyHtoDAsync_v2(p->memory, p->host, bytes, stream)
			    : cu->cuMemcpyDtoHAsync_v2(p->host, p->memory, bytes, stream),
		  "copy") &&
	    noted(p->bench, cu->cuEventRecord(p->end, stream), "event") &&
	    noted(p->bench, cu->cuEventSynchronize(p->end), "copy") &&
	    noted(p->bench, cu->cuEventElapsedTime(&ms, p->begin, p->end), "event"))
		return ms / 1e3;
	return NAN;
}

static void sample(struct pcie *p, bool to_device, size_t bytes, double rates[SAMPLES])
{
	for (unsigned i = 0; i < SAMPLES; i++)
		rates[i] = (double)bytes / copy_time(p, to_device, bytes);
}

/* Full size, from one host buffer after the other: the rate of the fastest. */
static bool best_buffer(struct pcie *p, bool to_device, double rates[SAMPLES])
{
	const struct gw_cuda *cu = p->bench->cu;

	for (unsigned i = 1; i < BUFFERS; i++) {
		void *before = p->host;
		double again[SAMPLES];

		/* The old one is freed last, or the new one would get its pages. */
		if (!noted(p->bench, cu->cuMemHostAlloc(&p->host, p->bytes, 0),
			   "pinned host memory")) {
			p->host = before;
			return true; /* fewer buffers than wished */
		}
		cu->cuMemFreeHost(before);
		copy_time(p, to_device, p->bytes);
		sample(p, to_device, p->bytes, again);
		if (isnan(gw_median(again, SAMPLES)))
			return false;
		if (gw_median(again, SAMPLES) > gw_median(rates, SAMPLES))
			memcpy(rates, again, sizeof(again));
	}
	return true;
}

/* One direction: the curve, and the value at full size. */
static bool measure(struct pcie *p, bool to_device)
{
	enum gw_param param = to_device ? GW_PARAM_b_pcie_h2d : GW_PARAM_b_pcie_d2h;
	double x[GW_CURVE_POINTS], y[GW_CURVE_POINTS], rates[SAMPLES];
	size_t n = 0;

	for (size_t bytes = 4 * KIB; bytes <= p->bytes; bytes *= p->bench->quick ? 16 : 4) {
		sample(p, to_device, bytes, rates);
		x[n] = (double)bytes;
		y[n] = gw_median(rates, SAMPLES);
		if (isnan(y[n++]))
			return false;
	}
	if (!best_buffer(p, to_device, rates))
		return false;
	gw_bench_publish(p->bench, param, rates, SAMPLES,
			 "copies of pinned memory, events around each, the best of 5 buffers");
	gw_bench_curve(p->bench, to_device ? GW_CURVE_pcie_h2d_bw : GW_CURVE_pcie_d2h_bw, x, y,
		       NULL, n, "one copy of pinned memory, events around it");
	return true;
}

/* Data copied there and back equals what was sent. */
static bool copies_hold(struct pcie *p)
{
	uint32_t *words = p->host;
	size_t count = p->bytes / sizeof(*words);

	for (size_t i = 0; i < count; i++)
		words[i] = (uint32_t)i * 2654435761u;
	if (isnan(copy_time(p, true, p->bytes)))
		return false;
	for (size_t i = 0; i < count; i += 4096)
		words[i] = 0;
	if (isnan(copy_time(p, false, p->bytes)))
		return false;
	for (size_t i = 0; i < count; i++)
		if (words[i] != (uint32_t)i * 2654435761u) {
			gw_bench_note(p->bench, "a copy changed what it carried");
			return false;
		}
	return true;
}

bool gw_group_pcie(struct gw_bench *b)
{
	struct pcie p;
	bool good = open_pcie(&p, b) && copies_hold(&p) && measure(&p, true);

	gw_bench_step(b, 0.5);
	good = good && measure(&p, false);
	gw_bench_step(b, 1);
	close_pcie(&p);
	return good;
}
