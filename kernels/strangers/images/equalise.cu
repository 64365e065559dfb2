// SPDX-License-Identifier: Apache-2.0
// Colour to grey, histogram, cumulative distribution, equalisation, gamma by table. Several resolutions.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#define BINS 256
#define SAFE(call) do { if ((call) != cudaSuccess) { fprintf(stderr, "%s failed in line %d\n", #call, __LINE__); return EXIT_FAILURE; } } while (0)

__global__ void rgb_to_grey(const uchar3 *rgb, unsigned char *grey, int n)
{
  int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
    uchar3 p = rgb[i];
    grey[i] = (unsigned char)((77 * p.x + 150 * p.y + 29 * p.z) >> 8);
  }
}

__global__ void histogram_global(const unsigned char *grey, unsigned *hist, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&hist[grey[i]], 1u);
}

__global__ void histogram_shared(const unsigned char *grey, unsigned *hist, int n)
{
  __shared__ unsigned h[BINS];
  h[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&h[grey[i]], 1u);
  __syncthreads();
  atomicAdd(&hist[threadIdx.x], h[threadIdx.x]);
}

/* one block: Hillis and Steele, then the table */
__global__ void make_table(const unsigned *hist, unsigned char *table, int n)
{
  __shared__ unsigned c[2][BINS];
  int t = threadIdx.x, a = 0;
  c[0][t] = hist[t];
  __syncthreads();
  for (int d = 1; d < BINS; d *= 2) {
    c[1 - a][t] = t >= d ? c[a][t] + c[a][t - d] : c[a][t];
    a = 1 - a;
    __syncthreads();
  }
  unsigned first = 0;
  for (int i = 0; i < BINS; i++)
    if (c[a][i]) { first = c[a][i]; break; }
  table[t] = n > (int)first ? (unsigned char)(255.0 * (c[a][t] < first ? 0 : c[a][t] - first) / (n - first) + 0.5) : 0;
}

__global__ void apply_table(const unsigned char *grey, unsigned char *out, const unsigned char *table, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[grey[i]];
}

__constant__ float gammas[BINS];
__global__ void apply_gamma(const unsigned char *in, float *out, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = gammas[in[i]];
}

int main(int argc, char **argv)
{
  static const int sizes[][2] = {{640, 480}, {1280, 720}, {1920, 1080}, {3840, 2160}, {7680, 4320}};
  int frames = argc > 1 ? atoi(argv[1]) : 400, failed = 0;
  float g[BINS];
  for (int i = 0; i < BINS; i++) g[i] = powf(i / 255.f, 2.2f);
  SAFE(cudaMemcpyToSymbol(gammas, g, sizeof g));
  for (int s = 0; s < 5; s++) {
    int n = sizes[s][0] * sizes[s][1], each = frames / (s + 1);
    uchar3 *rgb = (uchar3 *)malloc(3 * n), *drgb;
    unsigned char *dgrey, *dout, *dtable, *out = (unsigned char *)malloc(n);
    unsigned *dhist;
    float *dlin, *lin = (float *)malloc(4 * n);
    unsigned x = 1;
    for (int i = 0; i < n; i++) {
      x = x * 1664525u + 1013904223u;
      unsigned v = 60 + (x >> 26) + (i % sizes[s][0]) * 90 / sizes[s][0];
      rgb[i] = make_uchar3(v, v * 3 / 4, v / 2);
    }
    SAFE(cudaMalloc(&drgb, 3 * n)); SAFE(cudaMalloc(&dgrey, n)); SAFE(cudaMalloc(&dout, n)); SAFE(cudaMalloc(&dtable, BINS));
    SAFE(cudaMalloc(&dhist, 4 * BINS)); SAFE(cudaMalloc(&dlin, 4 * n));
    SAFE(cudaMemcpy(drgb, rgb, 3 * n, cudaMemcpyHostToDevice));
    for (int f = 0; f < each; f++) {
      rgb_to_grey<<<528, 256>>>(drgb, dgrey, n);
      SAFE(cudaMemsetAsync(dhist, 0, 4 * BINS));
      if (f % 2) histogram_shared<<<264, BINS>>>(dgrey, dhist, n);
      else histogram_global<<<(n + 255) / 256, 256>>>(dgrey, dhist, n);
      make_table<<<1, BINS>>>(dhist, dtable, n);
      apply_table<<<(n + 255) / 256, 256>>>(dgrey, dout, dtable, n);
      apply_gamma<<<(n + 255) / 256, 256>>>(dout, dlin, n);
    }
    SAFE(cudaMemcpy(out, dout, n, cudaMemcpyDeviceToHost));
    SAFE(cudaMemcpy(lin, dlin, 4 * n, cudaMemcpyDeviceToHost));
    unsigned hist[BINS] = {0}, cum = 0, first = 0;
    unsigned char table[BINS];
    for (int i = 0; i < n; i++) hist[(77 * rgb[i].x + 150 * rgb[i].y + 29 * rgb[i].z) >> 8]++;
    for (int i = 0; i < BINS; i++) {
      cum += hist[i];
      if (!first) first = cum;
      table[i] = (unsigned char)(255.0 * (cum < first ? 0 : cum - first) / (n - first) + 0.5);
    }
    for (int i = 0; i < n; i++) {
      int want = table[(77 * rgb[i].x + 150 * rgb[i].y + 29 * rgb[i].z) >> 8];
      if (abs(out[i] - want) > 1 || lin[i] != g[out[i]]) failed++;
    }
    cudaFree(drgb); cudaFree(dgrey); cudaFree(dout); cudaFree(dtable); cudaFree(dhist); cudaFree(dlin);
    free(rgb); free(out); free(lin);
  }
  printf("%d pixels differ\n", failed);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
