// SPDX-License-Identifier: Apache-2.0
// Arithmetic of every width: what the decoder's classes are checked on.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

extern "C" __global__ void fp32_ops(float *a, const float *b, float s, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	float x = b[i], y = b[i + n];
	float r = x * y + s;
	r = r + x;
	r = r * s;
	r = fminf(r, y);
	r = x > y ? r : -r;
	r = fabsf(r) - y * 3.0f;
	r = __saturatef(r);
	r += (x < s) + (y >= s ? 1.0f : 0.0f);
	a[i] = r + x / y + sqrtf(y) + fmaf(x, x, r);
}

extern "C" __global__ void fp32_special(float *a, const float *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	float x = b[i];
	a[i] = __sinf(x) + __cosf(x) + __expf(x) + __logf(x) + rsqrtf(x) + __frcp_rn(x) +
	       tanhf(x) + sinf(x) + powf(x, 1.7f) + erff(x) + cbrtf(x);
}

extern "C" __global__ void fp64_ops(double *a, const double *b, double s, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	double x = b[i], y = b[i + n];
	double r = x * y + s;
	r = r + x;
	r = r * y;
	r = x > y ? r : fmin(r, s);
	a[i] = r / y + sqrt(x) + exp(r);
	a[i + n] = sin(x);
}

extern "C" __global__ void half_ops(__half2 *a, const __half2 *b, __half2 s, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	__half2 x = b[i], y = b[i + n];
	__half2 r = __hfma2(x, y, s);
	r = __hadd2(r, x);
	r = __hmul2(r, y);
	r = __hmax2(__hmin2(r, x), s);
	if (__hbgt2(x, y))
		r = h2exp2(r);
	r = __hadd2(r, __hgt2(x, y));
	r = h2sqrt(__habs2(r));
	r = __hadd2(r, h2rcp(x));
	if (__heq(__low2half(x), __high2half(y)))
		r = __hneg2(r);
	a[i] = r;
}

#if __CUDA_ARCH__ >= 800
extern "C" __global__ void bf16_ops(__nv_bfloat162 *a, const __nv_bfloat162 *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	__nv_bfloat162 x = b[i], y = b[i + n];
	__nv_bfloat162 r = __hfma2(x, y, x);
	r = __hadd2(r, x);
	r = __hmul2(r, y);
	r = __hmax2(r, x);
	if (__hblt2(x, y))
		r = __hmin2(r, y);
	a[i] = r;
}
#endif

extern "C" __global__ void int_ops(int *a, const int *b, int s, unsigned u, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	int x = b[i], y = b[i + n];
	int r = x * y + s;
	r += min(x, y) + max(x, s);
	r ^= (x & y) | ~s;
	r += __popc(x) + __clz(y) + __ffs(r) + __brev(x);
	r = __byte_perm(r, y, 0x5140);
	r += x << (y & 31);
	r += (unsigned)x >> (s & 31);
	r += __funnelshift_l(x, y, s);
	r += abs(x - y) + __sad(x, y, u);
	r += x / 7 + (unsigned)y / u + x % s;
	r += __mulhi(x, y) + __umulhi(x, u) + __mul24(x, y);
	r += __dp4a(x, y, r) + __dp2a_lo(x, y, r);
	r += __vadd4(x, y) + __vabsdiffu4(x, y) + __viaddmax_s32(x, y, s) + __vimin3_s32(x, y, s);
	r = x > y ? r : s;
	a[i] = r + (((unsigned)x >> 3) & 0xff) + (x == 4) * 9;
}

extern "C" __global__ void int64_ops(long long *a, const long long *b, long long s, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	long long x = b[i], y = b[i + n];
	long long r = x * y + s;
	r += x >> (s & 63);
	r ^= (unsigned long long)y >> 7;
	r = x < y ? r : s - r;
	r += x / y + __mul64hi(x, y);
	r += __popcll(x) + __clzll(y);
	a[i] = r + (x << 9) + min(x, y);
}

extern "C" __global__ void conversions(double *d, float *f, int *k, const short *sh,
                                       const unsigned char *c, __half *h, __nv_bfloat16 *bf,
                                       long long *l, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	d[i] += f[i] + (double)k[i] + (double)l[i];
	f[i] = (float)d[i] + (float)sh[i] + (float)c[i] + __half2float(h[i]) +
	       __bfloat162float(bf[i]) + (float)k[i] + (float)l[i] + (float)(unsigned)k[i];
	k[i] = (int)f[i] + (int)d[i] + (int)(unsigned char)(f[i + 1]) + __float2int_rn(f[i + 2]);
	l[i] = (long long)f[i] + (long long)d[i] + (unsigned)(f[i + 3]);
	h[i] = __float2half(f[i] * 2);
	bf[i] = __float2bfloat16(f[i] * 3);
	h[i + n] = __double2half(d[i]);
	h[i + 2 * n] = __int2half_rn(k[i]);
	k[i + n] = __half2int_rz(h[i]);
	f[i + n] = floorf(f[i]) + rintf(f[i + 1]) + truncf(f[i + 2]) + ceilf(f[i + 3]);
	d[i + n] = floor(d[i]);
	c = c + i;
	k[i + 2 * n] = (signed char)min(max(k[i], -128), 127) + __float2uint_rz(f[i]);
}

extern "C" __global__ void predicates(int *a, const int *b, float f, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	bool p = b[i] > 3, q = b[i + 1] < n, r = f > 2.0f;
	bool t = (p && q) || (!r && b[i + 2] == 7);
	if (t != p)
		a[i] = (p ^ q) ? (r | t) : 5;
	if (__syncthreads_or(q))
		a[i + n] = t;
	a[i + 2 * n] = __syncthreads_count(p) + __syncthreads_and(r);
}
