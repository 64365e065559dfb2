// SPDX-License-Identifier: Apache-2.0
/* Tables in constant memory, read by all lanes alike and by each lane elsewhere; the same from global and
   shared memory; a polynomial with its coefficients in constants; a small interpreter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
__constant__ float table[4096];
__constant__ float coefficient[32];
__constant__ int program[64];

__global__ void uniform_lookup(float *out, int n, int reads) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0;
  for (int k = 0; k < reads; k++) s += table[(blockIdx.x + k * 7) & 4095];
  if (i < n) out[i] = s;
}
__global__ void divergent_lookup(float *out, int n, int reads, int spread) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0;
  for (int k = 0; k < reads; k++) s += table[(i % spread * 37 + k * 7) & 4095];
  if (i < n) out[i] = s;
}
__global__ void shared_lookup(float *out, int n, int reads) {
  __shared__ float t[4096];
  for (int k = threadIdx.x; k < 4096; k += blockDim.x) t[k] = table[k];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x; float s = 0;
  for (int k = 0; k < reads; k++) s += t[(i % 32 * 37 + k * 7) & 4095];
  if (i < n) out[i] = s;
}
__global__ void horner(const float *x, float *out, int n, int degree) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i], r = coefficient[degree];
  for (int k = degree - 1; k >= 0; k--) r = r * v + coefficient[k];
  out[i] = r;
}
__global__ void interpret(const float *x, float *out, int n, int length) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float stack[8]; int top = 0;
  for (int pc = 0; pc < length; pc++)
    switch (program[pc]) {
    case 0: stack[top++] = x[i]; break;
    case 1: stack[top - 2] += stack[top - 1]; top--; break;
    case 2: stack[top - 2] *= stack[top - 1]; top--; break;
    case 3: stack[top - 1] = sqrtf(fabsf(stack[top - 1])); break;
    case 4: stack[top] = stack[top - 1]; top++; break;
    case 5: stack[top++] = 1; break;
    }
  out[i] = stack[0];
}
int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 2000000, loops = argc > 2 ? atoi(argv[2]) : 150, g = (n + 127) / 128, bad = 0;
  float *x, *out, *h = (float *)malloc(4l * n), *o = (float *)malloc(4l * n), t[4096], c[32];
  int p[64] = {0, 4, 2, 5, 1, 3, 0, 2, 4, 1, 5, 1, 3}, len = 13;
  for (int i = 0; i < 4096; i++) t[i] = i % 251;
  for (int i = 0; i < 32; i++) c[i] = 1.f / (i + 1);
  for (int i = 0; i < n; i++) h[i] = (i % 2001 - 1000) / 1000.f;
  cudaMemcpyToSymbol(table, t, sizeof t); cudaMemcpyToSymbol(coefficient, c, sizeof c); cudaMemcpyToSymbol(program, p, sizeof p);
  cudaMalloc(&x, 4l * n); cudaMalloc(&out, 4l * n); cudaMemcpy(x, h, 4l * n, cudaMemcpyHostToDevice);
#define CHECK(expect) cudaMemcpy(o, out, 4l * n, cudaMemcpyDeviceToHost); for (int i = 0; i < n; i += 101) { float e = 0; expect; if (!(fabsf(o[i] - e) <= 1e-4f * fabsf(e) + 1e-5f)) bad++; }
  for (int l = 0; l < loops; l++) uniform_lookup<<<g, 128>>>(out, n, 256);
  CHECK(for (int k = 0; k < 256; k++) e += t[(i / 128 + k * 7) & 4095])
  for (int spread = 1; spread <= 32; spread *= 2) for (int l = 0; l < loops / 6; l++) divergent_lookup<<<g, 128>>>(out, n, 128, spread);
  CHECK(for (int k = 0; k < 128; k++) e += t[(i % 32 * 37 + k * 7) & 4095])
  for (int l = 0; l < loops; l++) shared_lookup<<<g, 128>>>(out, n, 128);
  CHECK(for (int k = 0; k < 128; k++) e += t[(i % 32 * 37 + k * 7) & 4095])
  for (int l = 0; l < loops; l++) horner<<<g, 128>>>(x, out, n, 1 + l % 31);
  horner<<<g, 128>>>(x, out, n, 9);
  CHECK(double r = c[9]; for (int k = 8; k >= 0; k--) r = r * h[i] + c[k]; e = r)
  for (int l = 0; l < loops; l++) interpret<<<g, 128>>>(x, out, n, len);
  CHECK(float v = sqrtf(h[i] * h[i] + 1) * h[i]; e = sqrtf(fabsf(v + v + 1)))
  printf("%d wrong, %s\n", bad, cudaGetErrorString(cudaGetLastError()));
  return bad != 0;
}
