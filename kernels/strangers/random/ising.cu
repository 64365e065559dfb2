// SPDX-License-Identifier: Apache-2.0
// Ising model, Metropolis on a checkerboard, generator states of the runtime's curand_kernel.h kept in memory.
#include <curand_kernel.h>
#include <cstdio>
#include <cstdlib>
#include <cmath>

__global__ void seedAll(curandState *state, int n, unsigned long long seed)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) curand_init(seed + i, 0, 0, &state[i]);
}
__global__ void sweepHalf(signed char *spin, curandState *state, int w, int h, int colour, float beta)
{
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= w / 2 * h) return;
  int y = t / (w / 2), x = 2 * (t % (w / 2)) + ((y + colour) & 1);
  int s = spin[y * w + x], sum = spin[y * w + (x + 1) % w] + spin[y * w + (x + w - 1) % w] + spin[(y + 1) % h * w + x] + spin[(y + h - 1) % h * w + x];
  curandState mine = state[t];
  if (curand_uniform(&mine) < __expf(-2 * beta * s * sum)) spin[y * w + x] = -s;
  state[t] = mine;
}
__global__ void measure(const signed char *spin, int w, int h, int *m, int *e)
{
  __shared__ int sm[256], se[256];
  int mm = 0, ee = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < w * h; i += gridDim.x * blockDim.x) {
    int x = i % w, y = i / w;
    mm += spin[i];
    ee -= spin[i] * (spin[y * w + (x + 1) % w] + spin[(y + 1) % h * w + x]);
  }
  sm[threadIdx.x] = mm; se[threadIdx.x] = ee;
  for (int s = 128; s > 0; s /= 2) {
    __syncthreads();
    if (threadIdx.x < s) { sm[threadIdx.x] += sm[threadIdx.x + s]; se[threadIdx.x] += se[threadIdx.x + s]; }
  }
  if (threadIdx.x == 0) { atomicAdd(m, sm[0]); atomicAdd(e, se[0]); }
}
__global__ void gammaSamples(curandState *state, int n, float shape, double *sum) // Marsaglia and Tsang, by rejection
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  curandState s = state[i];
  float d = shape - 1.f / 3, c = rsqrtf(9 * d), v, total = 0;
  for (int k = 0; k < 16; k++) {
    for (;;) {
      float x = curand_normal(&s);
      v = 1 + c * x;
      if (v <= 0) continue;
      v = v * v * v;
      float u = curand_uniform(&s);
      if (logf(u) < 0.5f * x * x + d - d * v + d * logf(v)) break;
    }
    total += d * v;
  }
  state[i] = s;
  atomicAdd(sum, (double)total);
}
int main(int argc, char **argv)
{
  int w = argc > 1 ? atoi(argv[1]) : 2048, h = w, sweeps = argc > 2 ? atoi(argv[2]) : 1200, half = w / 2 * h, m[2];
  signed char *spin; curandState *state; int *d; double *g, mean;
  cudaMalloc(&spin, w * h); cudaMalloc(&state, half * sizeof(curandState)); cudaMalloc(&d, 8); cudaMalloc(&g, 8);
  seedAll<<<(half + 127) / 128, 128>>>(state, half, 1234);
  double energy[2];
  for (int run = 0; run < 2; run++) { // cold, then hot
    cudaMemset(spin, 1, w * h);
    float beta = run ? 0.2f : 0.6f;
    for (int s = 0; s < sweeps; s++)
      for (int c = 0; c < 2; c++) sweepHalf<<<(half + 255) / 256, 256>>>(spin, state, w, h, c, beta);
    cudaMemset(d, 0, 8);
    measure<<<264, 256>>>(spin, w, h, d, d + 1);
    cudaMemcpy(m, d, 8, cudaMemcpyDeviceToHost);
    energy[run] = (double)m[1] / (w * h);
    printf("beta %.1f: magnetisation %.4f, energy %.4f\n", beta, (double)m[0] / (w * h), energy[run]);
    if (run == 0 && !(m[0] > 0.95 * w * h)) return 1;
    if (run == 1 && !(abs(m[0]) < 0.05 * w * h)) return 1;
  }
  cudaMemset(g, 0, 8);
  for (int k = 0; k < 10; k++) gammaSamples<<<(half / 4 + 127) / 128, 128>>>(state, half / 4, 2.5f, g);
  cudaMemcpy(&mean, g, 8, cudaMemcpyDeviceToHost);
  mean /= 160.0 * (half / 4);
  printf("mean of gamma samples %.4f\n", mean);
  // Onsager's energy at beta 0.6 is -1.9091, at 0.2 -0.428
  return fabs(energy[0] + 1.909) > 0.02 || fabs(energy[1] + 0.428) > 0.02 || fabs(mean - 2.5) > 0.02 || cudaGetLastError() != cudaSuccess;
}
