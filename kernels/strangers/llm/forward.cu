// SPDX-License-Identifier: Apache-2.0
// One transformer layer forward, kernel by kernel: embedding, RMSNorm, projections, RoPE, naive attention, GELU.
// Sequence lengths vary. usage: forward [layers]
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#define C 512
#define HEADS 8
#define D (C / HEADS)

__global__ void embed(const int *tok, const float *wte, float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n * C) x[i] = wte[tok[i / C] * C + i % C]; }
__global__ void rmsnorm(const float *x, const float *g, float *y)
{
  __shared__ float part[8];
  const float *r = x + blockIdx.x * C;
  float s = 0;
  for (int i = threadIdx.x; i < C; i += 256) s += r[i] * r[i];
  for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  s = 0;
  for (int i = 0; i < 8; i++) s += part[i];
  s = rsqrtf(s / C + 1e-5f);
  for (int i = threadIdx.x; i < C; i += 256) y[blockIdx.x * C + i] = r[i] * s * g[i];
}
__global__ void matmul(const float *a, const float *w, float *o, int m, int k, int n) // o = a w^T
{
  __shared__ float sa[32][33], sw[32][33];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 32 + ty, col = blockIdx.x * 32 + tx;
  float acc = 0;
  for (int t = 0; t < k; t += 32) {
    sa[ty][tx] = row < m ? a[row * k + t + tx] : 0;
    sw[ty][tx] = w[(blockIdx.x * 32 + ty) * k + t + tx];
    __syncthreads();
    for (int i = 0; i < 32; i++) acc += sa[ty][i] * sw[tx][i];
    __syncthreads();
  }
  if (row < m && col < n) o[row * n + col] = acc;
}
__global__ void rope(float *qkv, int n)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x; // pairs of q and k
  if (i >= n * C) return;
  int t = i / C, which = i % C / (C / 2), p = i % (C / 2), j = p % (D / 2);
  float a = t * powf(10000.f, -2.f * j / D), s, c, *v = qkv + t * 3 * C + which * C + 2 * p;
  sincosf(a, &s, &c);
  float x = v[0], y = v[1];
  v[0] = x * c - y * s;
  v[1] = x * s + y * c;
}
__global__ void scores(const float *qkv, float *att, int n)
{
  int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y, h = blockIdx.z;
  if (j >= n || j > i) return;
  const float *q = qkv + i * 3 * C + h * D, *k = qkv + j * 3 * C + C + h * D;
  float s = 0;
  for (int d = 0; d < D; d++) s += q[d] * k[d];
  att[((size_t)h * n + i) * n + j] = s * rsqrtf(D);
}
__global__ void softmax(float *att, int n)
{
  int i = blockIdx.x, h = blockIdx.y, lane = threadIdx.x;
  float *r = att + ((size_t)h * n + i) * n, m = -1e30f, s = 0;
  for (int j = lane; j <= i; j += 32) m = fmaxf(m, r[j]);
  for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
  for (int j = lane; j <= i; j += 32) s += r[j] = expf(r[j] - m);
  for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
  for (int j = lane; j <= i; j += 32) r[j] /= s;
}
__global__ void mix(const float *att, const float *qkv, float *y, int n)
{
  int i = blockIdx.x, h = blockIdx.y, d = threadIdx.x;
  float s = 0;
  for (int j = 0; j <= i; j++) s += att[((size_t)h * n + i) * n + j] * qkv[j * 3 * C + 2 * C + h * D + d];
  y[i * C + h * D + d] = s;
}
__global__ void add(float *x, const float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += y[i]; }
__global__ void gelu(float *x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { float v = x[i]; x[i] = 0.5f * v * (1 + tanhf(0.7978845608f * (v + 0.044715f * v * v * v))); } }

static float *make(size_t n, float scale) {
  std::vector<float> h(n); static unsigned s = 1;
  for (auto &v : h) { s = s * 1664525u + 1013904223u; v = ((int)(s >> 8) - 8388608) / 8388608.f * scale; }
  float *d; if (cudaMalloc(&d, 4 * n)) exit(2); cudaMemcpy(d, h.data(), 4 * n, cudaMemcpyHostToDevice); return d;
}
int main(int argc, char **argv)
{
  int layers = argc > 1 ? atoi(argv[1]) : 100, V = 5000, N = 1024;
  float *wte = make(V * C, 1), *g = make(C, 1), *wqkv = make(3 * C * C, 0.05f), *wo = make(C * C, 0.05f), *w1 = make(4 * C * C, 0.05f), *w2 = make(4 * C * C, 0.05f);
  float *x = make(N * C, 0), *y = make(N * C, 0), *z = make(N * C, 0), *qkv = make(3 * N * C, 0), *att = make((size_t)HEADS * N * N, 0), *h = make(4 * N * C, 0);
  std::vector<int> tok(N); for (int i = 0; i < N; i++) tok[i] = (i * 7919) % V;
  int *dtok; cudaMalloc(&dtok, 4 * N); cudaMemcpy(dtok, tok.data(), 4 * N, cudaMemcpyHostToDevice);
  int lens[] = {64, 200, 512, 777, 1024}, bad = 0;
  for (int n : lens) {
    embed<<<(n * C + 255) / 256, 256>>>(dtok, wte, x, n);
    for (int l = 0; l < layers; l++) {
      dim3 b(32, 32); int rows = (n + 31) / 32;
      rmsnorm<<<n, 256>>>(x, g, y);
      matmul<<<dim3(3 * C / 32, rows), b>>>(y, wqkv, qkv, n, C, 3 * C);
      rope<<<(n * C + 255) / 256, 256>>>(qkv, n);
      scores<<<dim3((n + 127) / 128, n, HEADS), 128>>>(qkv, att, n);
      softmax<<<dim3(n, HEADS), 32>>>(att, n);
      mix<<<dim3(n, HEADS), D>>>(att, qkv, z, n);
      matmul<<<dim3(C / 32, rows), b>>>(z, wo, y, n, C, C);
      add<<<(n * C + 255) / 256, 256>>>(x, y, n * C);
      rmsnorm<<<n, 256>>>(x, g, y);
      matmul<<<dim3(4 * C / 32, rows), b>>>(y, w1, h, n, C, 4 * C);
      gelu<<<(n * 4 * C + 255) / 256, 256>>>(h, n * 4 * C);
      matmul<<<dim3(C / 32, rows), b>>>(h, w2, y, n, 4 * C, C);
      add<<<(n * C + 255) / 256, 256>>>(x, y, n * C);
    }
    // what the last layer left: rows of attention sum to 1, z is att times v
    std::vector<float> a((size_t)HEADS * n * n), q(3 * n * C), zz(n * C);
    cudaMemcpy(a.data(), att, 4 * a.size(), cudaMemcpyDeviceToHost); cudaMemcpy(q.data(), qkv, 4 * q.size(), cudaMemcpyDeviceToHost); cudaMemcpy(zz.data(), z, 4 * zz.size(), cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i += 13) {
      int hh = i % HEADS; double sum = 0, o = 0, m = -1e30, want = 0;
      std::vector<double> s(i + 1);
      for (int j = 0; j <= i; j++) { s[j] = 0; for (int d = 0; d < D; d++) s[j] += (double)q[i * 3 * C + hh * D + d] * q[j * 3 * C + C + hh * D + d]; s[j] /= sqrt((double)D); m = fmax(m, s[j]); }
      for (int j = 0; j <= i; j++) sum += exp(s[j] - m);
      for (int j = 0; j <= i; j++) { want = fmax(want, fabs(exp(s[j] - m) / sum - a[((size_t)hh * n + i) * n + j])); o += exp(s[j] - m) / sum * q[j * 3 * C + 2 * C + hh * D]; }
      if (!(want < 1e-3) || !(fabs(o - zz[i * C + hh * D]) < 1e-2 * (1 + fabs(o)))) bad++;
    }
  }
  printf("%d rows off, %s\n", bad, cudaGetErrorString(cudaGetLastError()));
  return bad != 0;
}
