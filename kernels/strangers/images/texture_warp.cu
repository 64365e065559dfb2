// SPDX-License-Identifier: Apache-2.0
// Textures: an image rotated with the hardware's bilinear filter, a cube sampled along rays, a 1D table.
#include <cuda_runtime.h>
#include <iostream>
#include <cmath>
#include <vector>

static void ok(cudaError_t e, int line) { if (e != cudaSuccess) { std::cerr << "line " << line << ": " << cudaGetErrorString(e) << "\n"; std::exit(2); } }
#define OK(x) ok(x, __LINE__)

__global__ void rotateImage(cudaTextureObject_t tex, float *out, int w, int h, float c, float s)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= w || y >= h) return;
	float u = x - w * 0.5f, v = y - h * 0.5f;
	out[y * w + x] = tex2D<float>(tex, u * c - v * s + w * 0.5f + 0.5f, u * s + v * c + h * 0.5f + 0.5f);
}

__global__ void rotateByHand(const float *img, float *out, int w, int h, float c, float s)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= w || y >= h) return;
	float u = x - w * 0.5f, v = y - h * 0.5f, px = u * c - v * s + w * 0.5f, py = u * s + v * c + h * 0.5f;
	float fx = floorf(px), fy = floorf(py), a = px - fx, b = py - fy;
	int x0 = min(max((int)fx, 0), w - 1), x1 = min(max((int)fx + 1, 0), w - 1);
	int y0 = min(max((int)fy, 0), h - 1), y1 = min(max((int)fy + 1, 0), h - 1);
	out[y * w + x] = (1 - b) * ((1 - a) * img[y0 * w + x0] + a * img[y0 * w + x1]) + b * ((1 - a) * img[y1 * w + x0] + a * img[y1 * w + x1]);
}

__global__ void castRays(cudaTextureObject_t volume, cudaTextureObject_t transfer, float *out, int w, int h, int steps, float angle)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= w || y >= h) return;
	float c = cosf(angle), s = sinf(angle), light = 0, left = 1;
	for (int k = 0; k < steps && left > 0.02f; k++) {
		float t = k / (float)steps - 0.5f, u = x / (float)w - 0.5f, v = y / (float)h;
		float density = tex3D<float>(volume, u * c - t * s + 0.5f, v, u * s + t * c + 0.5f);
		float opacity = tex1Dfetch<float>(transfer, (int)(density * 255));
		light += left * opacity * density;
		left *= 1 - opacity;
	}
	out[y * w + x] = light;
}

static double largest(const std::vector<float> &a, const std::vector<float> &b, int w, int h)
{
	double most = 0;
	for (int y = h / 4; y < h * 3 / 4; y++)
		for (int x = w / 4; x < w * 3 / 4; x++) most = std::max(most, (double)std::fabs(a[y * w + x] - b[y * w + x]));
	return most;
}

int main(int argc, char **argv)
{
	int w = argc > 1 ? std::atoi(argv[1]) : 2000, h = w, turns = argc > 2 ? std::atoi(argv[2]) : 700;
	const int N = 128;
	std::vector<float> img(w * h), a(w * h), b(w * h), cube(N * N * N), table(256);
	for (int i = 0; i < w * h; i++) img[i] = 0.5f + 0.5f * std::sin(i % w * 0.05f) * std::cos(i / w * 0.04f);
	for (int i = 0; i < N * N * N; i++) {
		float x = i % N - 64, y = i / N % N - 64, z = i / N / N - 64;
		cube[i] = std::exp(-(x * x + y * y + z * z) / 1500.f);
	}
	for (int i = 0; i < 256; i++) table[i] = i / 255.f * 0.05f;
	cudaArray_t array, volume;
	cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
	OK(cudaMallocArray(&array, &format, w, h));
	OK(cudaMemcpy2DToArray(array, 0, 0, img.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
	OK(cudaMalloc3DArray(&volume, &format, make_cudaExtent(N, N, N)));
	cudaMemcpy3DParms copy = {};
	copy.srcPtr = make_cudaPitchedPtr(cube.data(), N * 4, N, N);
	copy.dstArray = volume;
	copy.extent = make_cudaExtent(N, N, N);
	copy.kind = cudaMemcpyHostToDevice;
	OK(cudaMemcpy3D(&copy));
	float *dOut, *dImg, *dTable;
	OK(cudaMalloc(&dOut, w * h * 4)); OK(cudaMalloc(&dImg, w * h * 4)); OK(cudaMalloc(&dTable, 1024));
	OK(cudaMemcpy(dImg, img.data(), w * h * 4, cudaMemcpyHostToDevice));
	OK(cudaMemcpy(dTable, table.data(), 1024, cudaMemcpyHostToDevice));
	cudaResourceDesc r = {};
	cudaTextureDesc t = {};
	cudaTextureObject_t tex, vol, lin;
	r.resType = cudaResourceTypeArray; r.res.array.array = array;
	t.addressMode[0] = t.addressMode[1] = t.addressMode[2] = cudaAddressModeClamp;
	t.filterMode = cudaFilterModeLinear;
	OK(cudaCreateTextureObject(&tex, &r, &t, nullptr));
	r.res.array.array = volume; t.normalizedCoords = 1;
	OK(cudaCreateTextureObject(&vol, &r, &t, nullptr));
	cudaResourceDesc l = {};
	cudaTextureDesc lt = {};
	l.resType = cudaResourceTypeLinear; l.res.linear.devPtr = dTable; l.res.linear.desc = format; l.res.linear.sizeInBytes = 1024;
	OK(cudaCreateTextureObject(&lin, &l, &lt, nullptr));
	dim3 block(16, 16), grid((w + 15) / 16, (h + 15) / 16);
	float angle = 0.4f;
	for (int i = 0; i < turns; i++) rotateByHand<<<grid, block>>>(dImg, dOut, w, h, std::cos(angle * i), std::sin(angle * i));
	OK(cudaMemcpy(a.data(), dOut, w * h * 4, cudaMemcpyDeviceToHost));
	for (int i = 0; i < turns; i++) rotateImage<<<grid, block>>>(tex, dOut, w, h, std::cos(angle * i), std::sin(angle * i));
	OK(cudaMemcpy(b.data(), dOut, w * h * 4, cudaMemcpyDeviceToHost));
	double off = largest(a, b, w, h), least = 1e9, most = 0;
	for (int i = 0; i < turns / 2; i++) castRays<<<grid, block>>>(vol, lin, dOut, w, h, 32 + i % 8 * 32, angle * i);
	castRays<<<grid, block>>>(vol, lin, dOut, w, h, 128, 0);
	OK(cudaMemcpy(b.data(), dOut, w * h * 4, cudaMemcpyDeviceToHost));
	for (float v : b) least = std::min(least, (double)v), most = std::max(most, (double)v);
	std::cout << "rotation off by " << off << ", light from " << least << " to " << most << "\n";
	return !(off < 0.02 && least >= 0 && most > 0.1 && most <= 1);
}
