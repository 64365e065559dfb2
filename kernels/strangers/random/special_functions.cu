// SPDX-License-Identifier: Apache-2.0
// Special functions in double and single precision, a Simpson integral, a root by Newton until it settles.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#define KERNEL(name, type, expression) __global__ void name(const type *x, type *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { type v = x[i]; y[i] = expression; } }
KERNEL(gamma_d, double, lgamma(v))
KERNEL(erf_d, double, erf(v) + erfc(v) * exp(v * v) * 1e-3)
KERNEL(bessel_d, double, j0(v) + y1(v + 0.1))
KERNEL(power_d, double, pow(v, 1.7) + cbrt(v))
KERNEL(trig_d, double, sin(v * 1000) * cos(v * 1000) + atan2(v, 1 - v))
KERNEL(gamma_f, float, lgammaf(v))
KERNEL(trig_fast, float, __sinf(v) * __cosf(v) + __logf(v + 1))
KERNEL(divide_d, double, 1 / (1 + 1 / (1 + 1 / (1 + 1 / (1 + v)))))

__global__ void simpson(double *out, int n, int steps)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	double a = i * 1e-5, h = 1.0 / steps, s = 0;
	for (int k = 0; k < steps; k++) { double x = a + k * h; s += h / 6 * (exp(-x * x) + 4 * exp(-(x + h / 2) * (x + h / 2)) + exp(-(x + h) * (x + h))); }
	out[i] = s;
}
__global__ void newton(const double *x, double *y, int n) // w e^w = x
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	double w = 0.5, last;
	int k = 0;
	do { last = w; double e = exp(w); w -= (w * e - x[i]) / (e * (w + 1)); } while (fabs(w - last) > 1e-14 * fabs(w) && ++k < 100);
	y[i] = w;
}
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1 << 24, loops = argc > 2 ? atoi(argv[2]) : 400, g = (n + 255) / 256, bad = 0;
	std::vector<double> h(n), o(n);
	std::vector<float> f(n), of(n);
	for (int i = 0; i < n; i++) f[i] = h[i] = 0.01 + 5.0 * i / n, h[i] = f[i];
	double *x, *y;
	float *xf, *yf;
	if (cudaMalloc(&x, 8l * n) || cudaMalloc(&y, 8l * n) || cudaMalloc(&xf, 4l * n) || cudaMalloc(&yf, 4l * n)) return 2;
	cudaMemcpy(x, h.data(), 8l * n, cudaMemcpyHostToDevice); cudaMemcpy(xf, f.data(), 4l * n, cudaMemcpyHostToDevice);
#define TEST(kernel, formula) for (int l = 0; l < loops; l++) kernel<<<g, 256>>>(x, y, n); cudaMemcpy(o.data(), y, 8l * n, cudaMemcpyDeviceToHost); for (int i = 0; i < n; i += 997) { double v = h[i], e = formula; bad += !(fabs(o[i] - e) <= 1e-9 * (1 + fabs(e))); }
	TEST(gamma_d, lgamma(v))
	TEST(erf_d, erf(v) + erfc(v) * exp(v * v) * 1e-3)
	TEST(bessel_d, j0(v) + y1(v + 0.1))
	TEST(power_d, pow(v, 1.7) + cbrt(v))
	TEST(trig_d, sin(v * 1000) * cos(v * 1000) + atan2(v, 1 - v))
	TEST(divide_d, 1 / (1 + 1 / (1 + 1 / (1 + 1 / (1 + v)))))
	TEST(newton, o[i]; bad += !(fabs(e * exp(e) - v) < 1e-9))
	for (int l = 0; l < loops; l++) { gamma_f<<<g, 256>>>(xf, yf, n); trig_fast<<<g, 256>>>(xf, yf, n); }
	cudaMemcpy(of.data(), yf, 4l * n, cudaMemcpyDeviceToHost);
	for (int i = 0; i < n; i += 997) bad += !(fabs(of[i] - (sin(h[i]) * cos(h[i]) + log(h[i] + 1))) < 1e-3);
	for (int steps = 8; steps <= 128; steps *= 2) simpson<<<(100000 + 127) / 128, 128>>>(y, 100000, steps);
	cudaMemcpy(o.data(), y, 800000, cudaMemcpyDeviceToHost);
	for (int i = 0; i < 100000; i += 777) { double a = i * 1e-5; bad += !(fabs(o[i] - sqrt(M_PI) / 2 * (erf(a + 1) - erf(a))) < 1e-9); }
	printf("%d wrong, %s\n", bad, cudaGetErrorString(cudaGetLastError()));
	return bad != 0;
}
