// SPDX-License-Identifier: Apache-2.0
// All pairs' shortest paths: a launch for each k, and blocked in three phases; several sizes.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
const int B = 32;

__global__ void fwNaive(int *d, int n, int k)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) d[i * n + j] = min(d[i * n + j], d[i * n + k] + d[k * n + j]);
}

__global__ void fwDiagonal(int *d, int n, int b)
{
    __shared__ int s[B][B];
    int x = threadIdx.x, y = threadIdx.y, at = (b * B + y) * n + b * B + x;
    s[y][x] = d[at];
    for (int k = 0; k < B; k++) {
        __syncthreads();
        int v = s[y][k] + s[k][x];
        __syncthreads();
        if (v < s[y][x]) s[y][x] = v;
    }
    d[at] = s[y][x];
}

__global__ void fwCross(int *d, int n, int b)
{
    __shared__ int pivot[B][B], mine[B][B];
    int o = blockIdx.x, x = threadIdx.x, y = threadIdx.y;
    if (o == b) return;
    bool row = blockIdx.y == 0;
    int at = row ? (b * B + y) * n + o * B + x : (o * B + y) * n + b * B + x;
    pivot[y][x] = d[(b * B + y) * n + b * B + x];
    mine[y][x] = d[at];
    for (int k = 0; k < B; k++) {
        __syncthreads();
        int v = row ? pivot[y][k] + mine[k][x] : mine[y][k] + pivot[k][x];
        __syncthreads();
        if (v < mine[y][x]) mine[y][x] = v;
    }
    d[at] = mine[y][x];
}

__global__ void fwRest(int *d, int n, int b)
{
    __shared__ int left[B][B], top[B][B];
    int bi = blockIdx.y, bj = blockIdx.x, x = threadIdx.x, y = threadIdx.y;
    if (bi == b || bj == b) return;
    left[y][x] = d[(bi * B + y) * n + b * B + x];
    top[y][x] = d[(b * B + y) * n + bj * B + x];
    __syncthreads();
    int v = d[(bi * B + y) * n + bj * B + x];
#pragma unroll 8
    for (int k = 0; k < B; k++) v = min(v, left[y][k] + top[k][x]);
    d[(bi * B + y) * n + bj * B + x] = v;
}

int main(int argc, char **argv)
{
    int most = argc > 1 ? atoi(argv[1]) : 4096, bad = 0;
    for (int n = 256; n <= most; n += n / 2 / B * B) {
        std::vector<int> h((size_t)n * n), a(h.size()), b(h.size());
        srand(n);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) h[i * n + j] = i == j ? 0 : rand() % 8 == 0 ? 1 + rand() % 1000 : 100000;
        int *d;
        size_t bytes = 4ul * n * n;
        if (cudaMalloc(&d, bytes)) return 2;
        cudaMemcpy(d, h.data(), bytes, cudaMemcpyHostToDevice);
        for (int k = 0; k < n; k++) fwNaive<<<dim3((n + 31) / 32, (n + 7) / 8), dim3(32, 8)>>>(d, n, k);
        cudaMemcpy(a.data(), d, bytes, cudaMemcpyDeviceToHost);
        for (int r = 0; r < 10; r++) {
            cudaMemcpy(d, h.data(), bytes, cudaMemcpyHostToDevice);
            for (int k = 0; k < n / B; k++) {
                fwDiagonal<<<1, dim3(B, B)>>>(d, n, k);
                fwCross<<<dim3(n / B, 2), dim3(B, B)>>>(d, n, k);
                fwRest<<<dim3(n / B, n / B), dim3(B, B)>>>(d, n, k);
            }
        }
        cudaMemcpy(b.data(), d, bytes, cudaMemcpyDeviceToHost);
        bad += memcmp(a.data(), b.data(), bytes) != 0;
        std::vector<int> dist(n, 1 << 29); // one source by Dijkstra, O(n^2)
        std::vector<bool> done(n);
        dist[0] = 0;
        for (int step = 0; step < n; step++) {
            int u = -1;
            for (int v = 0; v < n; v++) if (!done[v] && (u < 0 || dist[v] < dist[u])) u = v;
            done[u] = true;
            for (int v = 0; v < n; v++) if (dist[u] + h[u * n + v] < dist[v]) dist[v] = dist[u] + h[u * n + v];
        }
        bad += memcmp(dist.data(), a.data(), 4 * n) != 0;
        cudaFree(d);
    }
    printf("%d disagreements, %s\n", bad, cudaGetErrorString(cudaGetLastError()));
    return bad != 0;
}
