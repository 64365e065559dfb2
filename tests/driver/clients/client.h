/* What the client programs share: one check macro and the image their kernels come from. */
#ifndef GW_TESTS_DRIVER_CLIENT_H
#define GW_TESTS_DRIVER_CLIENT_H

#include "tasks.h"

#include <cuda.h>

#define CK(call) CHECK_CALL(call, 1)

#define CLIENT_IMAGE \
	"gpuwatch-stand-in-module\n" \
	"kernel empty ns=800\n" \
	"kernel vector_add regs=24 ns=2000 block_ns=10 params=8,8,8,4 body=vector_add\n" \
	"kernel fill regs=18 ns=1200 params=8,4,4 body=fill\n" \
	"kernel increment regs=12 ns=1000 params=8 body=increment\n" \
	"kernel one ns=900 params=8 body=set_one\n" \
	"kernel two ns=900 params=8 body=set_two\n" \
	"kernel spin ns=@0 params=8 body=spin\n"

/* Device 0 and its primary context, made current. */
static inline CUcontext client_start(void)
{
	CUcontext ctx;
	CUdevice dev;
	CK(cuInit(0));
	CK(cuDeviceGet(&dev, 0));
	CK(cuDevicePrimaryCtxRetain(&ctx, dev));
	CK(cuCtxSetCurrent(ctx));
	return ctx;
}

#endif
