// SPDX-License-Identifier: Apache-2.0
// Kernels that launch kernels: a quicksort whose partitions launch their halves, and an adaptive integral.
// Needs relocatable device code.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <algorithm>
#include <vector>

__global__ void selectionSort(int *a, int left, int right)
{
    for (int i = left; i <= right; i++) {
        int least = i;
        for (int j = i + 1; j <= right; j++) if (a[j] < a[least]) least = j;
        int t = a[i]; a[i] = a[least]; a[least] = t;
    }
}
__global__ void quicksort(int *a, int left, int right, int depth)
{
    if (depth >= 16 || right - left <= 48) { selectionSort<<<1, 1, 0, cudaStreamFireAndForget>>>(a, left, right); return; }
    int pivot = a[(left + right) / 2], i = left, j = right;
    while (i <= j) {
        while (a[i] < pivot) i++;
        while (a[j] > pivot) j--;
        if (i <= j) { int t = a[i]; a[i++] = a[j]; a[j--] = t; }
    }
    if (left < j) quicksort<<<1, 1, 0, cudaStreamFireAndForget>>>(a, left, j, depth + 1);
    if (i < right) quicksort<<<1, 1, 0, cudaStreamFireAndForget>>>(a, i, right, depth + 1);
}
__device__ double f(double x) { return sin(1 / (x + 0.01)) + 1; }
__global__ void integrate(double a, double b, int depth, double *sum) // Simpson; launches itself where it is rough
{
    int i = threadIdx.x;
    double h = (b - a) / blockDim.x, x = a + i * h, m = x + h / 2;
    double whole = h / 6 * (f(x) + 4 * f(m) + f(x + h));
    double halves = h / 12 * (f(x) + 4 * f(x + h / 4) + 2 * f(m) + 4 * f(x + 3 * h / 4) + f(x + h));
    if (fabs(whole - halves) > 1e-9 * h && depth < 4) integrate<<<1, 32, 0, cudaStreamFireAndForget>>>(x, x + h, depth + 1, sum);
    else atomicAdd(sum, halves);
}
__global__ void scatterSeeds(int *a, int n, unsigned seed) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { unsigned h = (i + seed) * 2654435761u; h ^= h >> 15; h *= 0x2c1b3c6d; a[i] = (h ^ h >> 12) & 0xffffff; } }

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 50000, rounds = argc > 2 ? atoi(argv[2]) : 120, bad = 0, *d;
    double *sum, s = 0;
    cudaMalloc(&d, 4 * n); cudaMalloc(&sum, 8);
    std::vector<int> h(n), before(n);
    for (int r = 0; r < rounds; r++) {
        scatterSeeds<<<(n + 255) / 256, 256>>>(d, n, r);
        cudaMemcpy(before.data(), d, 4 * n, cudaMemcpyDeviceToHost);
        quicksort<<<1, 1>>>(d, 0, n - 1, 0);
        if (cudaDeviceSynchronize()) { puts(cudaGetErrorString(cudaGetLastError())); return 2; }
        cudaMemcpy(h.data(), d, 4 * n, cudaMemcpyDeviceToHost);
        std::sort(before.begin(), before.end());
        bad += h != before;
        cudaMemset(sum, 0, 8);
        integrate<<<1, 32>>>(0, 1, 0, sum);
        cudaMemcpy(&s, sum, 8, cudaMemcpyDeviceToHost);
    }
    double want = 0;
    const int steps = 4000000;
    for (int i = 0; i < steps; i++) { double x = (i + 0.5) / steps; want += (sin(1 / (x + 0.01)) + 1) / steps; }
    printf("%d sorts wrong, integral %.9f, expected %.9f\n", bad, s, want);
    return bad || !(fabs(s - want) < 1e-6);
}
