// SPDX-License-Identifier: Apache-2.0
// Classic image filters over one synthetic photograph: box, median, Sobel, bilateral. All results against the CPU
// at a sample of pixels.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

typedef unsigned char uchar;

__device__ inline int clampi(int v, int lo, int hi) { return v < lo ? lo : v > hi ? hi : v; }

__global__ void boxRows(const uchar *in, float *out, int w, int h, int radius)
{
    int y = blockIdx.x * blockDim.x + threadIdx.x; // a thread slides along a row
    if (y >= h) return;
    int sum = 0;
    for (int x = -radius; x <= radius; x++) sum += in[y * w + clampi(x, 0, w - 1)];
    for (int x = 0; x < w; x++) {
        out[y * w + x] = (float)sum / (2 * radius + 1);
        sum += in[y * w + clampi(x + radius + 1, 0, w - 1)] - in[y * w + clampi(x - radius, 0, w - 1)];
    }
}

__global__ void boxNaive(const uchar *in, float *out, int w, int h, int radius)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    int sum = 0;
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++) sum += in[clampi(y + dy, 0, h - 1) * w + clampi(x + dx, 0, w - 1)];
    out[y * w + x] = (float)sum / ((2 * radius + 1) * (2 * radius + 1));
}

__global__ void median3(const uchar *in, uchar *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    uchar v[9];
    int n = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) v[n++] = in[clampi(y + dy, 0, h - 1) * w + clampi(x + dx, 0, w - 1)];
    for (int i = 0; i < 5; i++) { // a selection sort up to the middle
        int least = i;
        for (int j = i + 1; j < 9; j++)
            if (v[j] < v[least]) least = j;
        uchar t = v[i]; v[i] = v[least]; v[least] = t;
    }
    out[y * w + x] = v[4];
}

__global__ void median7(const uchar *in, uchar *out, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    // bisect the value: how many of 49 are below it
    int lo = 0, hi = 255;
    while (lo < hi) {
        int mid = (lo + hi) / 2, below = 0;
        for (int dy = -3; dy <= 3; dy++)
            for (int dx = -3; dx <= 3; dx++) below += in[clampi(y + dy, 0, h - 1) * w + clampi(x + dx, 0, w - 1)] <= mid;
        if (below >= 25) hi = mid; else lo = mid + 1;
    }
    out[y * w + x] = lo;
}

__global__ void sobel(const uchar *in, uchar *out, int w, int h)
{
    __shared__ uchar tile[18][34];
    int bx = blockIdx.x * 32 - 1, by = blockIdx.y * 16 - 1;
    for (int i = threadIdx.y * 32 + threadIdx.x; i < 18 * 34; i += 512)
        tile[i / 34][i % 34] = in[clampi(by + i / 34, 0, h - 1) * w + clampi(bx + i % 34, 0, w - 1)];
    __syncthreads();
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x >= w || y >= h) return;
#define P(dx, dy) (int)tile[(int)threadIdx.y + 1 + (dy)][(int)threadIdx.x + 1 + (dx)]
    int gx = P(1, -1) + 2 * P(1, 0) + P(1, 1) - P(-1, -1) - 2 * P(-1, 0) - P(-1, 1);
    int gy = P(-1, 1) + 2 * P(0, 1) + P(1, 1) - P(-1, -1) - 2 * P(0, -1) - P(1, -1);
    out[y * w + x] = min(255, (int)sqrtf((float)(gx * gx + gy * gy)));
}

__global__ void bilateral(const uchar *in, float *out, int w, int h, int radius, float inv2s, float inv2r)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float centre = in[y * w + x], sum = 0, weight = 0;
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++) {
            float v = in[clampi(y + dy, 0, h - 1) * w + clampi(x + dx, 0, w - 1)], d = v - centre;
            float k = __expf(-(dx * dx + dy * dy) * inv2s - d * d * inv2r);
            sum += k * v;
            weight += k;
        }
    out[y * w + x] = sum / weight;
}

int main(int argc, char **argv)
{
    int w = argc > 1 ? atoi(argv[1]) : 2048, h = w * 3 / 4, loops = argc > 2 ? atoi(argv[2]) : 600;
    std::vector<uchar> img(w * h), m3(w * h), m7(w * h), so(w * h);
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) img[y * w + x] = (uchar)(128 + 60 * sin(x * 0.02) + 40 * cos(y * 0.03) + ((x * 7919 + y * 104729) % 53) - 26);
    uchar *dIn, *dOut;
    float *dF;
    if (cudaMalloc(&dIn, w * h) || cudaMalloc(&dOut, w * h) || cudaMalloc(&dF, 4 * w * h)) return 3;
    cudaMemcpy(dIn, img.data(), w * h, cudaMemcpyHostToDevice);
    std::vector<float> bn(w * h), br(w * h), bi(w * h);
    dim3 b(16, 16), g((w + 15) / 16, (h + 15) / 16);
    const int R = 4;
    for (int i = 0; i < loops; i++) boxNaive<<<g, b>>>(dIn, dF, w, h, 1 + i % R + (i == loops - 1 ? R - 1 - (loops - 1) % R : 0));
    cudaMemcpy(bn.data(), dF, 4 * w * h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < loops / 4; i++) boxRows<<<(h + 63) / 64, 64>>>(dIn, dF, w, h, R);
    cudaMemcpy(br.data(), dF, 4 * w * h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < loops; i++) median3<<<g, b>>>(dIn, dOut, w, h);
    cudaMemcpy(m3.data(), dOut, w * h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < loops; i++) median7<<<g, b>>>(dIn, dOut, w, h);
    cudaMemcpy(m7.data(), dOut, w * h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < loops * 4; i++) sobel<<<dim3((w + 31) / 32, (h + 15) / 16), dim3(32, 16)>>>(dIn, dOut, w, h);
    cudaMemcpy(so.data(), dOut, w * h, cudaMemcpyDeviceToHost);
    for (int i = 0; i < loops; i++) bilateral<<<g, b>>>(dIn, dF, w, h, 3 + i % 3 * 2, 1 / 18.f, 1 / 800.f);
    bilateral<<<g, b>>>(dIn, dF, w, h, 5, 1 / 18.f, 1 / 800.f);
    cudaMemcpy(bi.data(), dF, 4 * w * h, cudaMemcpyDeviceToHost);
    if (cudaGetLastError() != cudaSuccess) return 3;
    auto at = [&](int x, int y) { return (int)img[std::min(std::max(y, 0), h - 1) * w + std::min(std::max(x, 0), w - 1)]; };
    int bad[5] = {};
    for (int i = 0; i < w * h; i += 991) {
        int x = i % w, y = i / w, s = 0, row = 0;
        for (int dy = -R; dy <= R; dy++)
            for (int dx = -R; dx <= R; dx++) s += at(x + dx, y + dy), row += dy ? 0 : at(x + dx, y);
        bad[0] += fabs(bn[i] - s / 81.0) > 1e-3 || fabs(br[i] - row / 9.0) > 1e-3;
        int v[49], n = 0;
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++) v[n++] = at(x + dx, y + dy);
        std::sort(v, v + 9);
        bad[1] += v[4] != m3[i];
        n = 0;
        for (int dy = -3; dy <= 3; dy++)
            for (int dx = -3; dx <= 3; dx++) v[n++] = at(x + dx, y + dy);
        std::sort(v, v + 49);
        bad[2] += v[24] != m7[i];
        int gx = at(x + 1, y - 1) + 2 * at(x + 1, y) + at(x + 1, y + 1) - at(x - 1, y - 1) - 2 * at(x - 1, y) - at(x - 1, y + 1);
        int gy = at(x - 1, y + 1) + 2 * at(x, y + 1) + at(x + 1, y + 1) - at(x - 1, y - 1) - 2 * at(x, y - 1) - at(x + 1, y - 1);
        bad[3] += abs((int)std::min(255.0, sqrt((double)(gx * gx + gy * gy))) - so[i]) > 1;
        double sum = 0, weight = 0;
        for (int dy = -5; dy <= 5; dy++)
            for (int dx = -5; dx <= 5; dx++) {
                double d = at(x + dx, y + dy) - at(x, y), k = exp(-(dx * dx + dy * dy) / 18.0 - d * d / 800.0);
                sum += k * at(x + dx, y + dy);
                weight += k;
            }
        bad[4] += fabs(bi[i] - sum / weight) > 0.05;
    }
    printf("wrong pixels: box %d, median %d %d, sobel %d, bilateral %d\n", bad[0], bad[1], bad[2], bad[3], bad[4]);
    return bad[0] || bad[1] || bad[2] || bad[3] || bad[4];
}
