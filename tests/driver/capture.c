/* Stream capture: what a stream is given becomes nodes of a graph instead of running. */
#include "capture.h"
#include "graph.h"
#include <stdlib.h>
#include <string.h>

struct si_capture {
	CUgraph graph;
	uint64_t id;
	CUstream origin;
	CUstreamCaptureMode mode;
	uint64_t thread;
	bool invalid;
	bool borrowed; /* captured into a graph of the caller's */
	struct si_capture *next;
};
static struct si_capture *captures;
static uint64_t capture_ids;

static uint64_t this_thread(void)
{
	return (uint64_t)(uintptr_t)&si_tls;
}

/* Is a call that may wait or reach elsewhere forbidden to this thread while `c` goes on? */
static bool forbids(const struct si_capture *c)
{
	if (c->mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
	    si_tls.mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return false;
	return c->thread == this_thread() || (c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
					      si_tls.mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult si_capture_unsafe(void)
{
	CUresult result = CUDA_SUCCESS;
	for (struct si_capture *c = captures; c; c = c->next)
		if (forbids(c)) {
			c->invalid = true;
			result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		}
	return result;
}

/* ---- joining and leaving ---- */

static void tails_set(CUgraphNode **tails, size_t *count, const CUgraphNode *from, size_t n)
{
	CUgraphNode *copy = calloc(n + 1, sizeof *copy);
	if (copy && n)
		memcpy(copy, from, n * sizeof *copy);
	free(*tails);
	*tails = copy;
	*count = copy ? n : 0;
}

static void tails_add(CUstream stream, const CUgraphNode *from, size_t n)
{
	CUgraphNode *grown = realloc(stream->tails, (stream->tail_count + n + 1) * sizeof *grown);
	if (!grown)
		return;
	stream->tails = grown;
	for (size_t i = 0; i < n; i++) {
		bool known = false;
		for (size_t k = 0; k < stream->tail_count; k++)
			known = known || grown[k] == from[i];
		if (!known)
			grown[stream->tail_count++] = from[i];
	}
}

static void join(CUstream stream, struct si_capture *capture)
{
	stream->capture = capture;
	stream->ctx->capturing++;
}

static void leave(CUstream stream)
{
	if (!stream->capture)
		return;
	stream->capture = NULL;
	stream->ctx->capturing--;
	free(stream->tails);
	stream->tails = NULL;
	stream->tail_count = 0;
}

static void capture_end(struct si_capture *capture)
{
	struct si_capture **link = &captures;
	for (CUcontext ctx = si_context_list(); ctx; ctx = ctx->next)
		for (CUstream s = ctx->streams; s; s = s->next)
			if (s->capture == capture)
				leave(s);
	while (*link && *link != capture)
		link = &(*link)->next;
	if (*link)
		*link = capture->next;
	free(capture);
}

void si_capture_abandon(CUstream stream)
{
	struct si_capture *capture = stream->capture;
	if (!capture)
		return;
	if (capture->origin == stream) {
		if (!capture->borrowed)
			si_graph_free(capture->graph);
		leave(stream);
		capture_end(capture);
	} else {
		capture->invalid = true;
		leave(stream);
	}
}

CUresult si_capture_implicit(CUstream stream)
{
	CUresult result = CUDA_SUCCESS;
	if (!stream->legacy || stream->ctx->capturing == 0)
		return result;
	for (CUstream s = stream->ctx->streams; s; s = s->next)
		if (s->capture && !(s->flags & CU_STREAM_NON_BLOCKING)) {
			s->capture->invalid = true;
			result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
		}
	return result;
}

CUresult si_capture_refuse(CUstream stream)
{
	if (stream->capture)
		stream->capture->invalid = true;
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/* ---- nodes from what is issued ---- */

static CUresult node_add(CUstream stream, CUgraphNodeType type, CUgraphNode *out)
{
	struct si_capture *capture = stream->capture;
	if (capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	*out = si_node_new(capture->graph, type, stream->tails, stream->tail_count);
	if (!*out)
		return CUDA_ERROR_OUT_OF_MEMORY;
	tails_set(&stream->tails, &stream->tail_count, out, 1);
	return CUDA_SUCCESS;
}

CUresult si_capture_kernel(CUstream stream, CUfunction f, const struct si_config *config,
			   void **params)
{
	CUgraphNode node;
	CUresult result = node_add(stream, CU_GRAPH_NODE_TYPE_KERNEL, &node);
	if (result == CUDA_SUCCESS)
		node->u.kernel.ctx = stream->ctx;
	return result == CUDA_SUCCESS
		       ? si_kernel_node_set(&node->u.kernel, f, NULL, config, params, NULL)
		       : result;
}

CUresult si_capture_host(CUstream stream, CUhostFn fn, void *user)
{
	CUgraphNode node;
	CUresult result = node_add(stream, CU_GRAPH_NODE_TYPE_HOST, &node);
	if (result == CUDA_SUCCESS)
		node->u.host = (CUDA_HOST_NODE_PARAMS){fn, user};
	return result;
}

CUresult si_capture_memcpy(CUstream stream, void *dst, const void *src, size_t bytes)
{
	CUgraphNode node;
	CUresult result = node_add(stream, CU_GRAPH_NODE_TYPE_MEMCPY, &node);
	if (result == CUDA_SUCCESS)
		node->u.copy = (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_HOST,
					       .srcHost = src,
					       .dstMemoryType = CU_MEMORYTYPE_HOST,
					       .dstHost = dst,
					       .WidthInBytes = bytes,
					       .Height = 1,
					       .Depth = 1};
	return result;
}

CUresult si_capture_memset(CUstream stream, void *dst, unsigned value, unsigned element,
			   size_t count)
{
	CUgraphNode node;
	CUresult result = node_add(stream, CU_GRAPH_NODE_TYPE_MEMSET, &node);
	if (result == CUDA_SUCCESS)
		node->u.set = (CUDA_MEMSET_NODE_PARAMS){.dst = (CUdeviceptr)dst,
							.value = value,
							.elementSize = element,
							.width = count,
							.height = 1};
	return result;
}

/* A graph launch into a capture becomes a child graph node. */
CUresult si_capture_exec(CUstream stream, CUgraph graph)
{
	CUgraphNode node;
	CUresult result = node_add(stream, CU_GRAPH_NODE_TYPE_GRAPH, &node);
	if (result == CUDA_SUCCESS && (node->u.child = si_graph_copy(graph)))
		node->u.child->owned = true;
	return result;
}

/* ---- events carry captures from stream to stream ---- */

void si_capture_event_clear(CUevent event)
{
	event->capture = NULL;
	free(event->tails);
	event->tails = NULL;
	event->tail_count = 0;
}

CUresult si_capture_event_record(CUstream stream, CUevent event)
{
	if (stream->capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	si_capture_event_clear(event);
	event->recorded = false;
	event->capture = stream->capture;
	event->capture_id = stream->capture->id;
	tails_set(&event->tails, &event->tail_count, stream->tails, stream->tail_count);
	return CUDA_SUCCESS;
}

static struct si_capture *capture_of(CUevent event)
{
	for (struct si_capture *c = captures; c; c = c->next)
		if (c == event->capture && c->id == event->capture_id)
			return c;
	return NULL;
}

CUresult si_capture_event_refuse(CUevent event)
{
	struct si_capture *capture = capture_of(event);
	if (capture)
		capture->invalid = true;
	return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult si_capture_event_wait(CUstream stream, CUevent event)
{
	struct si_capture *capture = capture_of(event);
	if (!capture) { /* the event is of no capture that is still going on */
		if (event->capture)
			return CUDA_ERROR_CAPTURED_EVENT;
		if (!event->recorded)
			return CUDA_SUCCESS;
		stream->capture->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	}
	if (capture->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (stream->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	if (stream->capture && stream->capture != capture) {
		stream->capture->invalid = capture->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_MERGE;
	}
	if (!stream->capture)
		join(stream, capture);
	tails_add(stream, event->tails, event->tail_count);
	return CUDA_SUCCESS;
}

/* ---- the functions ---- */

static CUresult begin(bool pt, CUstream handle, CUgraph into, const CUgraphNode *deps,
		      size_t dep_count, CUstreamCaptureMode mode)
{
	struct si_capture *capture;
	CUstream stream = NULL;
	CUresult result;
	if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	result = si_stream(handle, pt, &stream);
	if (result == CUDA_SUCCESS && stream->legacy)
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (result == CUDA_SUCCESS && stream->capture)
		result = CUDA_ERROR_ILLEGAL_STATE;
	capture = result == CUDA_SUCCESS ? calloc(1, sizeof *capture) : NULL;
	if (capture) {
		*capture = (struct si_capture){.graph = into ? into : si_graph_new(),
					       .id = ++capture_ids,
					       .origin = stream,
					       .mode = mode,
					       .thread = this_thread(),
					       .borrowed = into != NULL,
					       .next = captures};
		capture->graph->owned = true;
		captures = capture;
		join(stream, capture);
		tails_set(&stream->tails, &stream->tail_count, deps, dep_count);
	}
	return result;
}

CUresult si_cuStreamBeginCapture_v2(bool pt, CUstream hStream, CUstreamCaptureMode mode)
{
	return begin(pt, hStream, NULL, NULL, 0, mode);
}

CUresult si_cuStreamBeginCapture(bool pt, CUstream hStream)
{
	return begin(pt, hStream, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult si_cuStreamBeginCaptureToGraph(bool pt, CUstream hStream, CUgraph hGraph,
					const CUgraphNode *dependencies,
					const CUgraphEdgeData *dependencyData,
					size_t numDependencies, CUstreamCaptureMode mode)
{
	CUresult result = si_deps_check(hGraph, dependencies, numDependencies);
	(void)dependencyData;
	return result == CUDA_SUCCESS
		       ? begin(pt, hStream, hGraph, dependencies, numDependencies, mode)
		       : result;
}

static void reach(CUgraphNode node, CUgraph graph, bool *seen)
{
	size_t place = 0;
	while (place < graph->count && graph->nodes[place] != node)
		place++;
	if (place == graph->count || seen[place])
		return;
	seen[place] = true;
	for (size_t i = 0; i < node->dep_count; i++)
		reach(node->deps[i], graph, seen);
}

/* Is all that other streams captured joined into the origin's last nodes? */
static bool joined(const struct si_capture *capture)
{
	CUgraph graph = capture->graph;
	bool *seen = calloc(graph->count + 1, sizeof *seen), ok = seen != NULL;
	for (size_t i = 0; ok && i < capture->origin->tail_count; i++)
		reach(capture->origin->tails[i], graph, seen);
	for (CUcontext ctx = si_context_list(); ok && ctx; ctx = ctx->next)
		for (CUstream s = ctx->streams; s; s = s->next)
			for (size_t i = 0; s->capture == capture && i < s->tail_count; i++)
				for (size_t k = 0; k < graph->count; k++)
					if (graph->nodes[k] == s->tails[i] && !seen[k])
						ok = false;
	free(seen);
	return ok;
}

CUresult si_cuStreamEndCapture(bool pt, CUstream hStream, CUgraph *phGraph)
{
	struct si_capture *capture;
	CUstream stream = NULL;
	CUresult result;
	if (!phGraph)
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	result = si_stream(hStream, pt, &stream);
	capture = result == CUDA_SUCCESS ? stream->capture : NULL;
	if (result == CUDA_SUCCESS && !capture)
		result = CUDA_ERROR_ILLEGAL_STATE;
	else if (capture && capture->origin != stream) {
		capture->invalid = true;
		result = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	} else if (capture && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
		   capture->thread != this_thread())
		result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	if (result == CUDA_SUCCESS) {
		if (capture->invalid)
			result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
		else if (!joined(capture))
			result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
		*phGraph = result == CUDA_SUCCESS ? capture->graph : NULL;
		capture->graph->owned = false;
		if (result != CUDA_SUCCESS && !capture->borrowed)
			si_graph_free(capture->graph);
		capture_end(capture);
	}
	return result;
}

CUresult si_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode old = si_tls.mode;
	if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	si_tls.mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}

static CUstreamCaptureStatus status_of(CUstream stream)
{
	return !stream->capture           ? CU_STREAM_CAPTURE_STATUS_NONE
	       : stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
					  : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult si_cuStreamIsCapturing(bool pt, CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
	return si_cuStreamGetCaptureInfo_v3(pt, hStream, captureStatus, NULL, NULL, NULL, NULL,
					    NULL);
}

CUresult si_cuStreamGetCaptureInfo(bool pt, CUstream hStream,
				   CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out)
{
	return si_cuStreamGetCaptureInfo_v3(pt, hStream, captureStatus_out, id_out, NULL, NULL,
					    NULL, NULL);
}

CUresult si_cuStreamGetCaptureInfo_v2(bool pt, CUstream hStream,
				      CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out,
				      CUgraph *graph_out, const CUgraphNode **dependencies_out,
				      size_t *numDependencies_out)
{
	return si_cuStreamGetCaptureInfo_v3(pt, hStream, captureStatus_out, id_out, graph_out,
					    dependencies_out, NULL, numDependencies_out);
}

CUresult si_cuStreamGetCaptureInfo_v3(bool pt, CUstream hStream,
				      CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out,
				      CUgraph *graph_out, const CUgraphNode **dependencies_out,
				      const CUgraphEdgeData **edgeData_out,
				      size_t *numDependencies_out)
{
	CUstream stream = NULL;
	CUresult result;
	if (!captureStatus_out)
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	result = si_stream(hStream, pt, &stream);
	if (result == CUDA_SUCCESS)
		result = si_capture_implicit_query(stream);
	if (result == CUDA_SUCCESS)
		*captureStatus_out = status_of(stream);
	if (result == CUDA_SUCCESS && *captureStatus_out == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
		if (id_out)
			*id_out = stream->capture->id;
		if (graph_out)
			*graph_out = stream->capture->graph;
		if (dependencies_out)
			*dependencies_out = stream->tails;
		if (edgeData_out)
			*edgeData_out = NULL;
		if (numDependencies_out)
			*numDependencies_out = stream->tail_count;
	}
	return result;
}

CUresult si_capture_implicit_query(CUstream stream)
{
	if (!stream->legacy || stream->ctx->capturing == 0)
		return CUDA_SUCCESS;
	for (CUstream s = stream->ctx->streams; s; s = s->next)
		if (s->capture && !(s->flags & CU_STREAM_NON_BLOCKING))
			return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	return CUDA_SUCCESS;
}

CUresult si_cuStreamUpdateCaptureDependencies_v2(bool pt, CUstream hStream,
						 CUgraphNode *dependencies,
						 const CUgraphEdgeData *dependencyData,
						 size_t numDependencies, unsigned int flags)
{
	CUstream stream = NULL;
	CUresult result;
	(void)dependencyData;
	if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || (numDependencies && !dependencies))
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	result = si_stream(hStream, pt, &stream);
	if (result == CUDA_SUCCESS && !stream->capture)
		result = CUDA_ERROR_ILLEGAL_STATE;
	if (result == CUDA_SUCCESS)
		result = si_deps_check(stream->capture->graph, dependencies, numDependencies);
	if (result == CUDA_SUCCESS && flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		tails_set(&stream->tails, &stream->tail_count, dependencies, numDependencies);
	else if (result == CUDA_SUCCESS)
		tails_add(stream, dependencies, numDependencies);
	return result;
}

CUresult si_cuStreamUpdateCaptureDependencies(bool pt, CUstream hStream, CUgraphNode *dependencies,
					      size_t numDependencies, unsigned int flags)
{
	return si_cuStreamUpdateCaptureDependencies_v2(pt, hStream, dependencies, NULL,
						       numDependencies, flags);
}
