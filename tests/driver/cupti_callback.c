/* Subscribers and driver-API callbacks, ids, versions, error texts, attributes, the way out. */
#include "cupti_si.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CUpti_Subscriber_st {
	CUpti_CallbackFunc callback;
	void *user;
};
static struct CUpti_Subscriber_st subscriber;
static pthread_mutex_t subscriber_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool subscribed;
static _Atomic unsigned char wanted[CUPTI_DRIVER_TRACE_CBID_SIZE];
static _Atomic bool modules_wanted;

static void on_api(uint32_t cbid, const char *symbol, bool leaving, const void *params, int *result,
		   uint32_t correlation, uint64_t *correlation_data, void *context,
		   uint32_t context_id);
static void on_module(void *context, uint32_t id, const void *cubin, size_t size);
struct si_cupti_hooks sc_hooks = {.api = on_api, .module = on_module};

/* ---- the driver ---- */

static const struct si_private *driver;

static void driver_find(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	void *entry = library ? dlsym(library, "standin_private") : NULL;
	standin_private_fn *get;
	if (!entry) {
		fprintf(stderr, "stand-in: libcupti: the libcuda.so.1 found is not the stand-in; "
				"set LD_LIBRARY_PATH to the directory of both\n");
		return;
	}
	memcpy(&get, &entry, sizeof get);
	driver = get();
}

const struct si_private *sc_driver(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, driver_find);
	return driver;
}

uint32_t sc_version(void)
{
	static _Atomic uint32_t version;
	uint32_t known = atomic_load_explicit(&version, memory_order_relaxed);
	if (!known) {
		known = (uint32_t)sc_driver()->env_u64("STANDIN_CUPTI_VERSION", CUPTI_API_VERSION);
		atomic_store(&version, known);
	}
	return known;
}

CUptiResult sc_enter(const char *name)
{
	int code;
	if (!sc_driver())
		return CUPTI_ERROR_NOT_INITIALIZED;
	code = driver->fault(name);
	driver->trace(name, NULL, 0, code);
	return (CUptiResult)code;
}

/* ---- callbacks ---- */

static void on_api(uint32_t cbid, const char *symbol, bool leaving, const void *params, int *result,
		   uint32_t correlation, uint64_t *correlation_data, void *context,
		   uint32_t context_id)
{
	CUpti_CallbackData data = {
		.callbackSite = leaving ? CUPTI_API_EXIT : CUPTI_API_ENTER,
		.functionName = symbol,
		.functionParams = params,
		.functionReturnValue = result,
		.symbolName = NULL,
		.context = context,
		.contextUid = context_id,
		.correlationData = correlation_data,
		.correlationId = correlation,
	};
	CUpti_CallbackFunc callback = NULL;
	void *user = NULL;
	pthread_mutex_lock(&subscriber_lock);
	if (cbid < CUPTI_DRIVER_TRACE_CBID_SIZE && wanted[cbid]) {
		callback = subscriber.callback;
		user = subscriber.user;
	}
	pthread_mutex_unlock(&subscriber_lock);
	if (!callback)
		return;
	data.symbolName = sc_driver()->kernel_name(cbid, params);
	callback(user, CUPTI_CB_DOMAIN_DRIVER_API, cbid, &data);
}

static void on_module(void *context, uint32_t id, const void *cubin, size_t size)
{
	CUpti_ModuleResourceData module = {.moduleId = id, .cubinSize = size, .pCubin = cubin};
	CUpti_ResourceData data = {.context = context, .resourceDescriptor = &module};
	CUpti_CallbackFunc callback = NULL;
	void *user = NULL;
	if (!modules_wanted || sc_driver()->env_u64("STANDIN_REPORTS", 1) == 0)
		return;
	pthread_mutex_lock(&subscriber_lock);
	callback = subscriber.callback;
	user = subscriber.user;
	pthread_mutex_unlock(&subscriber_lock);
	if (callback)
		callback(user, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED, &data);
}

SC_API cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc callback, void *userdata)
{
	SC_ENTER();
	if (!out)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (atomic_load(&subscribed) || sc_driver()->env_u64("STANDIN_SUBSCRIBED", 0))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	pthread_mutex_lock(&subscriber_lock);
	subscriber = (struct CUpti_Subscriber_st){callback, userdata};
	atomic_store(&subscribed, true);
	pthread_mutex_unlock(&subscriber_lock);
	sc_driver()->hooks_set(&sc_hooks);
	*out = &subscriber;
	return CUPTI_SUCCESS;
}

static void want(uint32_t cbid, bool on)
{
	for (uint32_t i = cbid ? cbid : 1; i < (cbid ? cbid + 1 : CUPTI_DRIVER_TRACE_CBID_SIZE);
	     i++)
		wanted[i] = on;
	sc_driver()->watch(cbid, on);
}

SC_API cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
	SC_ENTER();
	if (handle != &subscriber || !atomic_load(&subscribed))
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&subscriber_lock);
	want(0, false);
	modules_wanted = false;
	subscriber = (struct CUpti_Subscriber_st){0};
	atomic_store(&subscribed, false);
	pthread_mutex_unlock(&subscriber_lock);
	return CUPTI_SUCCESS;
}

static CUptiResult callback_switch(uint32_t enable, CUpti_SubscriberHandle handle,
				   CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	if (handle != &subscriber || !atomic_load(&subscribed) || (unsigned)domain == 0 ||
	    (unsigned)domain >= CUPTI_CB_DOMAIN_SIZE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (domain == CUPTI_CB_DOMAIN_RESOURCE &&
	    (!cbid || cbid == CUPTI_CBID_RESOURCE_MODULE_LOADED))
		modules_wanted = enable != 0;
	if (domain != CUPTI_CB_DOMAIN_DRIVER_API)
		return CUPTI_SUCCESS; /* accepted; the stand-in calls back for no others */
	if (cbid >= CUPTI_DRIVER_TRACE_CBID_SIZE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&subscriber_lock);
	want(cbid, enable != 0);
	pthread_mutex_unlock(&subscriber_lock);
	return CUPTI_SUCCESS;
}

SC_API cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
			   CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	SC_ENTER();
	return cbid ? callback_switch(enable, handle, domain, cbid) : CUPTI_ERROR_INVALID_PARAMETER;
}

SC_API cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
			 CUpti_CallbackDomain domain)
{
	SC_ENTER();
	return callback_switch(enable, handle, domain, 0);
}

SC_API cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name)
{
	SC_ENTER();
	if (!name || domain != CUPTI_CB_DOMAIN_DRIVER_API)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*name = sc_driver()->symbol(cbid);
	return *name ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

/* ---- ids ---- */

SC_API cuptiGetContextId(CUcontext context, uint32_t *contextId)
{
	SC_ENTER();
	if (!contextId)
		return CUPTI_ERROR_INVALID_PARAMETER;
	return sc_driver()->context_id(context, contextId) ? CUPTI_SUCCESS
							   : CUPTI_ERROR_INVALID_CONTEXT;
}

SC_API cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t perThreadStream,
			  uint32_t *streamId)
{
	uint32_t unused;

	SC_ENTER();
	if (!streamId)
		return CUPTI_ERROR_INVALID_PARAMETER;
	/* As libcupti 13.0: of a context that was destroyed it reads on. */
	if (context && !sc_driver()->context_id(context, &unused))
		abort();
	return sc_driver()->stream_id(context, stream, perThreadStream != 0, streamId)
		       ? CUPTI_SUCCESS
		       : CUPTI_ERROR_INVALID_STREAM;
}

SC_API cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *streamId)
{
	return cuptiGetStreamIdEx(context, stream, 0, streamId);
}

SC_API cuptiGetGraphId(CUgraph graph, uint32_t *pId)
{
	SC_ENTER();
	return pId && sc_driver()->graph_id(graph, pId) ? CUPTI_SUCCESS
							: CUPTI_ERROR_INVALID_PARAMETER;
}

SC_API cuptiGetGraphExecId(CUgraphExec graphExec, uint32_t *pId)
{
	SC_ENTER();
	return pId && sc_driver()->exec_id(graphExec, pId) ? CUPTI_SUCCESS
							   : CUPTI_ERROR_INVALID_PARAMETER;
}

SC_API cuptiGetGraphNodeId(CUgraphNode node, uint64_t *nodeId)
{
	SC_ENTER();
	return nodeId && sc_driver()->node_id(node, nodeId) ? CUPTI_SUCCESS
							    : CUPTI_ERROR_INVALID_PARAMETER;
}

SC_API cuptiGetDeviceId(CUcontext context, uint32_t *deviceId)
{
	uint32_t id;
	SC_ENTER();
	if (!deviceId || !sc_driver()->context_id(context, &id))
		return CUPTI_ERROR_INVALID_CONTEXT;
	*deviceId = 0;
	return CUPTI_SUCCESS;
}

/* ---- the rest ---- */

SC_API cuptiGetVersion(uint32_t *version)
{
	SC_ENTER();
	if (!version)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*version = sc_version();
	return CUPTI_SUCCESS;
}

SC_API cuptiFinalize(void)
{
	SC_ENTER();
	sc_activity_stop();
	pthread_mutex_lock(&subscriber_lock);
	want(0, false);
	modules_wanted = false;
	subscriber = (struct CUpti_Subscriber_st){0};
	atomic_store(&subscribed, false);
	pthread_mutex_unlock(&subscriber_lock);
	sc_driver()->hooks_set(NULL);
	return CUPTI_SUCCESS;
}

SC_API cuptiGetResultString(CUptiResult result, const char **str)
{
	static const struct {
		CUptiResult code;
		const char *text;
	} texts[] = {
#define T(code) {code, #code}
		T(CUPTI_SUCCESS),
		T(CUPTI_ERROR_INVALID_PARAMETER),
		T(CUPTI_ERROR_INVALID_DEVICE),
		T(CUPTI_ERROR_INVALID_CONTEXT),
		T(CUPTI_ERROR_INVALID_OPERATION),
		T(CUPTI_ERROR_OUT_OF_MEMORY),
		T(CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT),
		T(CUPTI_ERROR_MAX_LIMIT_REACHED),
		T(CUPTI_ERROR_NOT_READY),
		T(CUPTI_ERROR_NOT_COMPATIBLE),
		T(CUPTI_ERROR_NOT_INITIALIZED),
		T(CUPTI_ERROR_INVALID_STREAM),
		T(CUPTI_ERROR_INVALID_KIND),
		T(CUPTI_ERROR_HARDWARE),
		T(CUPTI_ERROR_HARDWARE_BUSY),
		T(CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED),
		T(CUPTI_ERROR_NOT_SUPPORTED),
		T(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES),
		T(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED),
		T(CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED),
		T(CUPTI_ERROR_UNKNOWN),
#undef T
	};
	if (!str)
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
		if (texts[i].code == result) {
			*str = texts[i].text;
			return CUPTI_SUCCESS;
		}
	*str = "<unknown>";
	return CUPTI_ERROR_INVALID_PARAMETER;
}

SC_API cuptiGetErrorMessage(CUptiResult result, const char **str)
{
	return cuptiGetResultString(result, str);
}

/* ---- attributes ---- */

static const size_t attribute_defaults[] = {
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE] = 3200000,
	[CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT] = 250,
};
static size_t attributes[64];

SC_API cuptiActivitySetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value)
{
	SC_ENTER();
	if (!valueSize || !value)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if ((unsigned)attr >= 64 || *valueSize > sizeof attributes[0])
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&sc_delivery_lock);
	memcpy(&attributes[attr], value, *valueSize);
	pthread_mutex_unlock(&sc_delivery_lock);
	return CUPTI_SUCCESS;
}

SC_API cuptiActivityGetAttribute(CUpti_ActivityAttribute attr, size_t *valueSize, void *value)
{
	size_t answer;
	SC_ENTER();
	if (!valueSize || !value || (unsigned)attr >= 64)
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&sc_delivery_lock);
	answer = attributes[attr];
	pthread_mutex_unlock(&sc_delivery_lock);
	if (!answer && (size_t)attr < sizeof attribute_defaults / sizeof attribute_defaults[0])
		answer = attribute_defaults[attr];
	if (*valueSize < sizeof answer)
		return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
	memcpy(value, &answer, sizeof answer);
	*valueSize = sizeof answer;
	return CUPTI_SUCCESS;
}
