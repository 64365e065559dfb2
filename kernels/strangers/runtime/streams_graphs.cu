// SPDX-License-Identifier: Apache-2.0
// Pipelined blocks over streams with pinned buffers, then the same work captured into a graph and launched many times.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#define CU(x) do { cudaError_t e_ = (x); if (e_) { fprintf(stderr, "%s line %d: %s\n", #x, __LINE__, cudaGetErrorString(e_)); exit(1); } } while (0)

__global__ void normaliseChunk(float *x, int n, float mean) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = (x[i] - mean) * 0.01f; }
__global__ void firFilter(const float *x, float *y, int n, int taps)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	float s = 0;
	for (int t = 0; t < taps; t++) s += i >= t ? x[i - t] * (1.f / (t + 1)) : 0;
	y[i] = s;
}
__global__ void powerChunk(const float *y, int n, float *out)
{
	float s = 0;
	for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x) s += y[i] * y[i];
	for (int d = 16; d; d >>= 1) s += __shfl_xor_sync(~0u, s, d);
	if (threadIdx.x % 32 == 0) atomicAdd(out, s);
}
__global__ void logistic(float *v, int n, int steps) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { float x = v[i]; for (int s = 0; s < steps; s++) x = 3.7f * x * (1 - x); v[i] = x; } }
__global__ void combine(const float *a, const float *b, float *c, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) c[i] = 0.5f * (a[i] + b[i]); }

int main(int argc, char **argv)
{
	const int S = 4;
	int chunk = argc > 1 ? atoi(argv[1]) : 1 << 22, rounds = argc > 2 ? atoi(argv[2]) : 400, launches = argc > 3 ? atoi(argv[3]) : 6000, bad = 0;
	float *pinned, *x[S], *y[S], *power, hp[S], *v[3];
	cudaStream_t st[S];
	CU(cudaMallocHost(&pinned, 4l * chunk));
	for (int i = 0; i < chunk; i++) pinned[i] = 100 + i % 7;
	CU(cudaMalloc(&power, 4 * S));
	for (int s = 0; s < S; s++) { CU(cudaStreamCreateWithFlags(&st[s], cudaStreamNonBlocking)); CU(cudaMalloc(&x[s], 4l * chunk)); CU(cudaMalloc(&y[s], 4l * chunk)); }
	for (int r = 0; r < rounds; r++)
		for (int s = 0; s < S; s++) {
			if (r % 10 == 0) CU(cudaMemcpyAsync(x[s], pinned, 4l * chunk, cudaMemcpyHostToDevice, st[s]));
			else CU(cudaMemcpyAsync(x[s], x[(s + 1) % S], 0, cudaMemcpyDeviceToDevice, st[s]));
			if (r % 10 == 0) normaliseChunk<<<(chunk + 255) / 256, 256, 0, st[s]>>>(x[s], chunk, 103);
			firFilter<<<(chunk + 255) / 256, 256, 0, st[s]>>>(x[s], y[s], chunk, 8 + 8 * s);
			CU(cudaMemsetAsync(power + s, 0, 4, st[s]));
			powerChunk<<<64, 256, 0, st[s]>>>(y[s], chunk, power + s);
		}
	CU(cudaDeviceSynchronize());
	CU(cudaMemcpy(hp, power, 4 * S, cudaMemcpyDeviceToHost));
	for (int s = 0; s < S; s++) {
		double want = 0;
		for (int i = 0; i < chunk; i += 1) {
			if (i > 4000 && i < chunk - 7) continue; // periodic from there
			double f = 0;
			for (int t = 0; t < 8 + 8 * s && t <= i; t++) f += (pinned[i - t] - 103) * 0.01 / (t + 1);
			want += i <= 4000 ? f * f : f * f * ((chunk - 4001) / 7.0);
		}
		bad += !(fabs(hp[s] / want - 1) < 1e-2);
	}
	int n = 20000;
	for (auto &p : v) { CU(cudaMalloc(&p, 4 * n)); }
	for (int i = 0; i < n; i++) pinned[i] = (i + 0.5f) / n;
	for (auto &p : v) CU(cudaMemcpy(p, pinned, 4 * n, cudaMemcpyHostToDevice));
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaEvent_t fork, join;
	CU(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming)); CU(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
	CU(cudaStreamBeginCapture(st[0], cudaStreamCaptureModeGlobal));
	for (int k = 0; k < 5; k++) {
		CU(cudaEventRecord(fork, st[0]));
		CU(cudaStreamWaitEvent(st[1], fork, 0));
		logistic<<<(n + 127) / 128, 128, 0, st[0]>>>(v[0], n, 10 * (k + 1));
		logistic<<<(n + 127) / 128, 128, 0, st[1]>>>(v[1], n, 10 * (k + 1));
		CU(cudaEventRecord(join, st[1]));
		CU(cudaStreamWaitEvent(st[0], join, 0));
		combine<<<(n + 127) / 128, 128, 0, st[0]>>>(v[0], v[1], v[2], n);
	}
	CU(cudaStreamEndCapture(st[0], &graph));
	CU(cudaGraphInstantiate(&exec, graph, 0));
	for (int l = 0; l < launches; l++) CU(cudaGraphLaunch(exec, st[0]));
	CU(cudaStreamSynchronize(st[0]));
	CU(cudaMemcpy(pinned, v[2], 4 * n, cudaMemcpyDeviceToHost));
	double mean = 0;
	for (int i = 0; i < n; i++) { bad += !(pinned[i] >= 0 && pinned[i] <= 1); mean += pinned[i] / n; }
	printf("%d wrong, mean of the orbit %.3f\n", bad, mean);
	return bad || !(mean > 0.4 && mean < 0.8);
}
