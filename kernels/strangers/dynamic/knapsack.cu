// SPDX-License-Identifier: Apache-2.0
/* 0/1 knapsack: a launch to an item at one and the same grid, only arguments change. Then coins (unbounded,
   in chunks of residues) and the longest increasing subsequence in one block. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <algorithm>
#include <vector>

__global__ void item(const int *from, int *to, int capacity, int weight, int value)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c > capacity) return;
    int best = from[c];
    if (c >= weight) best = max(best, from[c - weight] + value);
    to[c] = best;
}

__global__ void coin(unsigned *ways, int amount, int value)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= value) return;
    for (int a = r + value; a <= amount; a += value) ways[a] += ways[a - value]; // a serial chain for each residue
}

__global__ void increasing(const int *v, int n, int *longest)
{
    extern __shared__ int tails[];
    __shared__ int length;
    if (threadIdx.x == 0) length = 0;
    __syncthreads();
    for (int i = 0; i < n; i++) {
        int x = v[i], len = length;
        // all threads look for the first tail that is not below x
        for (int base = 0; base <= len; base += blockDim.x) {
            int k = base + threadIdx.x;
            bool here = k <= len && (k == len || tails[k] >= x) && (k == 0 || tails[k - 1] < x);
            __syncthreads();
            if (here) {
                tails[k] = x;
                if (k == len) length = len + 1;
            }
            __syncthreads();
        }
    }
    if (threadIdx.x == 0) *longest = length;
}

int main(int argc, char **argv)
{
    int capacity = argc > 1 ? atoi(argv[1]) : 20000000, items = argc > 2 ? atoi(argv[2]) : 6000, n = 4000;
    std::vector<int> w(items), v(items), h(capacity + 1), seq(n);
    srand(8);
    for (int i = 0; i < items; i++) w[i] = 1 + rand() % (i % 3 ? 1000 : 50000), v[i] = 1 + rand() % 1000;
    for (int &x : seq) x = rand() % 100000;
    int *a, *b, *dseq, *longest, got = 0;
    unsigned *ways, gotWays;
    cudaMalloc(&a, 4 * (capacity + 1)); cudaMalloc(&b, 4 * (capacity + 1)); cudaMalloc(&ways, 4 * (capacity + 1)); cudaMalloc(&dseq, 4 * n); cudaMalloc(&longest, 4);
    cudaMemset(a, 0, 4 * (capacity + 1));
    for (int i = 0; i < items; i++) {
        item<<<(capacity + 256) / 256, 256>>>(a, b, capacity, w[i], v[i]);
        std::swap(a, b);
    }
    cudaMemcpy(h.data(), a, 4 * (capacity + 1), cudaMemcpyDeviceToHost);
    int small = 5000, wrong = 0;
    std::vector<int> ref(small + 1, 0);
    for (int i = 0; i < items; i++) for (int c = small; c >= w[i]; c--) ref[c] = std::max(ref[c], ref[c - w[i]] + v[i]);
    for (int c = 0; c <= small; c++) wrong += ref[c] != h[c];
    for (int c = 1; c <= capacity; c++) wrong += h[c] < h[c - 1];
    std::vector<unsigned> rw(capacity + 1, 0), gw(capacity + 1);
    const int coins[] = {100003, 50021, 20011, 10007, 5003, 2003, 1009, 509};
    rw[0] = 1;
    cudaMemset(ways, 0, 4 * (capacity + 1));
    cudaMemcpy(ways, rw.data(), 4, cudaMemcpyHostToDevice);
    for (int c : coins) {
        coin<<<(c + 127) / 128, 128>>>(ways, capacity, c);
        for (int x = c; x <= capacity; x++) rw[x] += rw[x - c];
    }
    cudaMemcpy(gw.data(), ways, 4 * (capacity + 1), cudaMemcpyDeviceToHost);
    gotWays = gw[capacity];
    wrong += rw != gw;
    cudaMemcpy(dseq, seq.data(), 4 * n, cudaMemcpyHostToDevice);
    increasing<<<1, 256, 4 * (n + 1)>>>(dseq, n, longest);
    cudaMemcpy(&got, longest, 4, cudaMemcpyDeviceToHost);
    std::vector<int> tails;
    for (int x : seq) {
        auto at = std::lower_bound(tails.begin(), tails.end(), x);
        if (at == tails.end()) tails.push_back(x); else *at = x;
    }
    printf("wrong %d, ways %u, longest %d of %zu, %s\n", wrong, gotWays, got, tails.size(), cudaGetErrorString(cudaGetLastError()));
    return wrong || got != (int)tails.size();
}
