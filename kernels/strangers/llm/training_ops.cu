// SPDX-License-Identifier: Apache-2.0
// Operators of training: layer norm forward and backward, GELU backward, softmax with cross entropy, embedding
// gradient by atomics, clipping, Adam. A gradient is checked against differences.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#define WARP_SUM(v) for (int d_ = 16; d_; d_ >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d_)

__global__ void layernorm_forward(const float *x, const float *w, const float *b, float *y, float *mean, float *rstd, int n, int c)
{
	int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
	if (row >= n) return;
	float s = 0, q = 0;
	for (int i = lane; i < c; i += 32) s += x[row * c + i];
	WARP_SUM(s);
	float m = s / c;
	for (int i = lane; i < c; i += 32) q += (x[row * c + i] - m) * (x[row * c + i] - m);
	WARP_SUM(q);
	float r = rsqrtf(q / c + 1e-5f);
	for (int i = lane; i < c; i += 32) y[row * c + i] = (x[row * c + i] - m) * r * w[i] + b[i];
	if (!lane) mean[row] = m, rstd[row] = r;
}
__global__ void layernorm_backward(const float *dy, const float *x, const float *w, const float *mean, const float *rstd, float *dx, float *dw, float *db, int n, int c)
{
	int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
	if (row >= n) return;
	float a = 0, b = 0, m = mean[row], r = rstd[row];
	for (int i = lane; i < c; i += 32) {
		float g = dy[row * c + i] * w[i], h = (x[row * c + i] - m) * r;
		a += g;
		b += g * h;
	}
	WARP_SUM(a);
	WARP_SUM(b);
	for (int i = lane; i < c; i += 32) {
		float h = (x[row * c + i] - m) * r, g = dy[row * c + i];
		dx[row * c + i] = r * (g * w[i] - a / c - h * b / c);
		atomicAdd(&dw[i], g * h);
		atomicAdd(&db[i], g);
	}
}
__global__ void gelu_backward(const float *x, float *d, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	float v = x[i], u = 0.79788456f * (v + 0.044715f * v * v * v), t = tanhf(u), ch = coshf(u);
	d[i] *= 0.5f * (1 + t) + v * 0.5f / (ch * ch) * 0.79788456f * (1 + 0.134145f * v * v);
}
__global__ void cross_entropy(float *logits, const int *target, float *loss, int v, float scale) // becomes the gradient
{
	__shared__ float s[32];
	float *r = logits + (size_t)blockIdx.x * v, m = -INFINITY, sum = 0;
	int warps = blockDim.x / 32;
	for (int i = threadIdx.x; i < v; i += blockDim.x) m = fmaxf(m, r[i]);
	for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
	if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = m;
	__syncthreads();
	for (int i = 0; i < warps; i++) m = fmaxf(m, s[i]);
	__syncthreads();
	for (int i = threadIdx.x; i < v; i += blockDim.x) sum += expf(r[i] - m);
	WARP_SUM(sum);
	if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = sum;
	__syncthreads();
	sum = 0;
	for (int i = 0; i < warps; i++) sum += s[i];
	int t = target[blockIdx.x];
	if (threadIdx.x == 0) loss[blockIdx.x] = logf(sum) + m - r[t];
	__syncthreads();
	for (int i = threadIdx.x; i < v; i += blockDim.x) r[i] = (expf(r[i] - m) / sum - (i == t)) * scale;
}
__global__ void embedding_backward(const float *d, const int *tok, float *grad, int n, int c)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n * c) atomicAdd(&grad[tok[i / c] * c + i % c], d[i]);
}
__global__ void square_sum(const float *g, int n, float *out)
{
	float s = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += g[i] * g[i];
	WARP_SUM(s);
	if (threadIdx.x % 32 == 0) atomicAdd(out, s);
}
__global__ void adam(float *p, const float *g, float *m, float *v, const float *norm2, int n, float lr, float c1, float c2)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	float clip = fminf(1.f, rsqrtf(*norm2 + 1e-12f)), x = g[i] * clip;
	m[i] = 0.9f * m[i] + 0.1f * x;
	v[i] = 0.999f * v[i] + 0.001f * x * x;
	p[i] -= lr * (m[i] / c1) / (sqrtf(v[i] / c2) + 1e-8f);
}
static float *dev(const std::vector<float> &h) { float *d; if (cudaMalloc(&d, h.size() * 4)) exit(3); cudaMemcpy(d, h.data(), h.size() * 4, cudaMemcpyHostToDevice); return d; }
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 4096, steps = argc > 2 ? atoi(argv[2]) : 2000, c = 768, v = 8192, wrong = 0;
	std::vector<float> x(n * c), dy(n * c), w(c), b(c, 0.1f), zero(n * c, 0.f), logits((size_t)n / 4 * v), table((size_t)v * c, 0.f);
	std::vector<int> tok(n);
	srand(1);
	for (auto *a : {&x, &dy, &w, &logits}) for (auto &e : *a) e = rand() / (float)RAND_MAX * 2 - 1;
	for (int &t : tok) t = rand() % 64 ? rand() % v : 7; // one word is frequent
	float *dx_ = dev(x), *ddy = dev(dy), *dw_ = dev(w), *db_ = dev(b), *y = dev(zero), *mean = dev(zero), *rstd = dev(zero), *gx = dev(zero), *gw = dev(w), *gb = dev(w);
	float *lg = dev(logits), *loss = dev(zero), *grad = dev(table), *m1 = dev(table), *m2 = dev(table), *par = dev(table), *norm = dev(w);
	int *dtok;
	cudaMalloc(&dtok, 4 * n); cudaMemcpy(dtok, tok.data(), 4 * n, cudaMemcpyHostToDevice);
	std::vector<float> hl(n / 4), hgx(n * c), hp(table.size()), l0(n / 4);
	for (int s = 1; s <= steps; s++) {
		layernorm_forward<<<n / 8, 256>>>(dx_, dw_, db_, y, mean, rstd, n, c);
		cudaMemsetAsync(gw, 0, 4 * c); cudaMemsetAsync(gb, 0, 4 * c);
		layernorm_backward<<<n / 8, 256>>>(ddy, dx_, dw_, mean, rstd, gx, gw, gb, n, c);
		if (s == 1) cudaMemcpy(hgx.data(), gx, 4 * n * c, cudaMemcpyDeviceToHost);
		gelu_backward<<<(n * c + 255) / 256, 256>>>(y, gx, n * c);
		cross_entropy<<<n / 4, 1024>>>(lg, dtok, loss, v, 1.f);
		if (s == 1) cudaMemcpy(l0.data(), loss, n, cudaMemcpyDeviceToHost);
		cudaMemsetAsync(grad, 0, 4ul * v * c); cudaMemsetAsync(norm, 0, 4);
		embedding_backward<<<(n * c + 255) / 256, 256>>>(gx, dtok, grad, n, c);
		square_sum<<<264, 512>>>(grad, v * c, norm);
		adam<<<(v * c + 255) / 256, 256>>>(par, grad, m1, m2, norm, v * c, 1e-3f, 1 - powf(0.9f, s), 1 - powf(0.999f, s));
	}
	cudaMemcpy(hp.data(), par, 4 * hp.size(), cudaMemcpyDeviceToHost);
	for (int r = 0; r < n / 4; r += 31) { // the first loss
		double sum = 0;
		for (int i = 0; i < v; i++) sum += exp((double)logits[(size_t)r * v + i]);
		wrong += !(fabs(log(sum) - logits[(size_t)r * v + tok[r]] - l0[r]) < 1e-3);
	}
	for (int t = 0; t < 50; t++) { // one gradient of the norm by differences
		int r = t * 79 % n, i = t * 31 % c;
		double f[2];
		for (int e = 0; e < 2; e++) {
			double m = 0, q = 0, o = 0, h = e ? 1e-4 : -1e-4;
			for (int k = 0; k < c; k++) m += (x[r * c + k] + (k == i ? h : 0)) / c;
			for (int k = 0; k < c; k++) q += pow(x[r * c + k] + (k == i ? h : 0) - m, 2) / c;
			for (int k = 0; k < c; k++) o += dy[r * c + k] * ((x[r * c + k] + (k == i ? h : 0) - m) / sqrt(q + 1e-5) * w[k] + b[k]);
			f[e] = o;
		}
		wrong += !(fabs((f[1] - f[0]) / 2e-4 - hgx[r * c + i]) < 2e-3);
	}
	for (float p : hp) wrong += !(fabsf(p) < 1.05e-3f * steps + 1e-6f);
	printf("%d wrong, %s\n", wrong, cudaGetErrorString(cudaGetLastError()));
	return wrong > 0;
}
