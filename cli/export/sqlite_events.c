/*
 * Copies, waits, NVTX ranges and clocks of a log, in nsys's tables where it has one. What a log
 * does not have is NULL, or 0 where nsys allows no NULL.
 */
#include "cli/common/memory.h"
#include "cli/export/sqlite.h"

#include <stdlib.h>
#include <string.h>

const char sqlite_event_schema[] =
	"CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label "
	"TEXT);"
	"INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (0,'CUDA_MEMCPY_KIND_UNKNOWN','Unknown'),"
	"(1,'CUDA_MEMCPY_KIND_HTOD','Host-to-Device'),(2,'CUDA_MEMCPY_KIND_DTOH','Device-to-Host'),"
	"(8,'CUDA_MEMCPY_KIND_DTOD','Device-to-Device'),(10,'CUDA_MEMCPY_KIND_PTOP','Peer-to-Peer')"
	";"
	"CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);"
	"INSERT INTO ENUM_CUDA_MEM_KIND VALUES (2,'CUDA_MEMOPR_MEMORY_KIND_DEVICE','Device');"
	"CREATE TABLE ENUM_CUPTI_SYNC_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label "
	"TEXT);"
	"INSERT INTO ENUM_CUPTI_SYNC_TYPE VALUES "
	"(1,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE','Event sync'),"
	"(3,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE','Stream sync'),"
	"(4,'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE','Context sync');"
	"CREATE TABLE ENUM_NSYS_EVENT_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label "
	"TEXT);"
	"INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES (59,'NvtxPushPopRange','NVTX Push/Pop Range'),"
	"(60,'NvtxStartEndRange','NVTX Start/End Range');"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, "
	"deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, "
	"streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
	"bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, "
	"srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER, "
	"dstDeviceId INTEGER, dstContextId INTEGER, migrationCause INTEGER, graphNodeId INTEGER, "
	"virtualAddress INTEGER, copyCount INTEGER);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, "
	"deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, "
	"streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "
	"value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, "
	"end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
	"greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, "
	"globalPid INTEGER, deprecatedSyncType INTEGER, syncType INTEGER NOT NULL, "
	"eventId INTEGER NOT NULL, eventSyncId INTEGER);"
	"CREATE TABLE GPUWATCH_CALL (start INTEGER NOT NULL, end INTEGER NOT NULL, "
	"globalTid INTEGER, nameId INTEGER NOT NULL);"
	"CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);"
	/* Of a launch's call a log has the start. It ends there too, for nsys allows no NULL and
	 * puts a kernel into the NVTX ranges that contain the whole call; its name says so. Each
	 * kernel of a graph has a call, because its correlationId is its own. With a time span
	 * nsys reads each table's rowid. */
	"CREATE VIEW CUPTI_ACTIVITY_KIND_RUNTIME AS SELECT k.rowid AS rowid, "
	"k.callNs - (SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME) AS start, "
	"k.callNs - (SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME) AS end, "
	"1 AS eventClass, k.globalPid + k.threadId AS globalTid, "
	"k.correlationId AS correlationId, CASE WHEN k.graphNodeId IS NULL "
	"THEN (SELECT id FROM StringIds WHERE value = '" SQLITE_LAUNCH_CALL "') "
	"ELSE (SELECT id FROM StringIds WHERE value = '" SQLITE_GRAPH_CALL "') END AS nameId, "
	"NULL AS returnValue, NULL AS callchainId FROM CUPTI_ACTIVITY_KIND_KERNEL k "
	"WHERE k.callNs IS NOT NULL UNION ALL "
	"SELECT -rowid, start, end, 1, globalTid, NULL, nameId, NULL, NULL FROM GPUWATCH_CALL;"
	"CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT "
	"NULL, "
	"rangeId INTEGER, category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, "
	"endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, "
	"int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, "
	"floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT);"
	"CREATE TABLE GPUWATCH_CLOCK (gpu INTEGER NOT NULL, start INTEGER NOT NULL, sm_khz "
	"INTEGER, mem_khz INTEGER, temperature INTEGER, power_mw INTEGER);";

const char *const sqlite_event_inserts[DB_INSERTS] = {
	[DB_CLOCK] = "INSERT INTO GPUWATCH_CLOCK VALUES (?,?,?,?,?,?)",
	[DB_COPY] = "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, "
		    "globalPid, bytes, copyKind, srcKind, dstKind, contextId) "
		    "VALUES (?,?,?,?,?,?,?,?,?,0)",
	[DB_SET] = "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, streamId, "
		   "globalPid, bytes, contextId, value) VALUES (?,?,?,?,?,?,0,0)",
	[DB_WAIT] = "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start, end, globalPid, "
		    "syncType, deviceId, contextId, streamId, eventId) "
		    "VALUES (?,?,?,?,0,0,0,0)",
	[DB_CALL] = "INSERT INTO GPUWATCH_CALL VALUES (?,?,?,?)",
	[DB_RANGE] = "INSERT INTO NVTX_EVENTS (start, end, eventType, globalTid, textId) "
		     "VALUES (?,?,?,?,?)",
};

enum { DEVICE_MEMORY = 2 }; /* in ENUM_CUDA_MEM_KIND */

void sqlite_clock(struct export *e, const struct export_process *p, uint32_t gpu,
		  const struct gw_record_clock *c)
{
	struct sqlite *s = e->state;

	(void)p;
	sqlite_bind(s, DB_CLOCK, 1, true, s->device[gpu]);
	sqlite_bind(s, DB_CLOCK, 2, true, c->ns - e->epoch_ns);
	sqlite_bind(s, DB_CLOCK, 3, c->sm_khz, c->sm_khz);
	sqlite_bind(s, DB_CLOCK, 4, c->mem_khz, c->mem_khz);
	sqlite_bind(s, DB_CLOCK, 5, c->temperature != UINT32_MAX, c->temperature);
	sqlite_bind(s, DB_CLOCK, 6, c->power_mw != UINT32_MAX, c->power_mw);
	sqlite_step(e, DB_CLOCK);
}

void sqlite_copy(struct export *e, const struct export_process *p, uint32_t gpu,
		 const struct gw_record_copy *c)
{
	static const uint64_t kinds[GW_DIRECTIONS] = {[GW_DIRECTION_TO_DEVICE] = 1,
						      [GW_DIRECTION_TO_HOST] = 2,
						      [GW_DIRECTION_ON_DEVICE] = 8,
						      [GW_DIRECTION_PEER] = 10};
	const bool set = c->direction == GW_DIRECTION_SET;
	const enum sqlite_insert insert = set ? DB_SET : DB_COPY;
	const uint64_t kind = c->direction < GW_DIRECTIONS ? kinds[c->direction] : 0;
	struct sqlite *s = e->state;

	sqlite_bind(s, insert, 1, true, c->start_ns - e->epoch_ns);
	sqlite_bind(s, insert, 2, true, c->start_ns - e->epoch_ns + c->duration_ns);
	sqlite_bind(s, insert, 3, true, sqlite_device(e, gpu));
	sqlite_ends(s, c->start_ns - e->epoch_ns + c->duration_ns);
	sqlite_bind(s, insert, 4, true, c->stream);
	sqlite_bind(s, insert, 5, true, sqlite_pid(p->pid));
	sqlite_bind(s, insert, 6, true, c->bytes);
	if (!set) {
		sqlite_bind(s, insert, 7, true, kind);
		/* Whether the host's memory is pinned is not in the log. */
		sqlite_bind(s, insert, 8, kind == 2 || kind >= 8, DEVICE_MEMORY);
		sqlite_bind(s, insert, 9, kind == 1 || kind >= 8, DEVICE_MEMORY);
	}
	sqlite_step(e, insert);
}

void sqlite_wait(struct export *e, const struct export_process *p, uint32_t tid,
		 const struct gw_record_wait *w)
{
	/* nsys's rules look for the runtime's functions; a log has the driver's. */
	static const struct {
		uint64_t type; /* of nsys's synchronizations; 0: none */
		const char *name;
	} calls[] = {[GW_WAIT_CONTEXT] = {4, "cudaDeviceSynchronize or cuCtxSynchronize"},
		     [GW_WAIT_STREAM] = {3, "cudaStreamSynchronize or cuStreamSynchronize"},
		     [GW_WAIT_EVENT] = {1, "cudaEventSynchronize or cuEventSynchronize"},
		     [GW_WAIT_COPY] = {0, "cudaMemcpy or alike"}};
	_Static_assert(sizeof(calls) / sizeof(*calls) == GW_WAIT_CALLS, "each call has a name");
	struct sqlite *s = e->state;

	if (w->call >= GW_WAIT_CALLS)
		return;
	sqlite_bind(s, DB_CALL, 1, true, w->start_ns - e->epoch_ns);
	sqlite_bind(s, DB_CALL, 2, true, w->start_ns - e->epoch_ns + w->duration_ns);
	sqlite_bind(s, DB_CALL, 3, tid, sqlite_pid(p->pid) + tid);
	sqlite_bind(s, DB_CALL, 4, true, sqlite_string(e, calls[w->call].name));
	sqlite_step(e, DB_CALL);
	if (!calls[w->call].type)
		return;
	sqlite_bind(s, DB_WAIT, 1, true, w->start_ns - e->epoch_ns);
	sqlite_bind(s, DB_WAIT, 2, true, w->start_ns - e->epoch_ns + w->duration_ns);
	sqlite_ends(s, w->start_ns - e->epoch_ns + w->duration_ns);
	sqlite_bind(s, DB_WAIT, 3, true, sqlite_pid(p->pid));
	sqlite_bind(s, DB_WAIT, 4, true, calls[w->call].type);
	sqlite_step(e, DB_WAIT);
}

static struct sqlite_thread *thread_of(struct sqlite *s, uint32_t tid)
{
	const uint64_t key = gw_hash_mix(tid + UINT64_C(1));
	uint32_t at = gw_index_find(&s->thread_of, key, NULL, NULL);

	if (at != GW_INDEX_NONE)
		return &s->threads[at];
	at = (uint32_t)s->thread_count++;
	gw_index_add(&s->thread_of, key, at);
	GW_GROW(s->threads, &s->thread_room, at + 1u);
	s->threads[at] = (struct sqlite_thread){.tid = tid};
	return &s->threads[at];
}

/* The innermost range of a thread ends at @p ns; 0: the log has no end of it. */
static void close_range(struct export *e, struct sqlite_thread *t, uint64_t ns)
{
	enum { PUSH_POP = 59, START_END = 60 }; /* in ENUM_NSYS_EVENT_TYPE */
	struct sqlite *s = e->state;
	const struct sqlite_open *o = &t->open[--t->in.depth];

	sqlite_bind(s, DB_RANGE, 1, true, o->ns - e->epoch_ns);
	sqlite_bind(s, DB_RANGE, 2, ns, ns - e->epoch_ns);
	if (ns)
		sqlite_ends(s, ns - e->epoch_ns);
	sqlite_bind(s, DB_RANGE, 3, true, t->tid ? PUSH_POP : START_END);
	sqlite_bind(s, DB_RANGE, 4, true, sqlite_pid(s->pid) + t->tid);
	sqlite_bind(s, DB_RANGE, 5, true, o->name);
	sqlite_step(e, DB_RANGE);
}

void sqlite_range(struct export *e, const struct export_process *p, uint32_t tid, const char *name,
		  uint32_t depth, uint64_t ns)
{
	struct sqlite *s = e->state;
	struct sqlite_thread *t = thread_of(s, tid);
	const uint32_t kept = export_ranges_kept(&t->in, depth, name);

	s->pid = p->pid;
	while (t->in.depth > kept)
		close_range(e, t, ns);
	GW_GROW(t->open, &t->room, depth);
	for (; t->in.depth < depth; t->in.depth++) {
		const bool innermost = t->in.depth + 1 == depth;

		t->open[t->in.depth] = (struct sqlite_open){
			sqlite_string(e, innermost && name ? name : "[unknown]"), ns};
	}
}

void sqlite_end_ranges(struct export *e)
{
	struct sqlite *s = e->state;

	for (uint32_t i = 0; i < s->thread_count; i++) {
		while (s->threads[i].in.depth)
			close_range(e, &s->threads[i], 0);
		free(s->threads[i].open);
	}
	s->thread_count = 0;
	gw_index_free(&s->thread_of);
	s->thread_of = (struct gw_index){0};
}
