// SPDX-License-Identifier: Apache-2.0
// Run-length coding: marks, a scan in three launches, runs written, then decoded again by binary search.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
using namespace std;

__global__ void mark(const unsigned char *in, int *flag, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) flag[i] = i == 0 || in[i] != in[i - 1];
}
__global__ void scanBlocks(int *v, int *sums, int n) { // inclusive, 1024 a block
  __shared__ int s[1024];
  int i = blockIdx.x * 1024 + threadIdx.x, t = threadIdx.x;
  s[t] = i < n ? v[i] : 0;
  for (int d = 1; d < 1024; d <<= 1) {
    __syncthreads();
    int x = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += x;
  }
  if (i < n) v[i] = s[t];
  if (t == 1023) sums[blockIdx.x] = s[t];
}
__global__ void scanSums(int *sums, int blocks) { // one thread does it all
  int total = 0;
  for (int b = 0; b < blocks; b++) { int x = sums[b]; sums[b] = total; total += x; }
}
__global__ void addSums(int *v, const int *sums, int n) {
  int i = blockIdx.x * 1024 + threadIdx.x;
  if (i < n) v[i] += sums[blockIdx.x];
}
__global__ void writeRuns(const unsigned char *in, const int *rank, int *start, unsigned char *symbol, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && (i == 0 || rank[i] != rank[i - 1])) { start[rank[i] - 1] = i; symbol[rank[i] - 1] = in[i]; }
}
__global__ void decode(const int *start, const unsigned char *symbol, int runs, unsigned char *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int lo = 0, hi = runs - 1;
  while (lo < hi) {
    int mid = (lo + hi + 1) >> 1;
    if (start[mid] <= i) lo = mid; else hi = mid - 1;
  }
  out[i] = symbol[lo];
}
__global__ void compare(const unsigned char *a, const unsigned char *b, int n, int *bad) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && a[i] != b[i]) atomicAdd(bad, 1);
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 8000000, loops = argc > 2 ? atoi(argv[2]) : 450, total = 0;
  vector<unsigned char> h(n);
  unsigned char *in, *out, *symbol; int *flag, *sums, *start, *bad, runs = 0, want = 0;
  int blocks = (n + 1023) / 1024, b256 = (n + 255) / 256;
  cudaMalloc(&in, n); cudaMalloc(&out, n); cudaMalloc(&symbol, n); cudaMalloc(&flag, 4 * n); cudaMalloc(&sums, 4 * blocks);
  cudaMalloc(&start, 4 * n); cudaMalloc(&bad, 4); cudaMemset(bad, 0, 4);
  for (int kind = 0; kind < 3; kind++) { // long runs, mixed, hardly any
    unsigned x = 17 + kind; int mean = kind == 0 ? 500 : kind == 1 ? 12 : 1;
    for (int i = 0; i < n;) {
      x = x * 1103515245u + 12345u;
      int len = 1 + (x >> 8) % (2 * mean - 1); unsigned char c = x >> 24;
      for (int k = 0; k < len && i < n; k++) h[i++] = c;
    }
    cudaMemcpy(in, h.data(), n, cudaMemcpyHostToDevice);
    for (int r = 0; r < loops; r++) {
      mark<<<b256, 256>>>(in, flag, n);
      scanBlocks<<<blocks, 1024>>>(flag, sums, n);
      scanSums<<<1, 1>>>(sums, blocks);
      addSums<<<blocks, 1024>>>(flag, sums, n);
      writeRuns<<<b256, 256>>>(in, flag, start, symbol, n);
      if (r == 0) cudaMemcpy(&runs, flag + n - 1, 4, cudaMemcpyDeviceToHost);
      decode<<<b256, 256>>>(start, symbol, runs, out, n);
    }
    compare<<<b256, 256>>>(in, out, n, bad);
    want = 1;
    for (int i = 1; i < n; i++) want += h[i] != h[i - 1];
    if (want != runs) total++;
  }
  int differ = -1;
  cudaMemcpy(&differ, bad, 4, cudaMemcpyDeviceToHost);
  printf("%d runs of %d, %d bytes differ\n", runs, want, differ);
  return total || differ;
}
