// SPDX-License-Identifier: Apache-2.0
/* Little kernels, many launches: one thread, one warp, one block, a block a multiprocessor. A pointer chase, a
   tridiagonal solve, a string search, Conway's life in one block, a serial recurrence. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>

__global__ void chase(const int *next, int steps, int *out) { int p = 0; for (int i = 0; i < steps; i++) p = next[p]; *out = p; }
__global__ void thomas(const double *a, const double *b, const double *c, double *d, double *cp, int n) { /* one thread */
  cp[0] = c[0] / b[0]; d[0] /= b[0];
  for (int i = 1; i < n; i++) { double m = 1 / (b[i] - a[i] * cp[i - 1]); cp[i] = c[i] * m; d[i] = (d[i] - a[i] * d[i - 1]) * m; }
  for (int i = n - 2; i >= 0; i--) d[i] -= cp[i] * d[i + 1];
}
__global__ void search(const char *text, int n, const char *word, int m, int *first) { /* one warp, stops at the first */
  for (int base = 0; base < n - m + 1; base += 32) {
    int i = base + threadIdx.x, ok = i <= n - m;
    for (int k = 0; ok && k < m; k++) ok = text[i + k] == word[k];
    unsigned hit = __ballot_sync(~0u, ok);
    if (hit) { if (!threadIdx.x) *first = base + __ffs(hit) - 1; return; }
  }
  if (!threadIdx.x) *first = -1;
}
__global__ void life(unsigned char *board, int generations) { /* 64 x 64 torus, one block of 1024 */
  __shared__ unsigned char s[2][64][64];
  for (int k = 0; k < 4; k++) s[0][(threadIdx.x + 1024 * k) / 64][threadIdx.x % 64] = board[threadIdx.x + 1024 * k];
  __syncthreads();
  for (int g = 0; g < generations; g++) {
    for (int k = 0; k < 4; k++) {
      int y = (threadIdx.x + 1024 * k) / 64, x = threadIdx.x % 64, n = 0;
      for (int dy = -1; dy <= 1; dy++) for (int dx = -1; dx <= 1; dx++) if (dx || dy) n += s[g & 1][(y + dy) & 63][(x + dx) & 63];
      s[1 - (g & 1)][y][x] = n == 3 || (n == 2 && s[g & 1][y][x]);
    }
    __syncthreads();
  }
  for (int k = 0; k < 4; k++) board[threadIdx.x + 1024 * k] = s[generations & 1][(threadIdx.x + 1024 * k) / 64][threadIdx.x % 64];
}
__global__ void recurrence(float *v, int steps) { float x = v[blockIdx.x]; for (int i = 0; i < steps; i++) x = x * 1.0000001f + 0.5f / (1 + x * x); v[blockIdx.x] = x; }
__global__ void per_sm(float *v, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) v[blockIdx.x * n + i] = sqrtf(v[blockIdx.x * n + i] + 1); }

int main(int argc, char **argv) {
  int repeat = argc > 1 ? atoi(argv[1]) : 350, n = 1 << 20, bad = 0, got, N = 2000;
  int *next = (int *)malloc(4 * n), *dn, *out; char *text = (char *)malloc(n), *dt, *dw; unsigned char board[4096], ref[4096], tmp[4096], *db;
  for (int i = 0; i < n; i++) { next[i] = (i * 5ll + 12345) % n; text[i] = 'a' + (i * 2654435761u >> 28); }
  memcpy(text + n / 2, "needleinhay", 11);
  cudaMalloc(&dn, 4 * n); cudaMalloc(&out, 4); cudaMalloc(&dt, n); cudaMalloc(&dw, 16); cudaMalloc(&db, 4096);
  cudaMemcpy(dn, next, 4 * n, cudaMemcpyHostToDevice); cudaMemcpy(dt, text, n, cudaMemcpyHostToDevice); cudaMemcpy(dw, "needleinhay", 11, cudaMemcpyHostToDevice);
  for (int r = 0; r < repeat; r++) chase<<<1, 1>>>(dn, 500 + r % 5 * 500, out);
  cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost);
  int p = 0; for (int i = 0; i < 500 + (repeat - 1) % 5 * 500; i++) p = next[p];
  bad += p != got;
  double *h = (double *)malloc(8 * 4 * N), *d; cudaMalloc(&d, 8 * 5 * N);
  for (int i = 0; i < N; i++) { h[i] = -1; h[N + i] = 2.5; h[2 * N + i] = -1; h[3 * N + i] = i % 10; }
  for (int r = 0; r < repeat; r++) { cudaMemcpy(d, h, 8 * 4 * N, cudaMemcpyHostToDevice); thomas<<<1, 1>>>(d, d + N, d + 2 * N, d + 3 * N, d + 4 * N, N); }
  double *x = (double *)malloc(8 * N); cudaMemcpy(x, d + 3 * N, 8 * N, cudaMemcpyDeviceToHost);
  for (int i = 1; i < N - 1; i++) bad += !(fabs(2.5 * x[i] - x[i - 1] - x[i + 1] - i % 10) < 1e-9);
  for (int r = 0; r < repeat / 10; r++) search<<<1, 32>>>(dt, n, dw, 11, out);
  cudaMemcpy(&got, out, 4, cudaMemcpyDeviceToHost); bad += got != n / 2;
  for (int i = 0; i < 4096; i++) board[i] = ref[i] = (i * 2654435761u >> 29) == 0;
  cudaMemcpy(db, board, 4096, cudaMemcpyHostToDevice);
  for (int r = 0; r < repeat; r++) life<<<1, 1024>>>(db, 100);
  cudaMemcpy(board, db, 4096, cudaMemcpyDeviceToHost);
  for (int g = 0; g < repeat * 100; g++) {
    for (int i = 0; i < 4096; i++) { int k = 0, yy = i / 64, xx = i % 64; for (int q = 0; q < 9; q++) if (q != 4) k += ref[((yy + q / 3 - 1) & 63) * 64 + ((xx + q % 3 - 1) & 63)]; tmp[i] = k == 3 || (k == 2 && ref[i]); }
    memcpy(ref, tmp, 4096);
    if (g == 999 && repeat > 10) g = repeat * 100; /* long enough; see below */
  }
  if (repeat <= 10) bad += memcmp(ref, board, 4096) != 0;
  float *v; cudaMalloc(&v, 4 * 132 * 256); cudaMemset(v, 0, 4 * 132 * 256);
  for (int r = 0; r < repeat; r++) { recurrence<<<8, 1>>>(v, 2000); per_sm<<<132, 64>>>(v, 256); }
  float y = -1; cudaMemcpy(&y, v, 4, cudaMemcpyDeviceToHost); bad += !(y > 1 && y < 1e6f);
  cudaMemcpy(db, ref, 0, cudaMemcpyHostToDevice);
  for (int i = 0; i < 4096; i++) board[i] = (i * 2654435761u >> 29) == 0;
  cudaMemcpy(db, board, 4096, cudaMemcpyHostToDevice);
  life<<<1, 1024>>>(db, repeat > 10 ? 1000 : 0);
  cudaMemcpy(board, db, 4096, cudaMemcpyDeviceToHost);
  if (repeat > 10) bad += memcmp(ref, board, 4096) != 0;
  printf("%d wrong, %s\n", bad, cudaGetErrorString(cudaGetLastError()));
  return bad != 0;
}
