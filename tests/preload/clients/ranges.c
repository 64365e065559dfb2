/* Programs that name ranges of their run, by NVTX's own headers. */
#include "client.h"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>

static nvtxEventAttributes_t attributes(int type)
{
	return (nvtxEventAttributes_t){.version = NVTX_VERSION,
				       .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
				       .messageType = type};
}

static void nested(void)
{
	client_start();
	client_launch(1, 4);
	nvtxRangePushA("step");
	client_launch(1, 3);
	nvtxRangePushA("inner");
	client_launch(1, 2);
	nvtxRangePop();
	client_launch(1, 5);
	nvtxRangePop();
	client_launch(1, 1);
	CK(cuCtxSynchronize());
}

static void kinds_of_names(void)
{
	nvtxEventAttributes_t ascii = attributes(NVTX_MESSAGE_TYPE_ASCII);
	nvtxEventAttributes_t wide = attributes(NVTX_MESSAGE_TYPE_UNICODE);
	nvtxEventAttributes_t known = attributes(NVTX_MESSAGE_TYPE_REGISTERED);
	nvtxDomainHandle_t domain = nvtxDomainCreateA("layers");
	nvtxEventAttributes_t none = {0};

	client_start();
	ascii.message.ascii = "plain";
	wide.message.unicode = L"gr\u00f6\u00dfe";
	known.message.registered = nvtxDomainRegisterStringA(domain, "conv");
	nvtxRangePushEx(&ascii);
	client_launch(1, 1);
	nvtxDomainRangePushEx(domain, &known);
	client_launch(1, 2);
	nvtxDomainRangePop(domain);
	nvtxRangePop();
	nvtxRangePushEx(&wide);
	client_launch(1, 3);
	nvtxRangePop();
	nvtxRangePushA(NULL);
	client_launch(1, 4);
	nvtxRangePop();
	nvtxRangePushEx(&none);
	client_launch(1, 5);
	nvtxRangePop();
	nvtxRangePop(); /* one too many */
	client_launch(1, 6);
	CK(cuCtxSynchronize());
}

static void numbered(void)
{
	client_start();
	for (int i = 0; i < 10; i++) {
		char name[64];

		snprintf(name, sizeof(name), "aten::add, seq = %d, op_id = %d", i, 2 * i);
		nvtxRangePushA(name);
		client_launch(1, 1);
		nvtxRangePop();
		snprintf(name, sizeof(name), "aten::mul, op_id = %d", i);
		nvtxRangePushA(name);
		client_launch(1, 2);
		nvtxRangePop();
	}
	CK(cuCtxSynchronize());
}

static nvtxRangeId_t epoch;

static void *end_epoch(void *unused)
{
	(void)unused;
	nvtxRangeEnd(epoch);
	return NULL;
}

static void of_the_process(void)
{
	pthread_t thread;

	client_start();
	client_launch(1, 1);
	epoch = nvtxRangeStartA("epoch");
	client_launch(1, 2);
	nvtxRangePushA("step");
	client_launch(1, 3);
	nvtxRangePop();
	client_launch(1, 4);
	client_nap(20);
	pthread_create(&thread, NULL, end_epoch, NULL);
	pthread_join(thread, NULL);
	client_nap(20);
	client_launch(1, 5);
	CK(cuCtxSynchronize());
}

/* More names than anybody keeps. */
static void many(void)
{
	client_start();
	for (int i = 0; i < 20000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "step %d", i);
		nvtxRangePushA(name);
		client_launch(1, 1);
		nvtxRangePop();
		if (i % 1000 == 0)
			client_nap(2);
	}
	nvtxRangePushA("step 0");
	client_launch(1, 7);
	nvtxRangePop();
	CK(cuCtxSynchronize());
}

static void *only_names(void *unused)
{
	(void)unused;
	for (int i = 0; i < 30; i++)
		nvtxRangePushA("loading");
	for (int i = 0; i < 30; i++)
		nvtxRangePop();
	nvtxRangePushA("loading");
	return NULL;
}

/* A thread that only names ranges; one that launches later on, after ranges that it has left. */
static void before_a_launch(void)
{
	pthread_t thread;

	client_start();
	nvtxRangePushA("outer");
	nvtxRangePushA("left");
	nvtxRangePop();
	nvtxRangePushA("entered");
	pthread_create(&thread, NULL, only_names, NULL);
	pthread_join(thread, NULL);
	client_launch(1, 3);
	nvtxRangePop();
	client_launch(1, 2);
	nvtxRangePop();
	client_launch(1, 1);
	CK(cuCtxSynchronize());
}

/* What a push returns is what it returns without a tool. */
static void levels(void)
{
	client_start();
	client_launch(1, 1);
	printf("%d", nvtxRangePushA("a"));
	printf(" %d", nvtxRangePop());
	printf(" %d\n", nvtxRangePop());
	CK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	static const struct scenario list[] = {{"nested", nested},
					       {"kinds_of_names", kinds_of_names},
					       {"of_the_process", of_the_process},
					       {"many", many},
					       {"numbered", numbered},
					       {"levels", levels},
					       {"before_a_launch", before_a_launch},
					       {NULL, NULL}};

	return client_main(argc, argv, list);
}
