// SPDX-License-Identifier: Apache-2.0
// Lattice Boltzmann, D2Q9: a channel with a cylinder. Collision and streaming apart, then fused; they must agree.
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

#define Q 9
__constant__ int ex[Q] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, ey[Q] = {0, 0, 1, 0, -1, 1, 1, -1, -1}, opposite[Q] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
__constant__ float weight[Q] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};

__global__ void setup(float *f, unsigned char *solid, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= w) return;
    int c = y * w + x;
    float dx = x - w / 4.f, dy = y - h / 2.f;
    solid[c] = y == 0 || y == h - 1 || dx * dx + dy * dy < h * h / 100.f;
    for (int q = 0; q < Q; q++) f[q * w * h + c] = weight[q] * (1 + 3 * 0.08f * ex[q] + 4.5f * 0.0064f * ex[q] * ex[q] - 1.5f * 0.0064f);
}

__device__ void relax(float *v, float omega)
{
    float rho = 0, ux = 0, uy = 0;
    for (int q = 0; q < Q; q++) { rho += v[q]; ux += ex[q] * v[q]; uy += ey[q] * v[q]; }
    ux /= rho; uy /= rho;
    float u2 = 1.5f * (ux * ux + uy * uy);
    for (int q = 0; q < Q; q++) {
        float cu = 3 * (ex[q] * ux + ey[q] * uy);
        v[q] += omega * (weight[q] * rho * (1 + cu + 0.5f * cu * cu - u2) - v[q]);
    }
}

__global__ void collide(float *f, const unsigned char *solid, int w, int h, float omega)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x, n = w * h;
    if (c >= n) return;
    float v[Q];
    for (int q = 0; q < Q; q++) v[q] = f[q * n + c];
    if (solid[c]) {
        for (int q = 0; q < Q; q++) f[q * n + c] = v[opposite[q]];
        return;
    }
    relax(v, omega);
    for (int q = 0; q < Q; q++) f[q * n + c] = v[q];
}

__global__ void stream(const float *f, float *g, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, q = blockIdx.z;
    if (x >= w) return;
    int sx = (x - ex[q] + w) % w, sy = (y - ey[q] + h) % h;
    g[(q * h + y) * w + x] = f[(q * h + sy) * w + sx];
}

__global__ void fused(const float *__restrict__ f, float *__restrict__ g, const unsigned char *solid, int w, int h, float omega)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, n = w * h;
    if (x >= w) return;
    float v[Q];
#pragma unroll
    for (int q = 0; q < Q; q++) v[q] = f[q * n + y * w + x];
    if (solid[y * w + x]) {
        float t[Q];
        for (int q = 0; q < Q; q++) t[q] = v[opposite[q]];
        for (int q = 0; q < Q; q++) v[q] = t[q];
    } else
        relax(v, omega);
#pragma unroll
    for (int q = 0; q < Q; q++) g[q * n + (y + ey[q] + h) % h * w + (x + ex[q] + w) % w] = v[q];
}

__global__ void density(const float *f, double *mass, int n)
{
    double m = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n * Q; i += gridDim.x * blockDim.x) m += f[i];
    atomicAdd(mass, m);
}

int main(int argc, char **argv)
{
    int w = argc > 1 ? atoi(argv[1]) : 4096, h = w / 4, steps = argc > 2 ? atoi(argv[2]) : 1500, n = w * h;
    float *a, *b, *c, *d, *ha = (float *)malloc(4l * Q * n), *hc = (float *)malloc(4l * Q * n);
    unsigned char *solid;
    double *mass, m[2];
    cudaMalloc(&a, 4l * Q * n); cudaMalloc(&b, 4l * Q * n); cudaMalloc(&c, 4l * Q * n); cudaMalloc(&d, 4l * Q * n);
    cudaMalloc(&solid, n); cudaMalloc(&mass, 16);
    cudaMemset(mass, 0, 16);
    dim3 rows((w + 255) / 256, h), planes((w + 255) / 256, h, Q);
    setup<<<rows, 256>>>(a, solid, w, h);
    setup<<<rows, 256>>>(c, solid, w, h);
    density<<<132, 256>>>(a, mass, n);
    for (int s = 0; s < steps; s++) {
        collide<<<(n + 255) / 256, 256>>>(a, solid, w, h, 1.2f);
        stream<<<planes, 256>>>(a, b, w, h);
        float *t = a; a = b; b = t;
        fused<<<rows, 256>>>(c, d, solid, w, h, 1.2f);
        t = c; c = d; d = t;
    }
    density<<<132, 256>>>(c, mass + 1, n);
    cudaMemcpy(ha, a, 4l * Q * n, cudaMemcpyDeviceToHost);
    cudaMemcpy(hc, c, 4l * Q * n, cudaMemcpyDeviceToHost);
    cudaMemcpy(m, mass, 16, cudaMemcpyDeviceToHost);
    double off = 0;
    for (long i = 0; i < (long)Q * n; i++) if (!(fabs(ha[i] - hc[i]) <= off)) off = fabs(ha[i] - hc[i]);
    printf("mass %.9g, then %.9g; the two ways differ by %g; %s\n", m[0], m[1], off, cudaGetErrorString(cudaGetLastError()));
    return !(off < 1e-4 && fabs(m[1] / m[0] - 1) < 1e-3);
}
