// SPDX-License-Identifier: Apache-2.0
// FP8 (E4M3) with a scale per tensor: amax by atomics, casts, a matrix product from fp8, bf16 and stochastic rounding.
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void amax(const float *x, size_t n, int *out)
{
    float m = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) m = fmaxf(m, fabsf(x[i]));
    atomicMax(out, __float_as_int(m)); // every thread: contended
}
__global__ void to_fp8(const float4 *x, __nv_fp8x4_e4m3 *q, const int *max, size_t n4)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    float s = 448.f / __int_as_float(*max);
    if (i < n4) { float4 v = x[i]; q[i] = __nv_fp8x4_e4m3(make_float4(v.x * s, v.y * s, v.z * s, v.w * s)); }
}
__global__ void from_fp8(const __nv_fp8x4_e4m3 *q, float4 *x, const int *max, size_t n4)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    float s = __int_as_float(*max) / 448.f;
    if (i < n4) { float4 v = float4(q[i]); x[i] = make_float4(v.x * s, v.y * s, v.z * s, v.w * s); }
}
__global__ void matmul_fp8(const __nv_fp8_e4m3 *a, const __nv_fp8_e4m3 *b, float *c, int n) // b by columns
{
    __shared__ float sa[32][33], sb[32][33];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 32, col = blockIdx.x * 32;
    float acc[4] = {};
    for (int t = 0; t < n; t += 32) {
        for (int r = y; r < 32; r += 8) {
            sa[r][x] = float(a[(size_t)(row + r) * n + t + x]);
            sb[r][x] = float(b[(size_t)(col + r) * n + t + x]);
        }
        __syncthreads();
        for (int k = 0; k < 32; k++)
            for (int r = 0; r < 4; r++) acc[r] += sa[y + 8 * r][k] * sb[x][k];
        __syncthreads();
    }
    for (int r = 0; r < 4; r++) c[(size_t)(row + y + 8 * r) * n + col + x] = acc[r];
}
__global__ void stochastic_bf16(const float *x, __nv_bfloat16 *out, size_t n, unsigned seed)
{
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned h = (unsigned)i * 2654435761u ^ seed;
    h ^= h >> 16; h *= 0x85ebca6b; h ^= h >> 13;
    unsigned bits = __float_as_uint(x[i]) + (h & 0xffff);
    out[i] = __ushort_as_bfloat16((unsigned short)(bits >> 16));
}
__global__ void error_sum(const float *x, const float *y, size_t n, double *sum)
{
    double e = 0;
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) e += fabs((double)x[i] - y[i]);
    for (int d = 16; d; d >>= 1) e += __shfl_xor_sync(~0u, e, d);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, e);
}
int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 2048, loops = argc > 2 ? atoi(argv[2]) : 300;
    size_t nn = (size_t)n * n;
    std::vector<float> a(nn), c(nn), back(nn);
    std::vector<__nv_bfloat16> bf(nn);
    unsigned s = 21;
    for (auto &v : a) { s = s * 1103515245 + 12345; v = ((int)(s >> 9) - 4194304) / 4194304.f * (1 + (s >> 29)); }
    float *da, *db, *dc; __nv_fp8x4_e4m3 *q; __nv_bfloat16 *dbf; int *max; double *sum, err;
    if (cudaMalloc(&da, 4 * nn) || cudaMalloc(&db, 4 * nn) || cudaMalloc(&dc, 4 * nn) || cudaMalloc(&q, nn) || cudaMalloc(&dbf, 2 * nn) || cudaMalloc(&max, 4) || cudaMalloc(&sum, 8)) return 2;
    cudaMemcpy(da, a.data(), 4 * nn, cudaMemcpyHostToDevice);
    for (int l = 0; l < loops; l++) {
        cudaMemsetAsync(max, 0, 4); cudaMemsetAsync(sum, 0, 8);
        amax<<<264, 256>>>(da, nn, max);
        to_fp8<<<(nn / 4 + 255) / 256, 256>>>((float4 *)da, q, max, nn / 4);
        from_fp8<<<(nn / 4 + 255) / 256, 256>>>(q, (float4 *)db, max, nn / 4);
        error_sum<<<264, 256>>>(da, db, nn, sum);
        matmul_fp8<<<dim3(n / 32, n / 32), dim3(32, 8)>>>((__nv_fp8_e4m3 *)q, (__nv_fp8_e4m3 *)q, dc, n);
        stochastic_bf16<<<(nn + 255) / 256, 256>>>(da, dbf, nn, l);
    }
    cudaMemcpy(c.data(), dc, 4 * nn, cudaMemcpyDeviceToHost); cudaMemcpy(back.data(), db, 4 * nn, cudaMemcpyDeviceToHost);
    cudaMemcpy(bf.data(), dbf, 2 * nn, cudaMemcpyDeviceToHost); cudaMemcpy(&err, sum, 8, cudaMemcpyDeviceToHost);
    float top = 0;
    for (float v : a) top = fmaxf(top, fabsf(v));
    double drift = 0; int wrong = 0;
    for (size_t i = 0; i < nn; i++) {
        wrong += fabsf(back[i] - a[i]) > fabsf(a[i]) / 15 + top / 448 / 256;
        drift += __bfloat162float(bf[i]) - a[i];
    }
    float scale = top / 448;
    for (int t = 0; t < 100; t++) {
        size_t i = t * 613 % n, j = t * 421 % n;
        double e = 0, size = 0;
        for (int k = 0; k < n; k++) { double p = (double)back[i * n + k] * back[j * n + k]; e += p; size += fabs(p); }
        wrong += fabs(e - (double)c[i * n + j] * scale * scale) > 1e-4 * size;
    }
    printf("mean error %g, drift %g, wrong %d, %s\n", err / nn, drift / nn, wrong, cudaGetErrorString(cudaGetLastError()));
    return wrong || fabs(drift / nn) > 1e-3;
}
