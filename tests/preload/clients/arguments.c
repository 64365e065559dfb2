/*
 * One grid of one kernel, whose trip count is an argument and, on the stand-in, its time as well:
 * tests/code/kernels.cu's powers(x, n) runs for n nanoseconds.
 */
#include "nodes.h"

static CUfunction powers;

static void load(void)
{
	CK(cuInit(0));
	CK(cuDevicePrimaryCtxRetain(&client_context, 0));
	CK(cuCtxSetCurrent(client_context));
	CK(cuModuleLoadData(&client_module, client_image()));
	powers = client_function("powers");
}

/* The stand-in takes eight bytes for its time, the kernel four. */
static void launch(uint64_t n)
{
	CUdeviceptr x = 0x700000000000;
	void *params[] = {&x, &n};

	CK(cuLaunchKernel(powers, 4, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
}

/* Time for the worker to read the code and to publish what it learnt. */
static void settle(unsigned ms)
{
	CK(cuCtxSynchronize());
	client_nap(ms);
}

/* Three lengths in turn, over and over. */
static void turns(void)
{
	load();
	launch(20000);
	settle(250);
	for (unsigned round = 0; round < 40; round++) {
		for (unsigned i = 0; i < 3; i++)
			launch(UINT64_C(20000) << 2 * i);
		settle(round < 5 ? 120 : 30);
	}
	puts("turns");
}

/* Five lengths from the first launch on, each several times, then all of them over and over. */
static void sweep(void)
{
	load();
	for (unsigned round = 0; round < 30; round++) {
		for (unsigned i = 0; i < 5; i++)
			for (unsigned again = 0; again < (round ? 1 : 4); again++)
				launch(UINT64_C(10000) << i);
		settle(20);
	}
	puts("a sweep");
}

/* The same arguments all the time. */
static void alike(void)
{
	load();
	for (unsigned round = 0; round < 40; round++) {
		launch(30000);
		settle(20);
	}
	puts("alike");
}

/* A number that never comes back and decides next to nothing. */
static void counter(void)
{
	load();
	launch(50000);
	settle(250);
	for (unsigned i = 0; i < 120; i++) {
		launch(50001 + i);
		settle(4);
	}
	settle(200);
	for (unsigned i = 0; i < 20; i++) {
		launch(50200 + i);
		settle(20);
	}
	puts("counter");
}

/* saxpy(n, factor, x, y), whose factor changes at every launch and decides nothing. */
static void factors(void)
{
	CUdeviceptr x = 0x700000000000, y = 0x710000000000;
	CUfunction saxpy;
	int n = 512;

	load();
	saxpy = client_function("_Z5saxpyifPKfPf");
	for (unsigned i = 0; i < 60; i++) {
		float factor = (float)i;
		void *params[] = {&n, &factor, &x, &y};

		CK(cuLaunchKernel(saxpy, 4, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
		if (i >= 30)
			settle(20);
	}
	puts("factors");
}

/* A place in up to two dimensions. */
static const char dims_ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry dims(.param .u64 x, .param .u32 n, .param .u32 s0, .param .u32 s1)\n"
	"{\n.reg .pred p;\n.reg .u32 t, d, s, at;\n.reg .u64 a, wide;\n"
	"ld.param.u64 a, [x];\nld.param.u32 d, [n];\nmov.u32 t, %tid.x;\n"
	"ld.param.u32 s, [s0];\nmul.lo.u32 at, t, s;\nsetp.lt.u32 p, d, 2;\n@p bra out;\n"
	"ld.param.u32 s, [s1];\nmad.lo.u32 at, t, s, at;\nout:\nmul.wide.u32 wide, at, 4;\n"
	"add.u64 a, a, wide;\nst.global.u32 [a], t;\nret;\n}\n";

/* It has one dimension: the other's stride holds what the stack left there, now and then another
 * number. */
static void unset(void)
{
	CUdeviceptr x = 0x700000000000;
	uint32_t n = 1, strides[] = {1, 5};
	void *params[] = {&x, &n, &strides[0], &strides[1]};

	CK(cuInit(0));
	CK(cuDevicePrimaryCtxRetain(&client_context, 0));
	CK(cuCtxSetCurrent(client_context));
	CK(cuModuleLoadData(&client_module, dims_ptx));
	powers = client_function("dims");
	for (unsigned i = 0; i < 300; i++) {
		strides[1] = i % 5 ? 5 : 100 + i;
		CK(cuLaunchKernel(powers, 4, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
		settle(i ? 4 : 250);
	}
	puts("strides");
}

/* Laid out by the program, whole, and cut off before the number. */
static void buffer(void)
{
	unsigned char bytes[16] = {0};
	size_t size = 12, shorter = 8;
	void *whole[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			 CU_LAUNCH_PARAM_END};
	void *cut[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, &shorter,
		       CU_LAUNCH_PARAM_END};

	bytes[9] = 100; /* 25600 */
	load();
	launch(25600);
	settle(250);
	launch(25600);
	CK(cuLaunchKernel(powers, 4, 1, 1, 128, 1, 1, 0, NULL, NULL, whole));
	CK(cuLaunchKernel(powers, 4, 1, 1, 128, 1, 1, 0, NULL, NULL, cut));
	settle(100);
	puts("buffers");
}

/* By the call of CUDA 12 on, by the one for nodes of any kind, or by the one before CUDA 12. */
enum set_way { SET, SET_ANY, SET_OLD };

static void set(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p,
		enum set_way way)
{
	CUgraphNodeParams any = node_params_any(p);

	if (way == SET_ANY)
		CK(cuGraphExecNodeSetParams(exec, node, &any));
	else if (way == SET_OLD)
		CK(set_node_v1(exec, node, p));
	else
		CK(cuGraphExecKernelNodeSetParams(exec, node, p));
}

/* A graph of two nodes that differ in the number, one of which is changed later on. */
static void graph_changed(enum set_way way)
{
	CUdeviceptr x = 0x700000000000;
	uint64_t n[] = {10000, 40000, 160000};
	void *params[3][2] = {{&x, &n[0]}, {&x, &n[1]}, {&x, &n[2]}};
	CUDA_KERNEL_NODE_PARAMS p;
	CUgraph g;
	CUgraphNode node[2];
	CUgraphExec exec;

	load();
	launch(10000);
	settle(250);
	p = node_params(powers, NULL, 4, 128);
	CK(cuGraphCreate(&g, 0));
	for (unsigned i = 0; i < 2; i++) {
		p.kernelParams = params[i];
		CK(cuGraphAddKernelNode(&node[i], g, NULL, 0, &p));
	}
	CK(cuGraphInstantiateWithFlags(&exec, g, 0));
	for (unsigned i = 0; i < 20; i++) {
		if (i == 10) {
			p.kernelParams = params[2];
			set(exec, node[1], &p, way);
		}
		CK(cuGraphLaunch(exec, NULL));
		settle(30);
	}
	puts("a graph");
}

static void graph(void)
{
	graph_changed(SET);
}

static void graph_any(void)
{
	graph_changed(SET_ANY);
}

static void graph_old(void)
{
	graph_changed(SET_OLD);
}

int main(int argc, char **argv)
{
	static const struct scenario list[] = {
		{"turns", turns},
		{"sweep", sweep},
		{"alike", alike},
		{"counter", counter},
		{"factors", factors},
		{"buffer", buffer},
		{"graph", graph},
		{"graph_any", graph_any},
		{"graph_old", graph_old},
		{"unset", unset},
		{NULL, NULL},
	};

	return client_main(argc, argv, list);
}
