// SPDX-License-Identifier: Apache-2.0
// One kernel, once: how many of the numbers up to N are prime, by trial division, and the longest Collatz path.
#include <stdio.h>
#include <stdlib.h>
#define N_TEST 2000000

__global__ void numbers(unsigned n, unsigned long long *out)
{
    unsigned long long primes = 0, best = 0;
    for (unsigned v = blockIdx.x * blockDim.x + threadIdx.x + 2; v < n; v += gridDim.x * blockDim.x) {
        bool prime = v == 2 || v % 2;
        for (unsigned d = 3; prime && d <= v / d; d += 2) prime = v % d != 0;
        primes += prime;
        unsigned long long x = v; unsigned steps = 0;
        while (x != 1) { x = x & 1 ? 3 * x + 1 : x >> 1; steps++; }
        unsigned long long key = (unsigned long long)steps << 32 | (0xffffffffu - v);
        best = key > best ? key : best;
    }
    atomicAdd(&out[0], primes);
    atomicMax(&out[1], best);
}

int main(int argc, char **argv)
{
    unsigned n = argc > 1 ? strtoul(argv[1], 0, 10) : 100000000u;
    unsigned long long *d, h[2];
    cudaMalloc(&d, 16);
    cudaMemset(d, 0, 16);
    numbers<<<2112, 128>>>(n, d);
    if (cudaMemcpy(h, d, 16, cudaMemcpyDeviceToHost) != cudaSuccess) { printf("failed\n"); return 2; }
    printf("%llu primes, longest path %llu from %u\n", h[0], h[1] >> 32, 0xffffffffu - (unsigned)h[1]);
    unsigned most = 0; unsigned long long count = 0;
    unsigned up = n < N_TEST ? n : N_TEST;
    char *sieve = (char *)calloc(n, 1);
    for (unsigned v = 2; v < n; v++) if (!sieve[v]) { count++; for (unsigned long long m = (unsigned long long)v * v; m < n; m += v) sieve[m] = 1; }
    for (unsigned v = 2; v < up; v++) { unsigned long long x = v; unsigned s = 0; while (x != 1) { x = x & 1 ? 3 * x + 1 : x / 2; s++; } if (s > most) most = s; }
    return !(count == h[0] && (h[1] >> 32) >= most);
}
