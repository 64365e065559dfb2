/* SPDX-License-Identifier: Apache-2.0 */
#include "capture.h"
CUresult si_capture_event_record(CUstream s, CUevent e)
{
	(void)s;
	(void)e;
	return CUDA_ERROR_NOT_SUPPORTED;
}
void si_capture_event_clear(CUevent e)
{
	(void)e;
}
CUresult si_capture_event_wait(CUstream s, CUevent e)
{
	(void)s;
	(void)e;
	return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult si_capture_kernel(CUstream s, CUfunction f, const struct si_config *c, void **p, void **x)
{
	(void)s;
	(void)f;
	(void)c;
	(void)p;
	(void)x;
	return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult si_capture_host(CUstream s, CUhostFn f, void *u)
{
	(void)s;
	(void)f;
	(void)u;
	return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult si_capture_memcpy(CUstream s, void *d, const void *x, size_t b)
{
	(void)s;
	(void)d;
	(void)x;
	(void)b;
	return CUDA_ERROR_NOT_SUPPORTED;
}
CUresult si_capture_memset(CUstream s, void *d, unsigned v, unsigned e, size_t c)
{
	(void)s;
	(void)d;
	(void)v;
	(void)e;
	(void)c;
	return CUDA_ERROR_NOT_SUPPORTED;
}
void si_capture_abandon(CUstream s)
{
	(void)s;
}
bool si_capture_forbids(void)
{
	return false;
}
bool si_graph_id(void *graph, uint32_t *id);
bool si_exec_id(void *exec, uint32_t *id);
bool si_node_id(void *node, uint64_t *id);
bool si_graph_id(void *g, uint32_t *id)
{
	(void)g;
	(void)id;
	return false;
}
bool si_exec_id(void *g, uint32_t *id)
{
	(void)g;
	(void)id;
	return false;
}
bool si_node_id(void *g, uint64_t *id)
{
	(void)g;
	(void)id;
	return false;
}
