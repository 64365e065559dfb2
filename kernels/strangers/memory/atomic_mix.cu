// SPDX-License-Identifier: Apache-2.0
// Atomics: on one address, on few, spread; aggregated in a warp; compare and swap in double; a hash table; a lock.
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cmath>
#include <set>
#include <vector>

__global__ void countAll(unsigned *c, int n, int addresses) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) atomicAdd(&c[i % addresses], 1u); }
__global__ void countReturned(unsigned *c, unsigned *out, int n, int addresses) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = atomicAdd(&c[(i * 2654435761u >> 12) % addresses], 1u); }
__global__ void aggregated(unsigned *c, const int *v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool hit = i < n && v[i] % 3 == 0;
    unsigned votes = __ballot_sync(~0u, hit);
    if (threadIdx.x % 32 == 0) atomicAdd(c, __popc(votes));
}
__global__ void maxDouble(const double *v, int n, unsigned long long *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long old = *out, seen;
    while (__longlong_as_double(old) < v[i]) {
        seen = atomicCAS(out, old, __double_as_longlong(v[i]));
        if (seen == old) break;
        old = seen;
    }
}
__global__ void insertKeys(const uint32_t *key, int n, uint32_t *table, uint32_t mask, int *distinct)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (uint32_t h = key[i] * 0x9E3779B1u >> 7;; h++) {
        uint32_t old = atomicCAS(&table[h & mask], 0xffffffffu, key[i]);
        if (old == 0xffffffffu) { atomicAdd(distinct, 1); return; }
        if (old == key[i]) return;
    }
}
__global__ void withLock(int *lock, volatile double *balance, int rounds)
{
    if (threadIdx.x) return;
    for (int r = 0; r < rounds; r++) {
        while (atomicExch(lock, 1)) __nanosleep(50);
        __threadfence();
        *balance = *balance + 1;
        __threadfence();
        atomicExch(lock, 0);
    }
}
__global__ void sharedBins(const int *v, int n, unsigned *bins, int used)
{
    __shared__ unsigned s[1024];
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) s[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[v[i] % used], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < used; i += blockDim.x) atomicAdd(&bins[i], s[i]);
}
int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 4000000, loops = argc > 2 ? atoi(argv[2]) : 80, bad = 0, g = (n + 255) / 256;
    std::vector<int> v(n); std::vector<double> d(n); std::vector<uint32_t> k(n);
    for (int i = 0; i < n; i++) { uint32_t h = i * 747796405u + 2891336453u; h ^= h >> 14; h *= 277803737u; h ^= h >> 17; v[i] = h & 0x7fffffff; d[i] = h / 4294967296.; k[i] = h % (n / 3); }
    int *dv, *small; double *dd; uint32_t *dk, *table; unsigned *c, *out;
    uint32_t mask = 1; while (mask < (uint32_t)n) mask <<= 1; mask--;
    cudaMalloc(&dv, 4l * n); cudaMalloc(&dd, 8l * n); cudaMalloc(&dk, 4l * n); cudaMalloc(&table, 4l * (mask + 1)); cudaMalloc(&c, 4 << 20); cudaMalloc(&out, 4l * n); cudaMalloc(&small, 64);
    cudaMemcpy(dv, v.data(), 4l * n, cudaMemcpyHostToDevice); cudaMemcpy(dd, d.data(), 8l * n, cudaMemcpyHostToDevice); cudaMemcpy(dk, k.data(), 4l * n, cudaMemcpyHostToDevice);
    std::vector<unsigned> h(1 << 20);
    auto sum = [&](unsigned count, unsigned long long want) { cudaMemcpy(h.data(), c, 4l * count, cudaMemcpyDeviceToHost); unsigned long long t = 0; for (unsigned i = 0; i < count; i++) t += h[i]; bad += t != want; };
    for (int a : {1, 8, 32, 1000, 1 << 20}) {
        cudaMemset(c, 0, 4 << 20);
        for (int l = 0; l < loops; l++) countAll<<<g, 256>>>(c, n, a);
        sum(a, (unsigned long long)n * loops);
        cudaMemset(c, 0, 4 << 20);
        for (int l = 0; l < loops / 2; l++) countReturned<<<g, 256>>>(c, out, n, a);
        sum(a, (unsigned long long)n * (loops / 2));
    }
    unsigned long long thirds = 0; for (int x : v) thirds += x % 3 == 0;
    cudaMemset(c, 0, 4);
    for (int l = 0; l < loops; l++) aggregated<<<g, 256>>>(c, dv, n);
    sum(1, (unsigned)(thirds * loops));
    double top = 0, gotTop; for (double x : d) top = fmax(top, x);
    for (int l = 0; l < loops; l++) { cudaMemset(small, 0, 64); maxDouble<<<g, 256>>>(dd, n, (unsigned long long *)small); }
    cudaMemcpy(&gotTop, small, 8, cudaMemcpyDeviceToHost); bad += gotTop != top;
    int distinct;
    for (int l = 0; l < loops; l++) { cudaMemset(table, 0xff, 4l * (mask + 1)); cudaMemset(small, 0, 64); insertKeys<<<g, 256>>>(dk, n, table, mask, small); }
    cudaMemcpy(&distinct, small, 4, cudaMemcpyDeviceToHost);
    std::vector<bool> seen(n); int want = 0; for (uint32_t x : k) if (!seen[x]) seen[x] = true, want++;
    bad += distinct != want;
    cudaMemset(small, 0, 64);
    withLock<<<64, 32>>>(small, (double *)small + 2, 20);
    double balance; cudaMemcpy(&balance, (double *)small + 2, 8, cudaMemcpyDeviceToHost); bad += balance != 1280;
    for (int used : {1, 16, 1024}) {
        cudaMemset(c, 0, 4096);
        for (int l = 0; l < loops; l++) sharedBins<<<264, 256>>>(dv, n, c, used);
        sum(used, (unsigned long long)n * loops);
    }
    printf("%d wrong, %s\n", bad, cudaGetErrorString(cudaGetLastError()));
    return bad != 0;
}
