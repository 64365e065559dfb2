/* The stand-in driver: launches, streams, events, graphs, and how functions are found. */
#include "test_support.h"
#include "tests/test.h"
#include <malloc.h>

TEST_WITH(a_kernel_body_really_runs, fixture_make, fixture_drop)
{
	struct fixture *f = *state;
	int n = 100, value = 7, out[128] = {0};
	void *params[] = {&f->memory, &value, &n};
	assert_int_equal(cuLaunchKernel(f->fill, 2, 1, 1, 64, 1, 1, 0, NULL, params, NULL), 0);
	assert_int_equal(cuMemcpyDtoH(out, f->memory, sizeof out), 0);
	assert_int_equal(out[99], 7);
	assert_int_equal(out[100], 0);
}

TEST_WITH(a_stream_is_done_when_its_last_kernel_is, fixture_make, fixture_drop)
{
	struct fixture *f = *state;
	uint64_t begin = steady_ns();
	CUresult running = CUDA_SUCCESS;
	WHILE_IT_RUNS(f, f->stream, 50000000, running = cuStreamQuery(f->stream));
	assert_int_equal(running, CUDA_ERROR_NOT_READY);
	assert_int_equal(cuStreamSynchronize(f->stream), 0);
	assert_int_equal(cuStreamQuery(f->stream), 0);
	assert_true(steady_ns() - begin >= 50000000);
}

TEST_WITH(the_legacy_stream_waits_for_blocking_streams_only, fixture_make, fixture_drop)
{
	struct fixture *f = *state;
	CUresult running = CUDA_SUCCESS;
	CUstream blocking;
	CUevent event;
	assert_int_equal(cuStreamCreate(&blocking, CU_STREAM_DEFAULT), 0);
	assert_int_equal(cuEventCreate(&event, 0), 0);
	WHILE_IT_RUNS(f, f->stream, 50000000, {
		assert_int_equal(cuEventRecord(event, NULL), 0);
		assert_int_equal(cuEventQuery(event), 0); /* f->stream is non-blocking */
	});
	WHILE_IT_RUNS(f, blocking, 50000000, {
		assert_int_equal(cuEventRecord(event, NULL), 0);
		running = cuEventQuery(event);
	});
	assert_int_equal(running, CUDA_ERROR_NOT_READY);
	assert_int_equal(cuEventSynchronize(event), 0);
	assert_int_equal(cuStreamQuery(blocking), 0);
	cuEventDestroy(event);
	cuStreamDestroy(blocking);
}

TEST_WITH(an_event_orders_two_streams, fixture_make, fixture_drop)
{
	struct fixture *f = *state;
	CUresult running = CUDA_SUCCESS;
	CUevent before, after;
	CUstream other;
	float ms = 0;
	cuStreamCreate(&other, CU_STREAM_NON_BLOCKING);
	cuEventCreate(&before, 0);
	cuEventCreate(&after, 0);
	cuEventRecord(before, f->stream);
	WHILE_IT_RUNS(f, f->stream, 50000000, {
		cuEventRecord(after, f->stream);
		assert_int_equal(cuStreamWaitEvent(other, after, 0), 0);
		running = cuStreamQuery(other);
	});
	assert_int_equal(running, CUDA_ERROR_NOT_READY);
	assert_int_equal(cuStreamSynchronize(other), 0);
	assert_int_equal(cuEventElapsedTime(&ms, before, after), 0);
	assert_true(ms >= 50.0f);
	cuEventDestroy(before);
	cuEventDestroy(after);
	cuStreamDestroy(other);
}

TEST_WITH(a_destroyed_streams_work_is_waited_for_by_the_context_only, fixture_make, fixture_drop)
{
	struct fixture *f = *state;
	unsigned long long ns = 50000000;
	void *params[] = {&ns};
	uint64_t begin = steady_ns();
	CUstream other;
	cuStreamCreate(&other, CU_STREAM_NON_BLOCKING);
	cuLaunchKernel(f->spin, 1, 1, 1, 1, 1, 1, 0, other, params, NULL);
	assert_int_equal(cuStreamDestroy(other), 0);
	assert_int_equal(cuStreamQuery(NULL), 0);
	assert_int_equal(cuCtxSynchronize(), 0);
	assert_true(steady_ns() - begin >= 50000000);
}

static void host_flag(void *user)
{
	atomic_fetch_add((atomic_int *)user, 1);
}

TEST_WITH(host_functions_run_in_stream_order, fixture_make, fixture_drop)
{
	struct fixture *f = *state;
	atomic_int calls = 0;
	void *params[] = {&f->memory};
	for (int i = 0; i < 10; i++) {
		assert_int_equal(cuLaunchHostFunc(f->stream, host_flag, &calls), 0);
		cuLaunchKernel(f->increment, 1, 1, 1, 1, 1, 1, 0, f->stream, params, NULL);
		assert_int_equal(atomic_load(&calls), i + 1); /* the body ran after it */
	}
	assert_int_equal(cuStreamSynchronize(f->stream), 0);
}

TEST_WITH(a_destroyed_handle_value_comes_back, fixture_make, fixture_drop)
{
	CUstream first, second;
	unsigned long long id_first = 0, id_second = 0;
	cuStreamCreate(&first, 0);
	cuStreamGetId(first, &id_first);
	assert_int_equal(cuStreamDestroy(first), 0);
	assert_int_equal(cuStreamDestroy(first), CUDA_ERROR_INVALID_HANDLE);
	cuStreamCreate(&second, 0);
	cuStreamGetId(second, &id_second);
	assert_ptr_equal(first, second);
	assert_true(id_second > id_first);
	cuStreamDestroy(second);
}

TEST_WITH(an_address_is_the_exported_symbol_of_its_version, fixture_make, fixture_drop)
{
	static const struct {
		const char *name, *symbol;
		int version;
		unsigned flags;
	} cases[] = {{"cuCtxCreate", "cuCtxCreate_v2", 8000, 0},
		     {"cuCtxCreate", "cuCtxCreate_v3", 12000, 0},
		     {"cuCtxCreate", "cuCtxCreate_v4", 13000, 0},
		     {"cuLaunchKernel", "cuLaunchKernel", 13000, 1},
		     {"cuLaunchKernel", "cuLaunchKernel_ptsz", 7000, 2},
		     {"cuGraphLaunch", "cuGraphLaunch_ptsz", 12000, 2},
		     {"cuGraphInstantiate", "cuGraphInstantiate_v2", 13000, 0},
		     {"cuMemcpyHtoD", "cuMemcpyHtoD_v2_ptds", 7000, 2},
		     {"cuGetProcAddress", "cuGetProcAddress_v2", 12000, 0}};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		CUdriverProcAddressQueryResult status;
		void *address = NULL;
		assert_int_equal(cuGetProcAddress(cases[i].name, &address, cases[i].version,
						  cases[i].flags, &status),
				 0);
		assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
		assert_non_null(address);
		assert_ptr_equal(address, dlsym(RTLD_DEFAULT, cases[i].symbol));
	}
}

TEST_WITH(what_is_too_new_or_unknown_has_no_address, fixture_make, fixture_drop)
{
	CUdriverProcAddressQueryResult status;
	void *address = &status;
	assert_int_equal(cuGetProcAddress("cuGraphLaunch", &address, 8000, 0, &status), 0);
	assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	assert_null(address);
	address = &status;
	assert_int_equal(cuGetProcAddress("cuNothing", &address, 13000, 0, &status), 0);
	assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	assert_null(address);
}

TEST_WITH(a_green_context_has_streams_of_its_own, fixture_make, fixture_drop)
{
	struct fixture *f = *state;
	CUdevResource resource;
	CUdevResourceDesc desc;
	CUgreenCtx green;
	CUcontext context, of_stream;
	CUstream stream;
	assert_int_equal(cuDeviceGetDevResource(0, &resource, CU_DEV_RESOURCE_TYPE_SM), 0);
	assert_int_equal(cuDevResourceGenerateDesc(&desc, &resource, 1), 0);
	assert_int_equal(cuGreenCtxCreate(&green, desc, 0, CU_GREEN_CTX_DEFAULT_STREAM), 0);
	assert_int_equal(cuCtxFromGreenCtx(&context, green), 0);
	assert_int_equal(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_DEFAULT, 0),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGreenCtxStreamCreate(&stream, green, CU_STREAM_NON_BLOCKING, 0), 0);
	assert_int_equal(cuStreamGetCtx(stream, &of_stream), 0);
	assert_ptr_equal(of_stream, context);
	assert_int_equal(cuCtxGetCurrent(&of_stream), 0);
	assert_ptr_equal(of_stream, f->context);
	assert_int_equal(cuGreenCtxDestroy(green), 0);
}

TEST_WITH(a_cycle_cannot_be_instantiated, fixture_make, fixture_drop)
{
	struct fixture *f = *state;
	void *params[] = {&f->memory};
	CUDA_KERNEL_NODE_PARAMS p = node_of(f->increment, params);
	CUgraphNode a, b;
	CUgraphExec exec;
	CUgraph graph;
	cuGraphCreate(&graph, 0);
	cuGraphAddKernelNode(&a, graph, NULL, 0, &p);
	cuGraphAddKernelNode(&b, graph, &a, 1, &p);
	assert_int_equal(cuGraphAddDependencies(graph, &b, &a, NULL, 1), 0);
	assert_int_equal(cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
	cuGraphDestroy(graph);
}

TEST_WITH(a_graph_keeps_its_kernel_when_the_module_is_gone, fixture_make, fixture_drop)
{
	struct fixture *f = *state;
	void *params[] = {&f->memory};
	CUmodule module, other;
	CUfunction function, reused;
	CUDA_KERNEL_NODE_PARAMS p;
	CUgraphNode node;
	CUgraphExec exec;
	CUgraph graph;
	int value;
	cuModuleLoadData(&module, TEST_HEAD "kernel add params=8 body=increment\n");
	cuModuleGetFunction(&function, module, "add");
	p = node_of(function, params);
	cuGraphCreate(&graph, 0);
	cuGraphAddKernelNode(&node, graph, NULL, 0, &p);
	cuModuleUnload(module);
	cuModuleLoadData(&other, TEST_HEAD "kernel none params=8\n");
	cuModuleGetFunction(&reused, other, "none");
	assert_ptr_equal(reused, function);
	assert_int_equal(cuGraphInstantiate(&exec, graph, 0), 0);
	assert_int_equal(cuGraphLaunch(exec, f->stream), 0);
	cuStreamSynchronize(f->stream);
	cuMemcpyDtoH(&value, f->memory, sizeof value);
	assert_int_equal(value, 1);
	cuGraphExecDestroy(exec);
	cuGraphDestroy(graph);
	cuModuleUnload(other);
}

TEST_WITH(modules_that_come_and_go_take_no_memory, fixture_make, fixture_drop)
{
	CUmodule module;
	CUfunction function;
	size_t before = 0;
	for (int i = 0; i < 2000; i++) {
		if (i == 1000)
			before = mallinfo2().uordblks;
		assert_int_equal(cuModuleLoadData(&module, TEST_HEAD "kernel come params=8\n"), 0);
		assert_int_equal(cuModuleGetFunction(&function, module, "come"), 0);
		cuModuleUnload(module);
	}
	assert_true(mallinfo2().uordblks < before + 1000);
}

TEST_WITH(a_condition_that_holds_runs_its_body, fixture_make, fixture_drop)
{
	struct fixture *f = *state;
	void *params[] = {&f->memory};
	CUDA_KERNEL_NODE_PARAMS p = node_of(f->increment, params);
	for (unsigned holds = 0; holds < 2; holds++) {
		CUgraphNodeParams c = {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL};
		CUgraphNode node, inner;
		CUgraphExec exec;
		CUgraph graph;
		int value;
		cuMemsetD32(f->memory, 0, 1);
		cuGraphCreate(&graph, 0);
		cuGraphConditionalHandleCreate(&c.conditional.handle, graph, NULL, holds, 0);
		c.conditional.type = CU_GRAPH_COND_TYPE_IF;
		c.conditional.size = 1;
		assert_int_equal(cuGraphAddNode(&node, graph, NULL, NULL, 0, &c), 0);
		assert_int_equal(
			cuGraphAddKernelNode(&inner, c.conditional.phGraph_out[0], NULL, 0, &p), 0);
		cuGraphInstantiate(&exec, graph, 0);
		cuGraphLaunch(exec, f->stream);
		cuStreamSynchronize(f->stream);
		cuMemcpyDtoH(&value, f->memory, sizeof value);
		assert_int_equal(value, holds);
		cuGraphExecDestroy(exec);
		cuGraphDestroy(graph);
	}
}

TEST_WITH(old_launches_take_their_state_from_the_function, fixture_make, fixture_drop)
{
	struct fixture *f = *state;
	int value;
	/* These have no prototype in today's headers' public part: found by name. */
	CUresult (*shape)(CUfunction, int, int, int);
	CUresult (*set)(CUfunction, int, void *, unsigned);
	CUresult (*grid)(CUfunction, int, int);
	void *at[] = {dlsym(RTLD_DEFAULT, "cuFuncSetBlockShape"),
		      dlsym(RTLD_DEFAULT, "cuParamSetv"), dlsym(RTLD_DEFAULT, "cuLaunchGrid")};
	memcpy(&shape, &at[0], sizeof shape);
	memcpy(&set, &at[1], sizeof set);
	memcpy(&grid, &at[2], sizeof grid);
	assert_int_equal(shape(f->increment, 32, 1, 1), 0);
	assert_int_equal(set(f->increment, 0, &f->memory, sizeof f->memory), 0);
	assert_int_equal(grid(f->increment, 3, 2), 0);
	assert_int_equal(grid(f->increment, 0, 2), CUDA_ERROR_INVALID_VALUE);
	cuCtxSynchronize();
	cuMemcpyDtoH(&value, f->memory, sizeof value);
	assert_int_equal(value, 1);
}

TEST_WITH(a_malformed_image_is_refused, fixture_make, fixture_drop)
{
	static const char *const bad[] = {
		"something else",
		TEST_HEAD "kernel\n",
		TEST_HEAD "kernel a regs=x\n",
		TEST_HEAD "kernel a body=unknown\n",
		TEST_HEAD "kernel a body=fill params=8\n",
		TEST_HEAD "kernel a ns=@1 params=8\n",
		TEST_HEAD "kernel a params=99999\n",
	};
	CUmodule module;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(cuModuleLoadData(&module, bad[i]), CUDA_ERROR_INVALID_IMAGE);
}

TEST_WITH(linked_images_hold_all_kernels, fixture_make, fixture_drop)
{
	char one[] = TEST_HEAD "kernel first\n", two[] = TEST_HEAD "kernel second\n";
	CUlinkState link;
	CUmodule module;
	CUfunction function;
	void *image;
	size_t size;
	assert_int_equal(cuLinkCreate(0, NULL, NULL, &link), 0);
	assert_int_equal(
		cuLinkAddData(link, CU_JIT_INPUT_PTX, one, sizeof one, "one", 0, NULL, NULL), 0);
	assert_int_equal(
		cuLinkAddData(link, CU_JIT_INPUT_PTX, two, sizeof two, "two", 0, NULL, NULL), 0);
	assert_int_equal(cuLinkComplete(link, &image, &size), 0);
	assert_int_equal(cuModuleLoadData(&module, image), 0);
	assert_int_equal(cuLinkDestroy(link), 0);
	assert_int_equal(cuModuleGetFunction(&function, module, "first"), 0);
	assert_int_equal(cuModuleGetFunction(&function, module, "second"), 0);
	cuModuleUnload(module);
}

TEST_WITH(the_child_of_a_fork_is_not_initialised, fixture_make, fixture_drop)
{
	int status = 1;
	pid_t child = fork();
	if (child == 0)
		_exit(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED &&
				      cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED
			      ? 0
			      : 1);
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

TEST_WITH(the_device_says_what_it_is, fixture_make, fixture_drop)
{
	char name[64] = "";
	assert_int_equal(cuDeviceGetName(name, sizeof name, 0), 0);
	assert_memory_equal(name, "gpuwatch stand-in", 17);
}

TESTS_MAIN()
