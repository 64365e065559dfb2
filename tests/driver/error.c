/* Start-up, versions, error texts, and the search for functions by name, version and flags. */
#include "si.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	CUresult code;
	const char *name, *text;
} errors[] = {
#define E(code, text) \
	{ \
		code, #code, text \
	}
	E(CUDA_SUCCESS, "no error"),
	E(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
	E(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
	E(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
	E(CUDA_ERROR_DEINITIALIZED, "driver shutting down"),
	E(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
	E(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
	E(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
	E(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
	E(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device"),
	E(CUDA_ERROR_FILE_NOT_FOUND, "file not found"),
	E(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
	E(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
	E(CUDA_ERROR_NOT_READY, "device not ready"),
	E(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
	E(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
	E(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "primary context already active"),
	E(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed"),
	E(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
	E(CUDA_ERROR_NOT_PERMITTED, "operation not permitted"),
	E(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
	E(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
	  "operation not permitted when stream is capturing"),
	E(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
	  "operation failed due to a previous error during capture"),
	E(CUDA_ERROR_STREAM_CAPTURE_MERGE,
	  "operation would result in a merge of separate capture sequences"),
	E(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
	  "capture was not ended in the same stream as it began"),
	E(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work"),
	E(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
	  "dependency created on uncaptured work in another stream"),
	E(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
	  "operation would make the legacy stream depend on a capturing blocking stream"),
	E(CUDA_ERROR_CAPTURED_EVENT,
	  "operation not permitted on an event last recorded in a capturing stream"),
	E(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
	  "attempt to terminate a thread-local capture sequence from another thread"),
	E(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
	  "the graph update was not performed because it included changes which violated "
	  "constraints specific to instantiated graph update"),
	E(CUDA_ERROR_UNKNOWN, "unknown error"),
#undef E
};

static int error_find(CUresult error)
{
	for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
		if (errors[i].code == error)
			return (int)i;
	return -1;
}

CUresult si_cuGetErrorString(CUresult error, const char **pStr)
{
	int i = error_find(error);
	if (!pStr)
		return CUDA_ERROR_INVALID_VALUE;
	*pStr = i < 0 ? NULL : errors[i].text;
	return i < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult si_cuGetErrorName(CUresult error, const char **pStr)
{
	int i = error_find(error);
	if (!pStr)
		return CUDA_ERROR_INVALID_VALUE;
	*pStr = i < 0 ? NULL : errors[i].name;
	return i < 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* The real driver loads CUDA_INJECTION64_PATH on the first cuInit and calls its entry point. */
static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path && *path ? dlopen(path, RTLD_NOW) : NULL;
	void *entry = library ? dlsym(library, "InitializeInjection") : NULL;
	int (*initialize)(void);
	if (!entry)
		return;
	memcpy(&initialize, &entry, sizeof initialize);
	initialize();
}

/* Other threads' cuInit returns when the injected library is ready; its own calls pass. */
static atomic_bool injected;
static _Thread_local bool injecting;

static void init_once(void)
{
	atomic_store(&si_initialized, true);
	injecting = true;
	inject();
	injecting = false;
	atomic_store(&injected, true);
}

CUresult si_cuInit(unsigned int Flags)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	if (Flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (atomic_load(&si_forked))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (si_env_u64("STANDIN_DEVICES", 1) == 0)
		return CUDA_ERROR_NO_DEVICE;
	if (!atomic_load_explicit(&injected, memory_order_acquire) && !injecting)
		pthread_once(&once, init_once);
	return CUDA_SUCCESS;
}

CUresult si_cuDriverGetVersion(int *driverVersion)
{
	if (!driverVersion)
		return CUDA_ERROR_INVALID_VALUE;
	*driverVersion = SI_DRIVER_VERSION;
	return CUDA_SUCCESS;
}

/* Has `name` a per-thread form? */
static bool has_per_thread(const char *name)
{
	for (int i = 0; i < SI_COUNT; i++)
		if (si_rows[i].per_thread && strcmp(si_rows[i].name, name) == 0)
			return true;
	return false;
}

/* The newest row of `name` that `version` may have, in the wanted form; a function without a
 * per-thread form has one form for all, one that has one is not found before its time. */
static const struct si_row *row_find(const char *name, int version, bool per_thread, bool *known)
{
	const struct si_row *best = NULL;
	per_thread = per_thread && has_per_thread(name);
	for (int i = 0; i < SI_COUNT; i++) {
		const struct si_row *row = &si_rows[i];
		if (strcmp(row->name, name) != 0)
			continue;
		*known = true;
		if (row->since <= version && row->per_thread == per_thread &&
		    (!best || row->since > best->since))
			best = row;
	}
	return best;
}

static CUresult find(const char *symbol, void **pfn, int version, cuuint64_t flags,
		     CUdriverProcAddressQueryResult *status)
{
	const struct si_row *row;
	bool known = false;
	if (!symbol || !pfn || flags > 3)
		return CUDA_ERROR_INVALID_VALUE;
	row = row_find(symbol, version,
		       (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0, &known);
	*pfn = row ? row->address : NULL;
	*status = row     ? CU_GET_PROC_ADDRESS_SUCCESS
		  : known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
			  : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return CUDA_SUCCESS;
}

CUresult si_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
	CUdriverProcAddressQueryResult status;
	CUresult result = find(symbol, pfn, cudaVersion, flags, &status);
	if (result == CUDA_SUCCESS && status != CU_GET_PROC_ADDRESS_SUCCESS)
		result = CUDA_ERROR_NOT_FOUND;
	return result;
}

CUresult si_cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
				CUdriverProcAddressQueryResult *symbolStatus)
{
	CUdriverProcAddressQueryResult status;
	CUresult result = find(symbol, pfn, cudaVersion, flags, &status);
	if (result == CUDA_SUCCESS && symbolStatus)
		*symbolStatus = status;
	return result;
}

CUresult si_cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
	if (!ppExportTable || !pExportTableId)
		return CUDA_ERROR_INVALID_VALUE;
	*ppExportTable = si_private_table(pExportTableId);
	if (*ppExportTable)
		return CUDA_SUCCESS;
	return CUDA_ERROR_NOT_FOUND;
}
