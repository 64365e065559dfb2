// SPDX-License-Identifier: Apache-2.0
// Molecular dynamics of a Lennard-Jones liquid: cell lists made on the GPU, forces by cell, velocity Verlet.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <cstring>
#include <vector>

static void E(cudaError_t e) { if (e) { fprintf(stderr, "%s\n", cudaGetErrorName(e)); exit(42); } }
struct Box { float length; int cells; };

__device__ int cell_of(float4 p, Box b)
{
	int x = min(b.cells - 1, (int)(p.x / b.length * b.cells)), y = min(b.cells - 1, (int)(p.y / b.length * b.cells)),
	    z = min(b.cells - 1, (int)(p.z / b.length * b.cells));
	return (z * b.cells + y) * b.cells + x;
}

__global__ void cell_count(const float4 *pos, int n, Box b, int *count)
{
	int i = threadIdx.x + blockIdx.x * blockDim.x;
	if (i < n) atomicAdd(&count[cell_of(pos[i], b)], 1);
}

// one block goes over all cells
__global__ void cell_offsets(const int *count, int *start, int *cursor, int cells)
{
	__shared__ int part[1024];
	int carry = 0;
	for (int base = 0; base < cells; base += 1024) {
		int i = base + threadIdx.x, v = i < cells ? count[i] : 0;
		part[threadIdx.x] = v;
		__syncthreads();
		for (int d = 1; d < 1024; d <<= 1) {
			int t = threadIdx.x >= d ? part[threadIdx.x - d] : 0;
			__syncthreads();
			part[threadIdx.x] += t;
			__syncthreads();
		}
		if (i < cells) start[i] = cursor[i] = carry + part[threadIdx.x] - v;
		carry += part[1023];
		__syncthreads();
	}
	if (threadIdx.x == 0) start[cells] = carry;
}

__global__ void cell_fill(const float4 *pos, int n, Box b, int *cursor, int *member)
{
	int i = threadIdx.x + blockIdx.x * blockDim.x;
	if (i < n) member[atomicAdd(&cursor[cell_of(pos[i], b)], 1)] = i;
}

__device__ float wrap(float d, float l) { return d - l * rintf(d / l); }

__global__ void forces(const float4 *pos, float4 *force, int n, Box b, const int *start, const int *member)
{
	int i = threadIdx.x + blockIdx.x * blockDim.x;
	if (i >= n) return;
	float4 p = pos[i], f = make_float4(0, 0, 0, 0);
	int c = cell_of(p, b), cx = c % b.cells, cy = c / b.cells % b.cells, cz = c / b.cells / b.cells;
	for (int k = 0; k < 27; k++) {
		int x = (cx + k % 3 - 1 + b.cells) % b.cells, y = (cy + k / 3 % 3 - 1 + b.cells) % b.cells, z = (cz + k / 9 - 1 + b.cells) % b.cells;
		int q = (z * b.cells + y) * b.cells + x;
		for (int m = start[q]; m < start[q + 1]; m++) {
			int j = member[m];
			if (j == i) continue;
			float dx = wrap(p.x - pos[j].x, b.length), dy = wrap(p.y - pos[j].y, b.length), dz = wrap(p.z - pos[j].z, b.length);
			float r2 = dx * dx + dy * dy + dz * dz;
			if (r2 < 6.25f) {
				float ir2 = 1 / r2, ir6 = ir2 * ir2 * ir2, s = 24 * ir6 * (2 * ir6 - 1) * ir2;
				f.x += s * dx; f.y += s * dy; f.z += s * dz;
				f.w += 2 * ir6 * (ir6 - 1);
			}
		}
	}
	force[i] = f;
}

__global__ void kick(float4 *vel, const float4 *force, int n, float half)
{
	int i = threadIdx.x + blockIdx.x * blockDim.x;
	if (i >= n) return;
	vel[i].x += half * force[i].x; vel[i].y += half * force[i].y; vel[i].z += half * force[i].z;
}

__global__ void drift(float4 *pos, const float4 *vel, int n, float dt, float length)
{
	int i = threadIdx.x + blockIdx.x * blockDim.x;
	if (i >= n) return;
	float4 p = pos[i];
	p.x += dt * vel[i].x; p.y += dt * vel[i].y; p.z += dt * vel[i].z;
	p.x -= length * floorf(p.x / length); p.y -= length * floorf(p.y / length); p.z -= length * floorf(p.z / length);
	pos[i] = p;
}

__global__ void energy(const float4 *vel, const float4 *force, int n, double *sum)
{
	double e = 0;
	for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < n; i += blockDim.x * gridDim.x)
		e += 0.5 * (vel[i].x * vel[i].x + vel[i].y * vel[i].y + vel[i].z * vel[i].z) + force[i].w;
	for (int d = 16; d; d /= 2) e += __shfl_down_sync(~0u, e, d);
	if (!(threadIdx.x & 31)) atomicAdd(sum, e);
}

int main(int argc, char **argv)
{
	int side = argc > 1 ? atoi(argv[1]) : 40, steps = argc > 2 ? atoi(argv[2]) : 2000, n = side * side * side;
	float spacing = 1.12f;
	Box box = {side * spacing, 0};
	box.cells = (int)(box.length / 2.5f);
	int cells = box.cells * box.cells * box.cells;
	std::vector<float4> p(n), v(n), f(n);
	srand(11);
	for (int i = 0; i < n; i++) {
		p[i] = make_float4((i % side + 0.5f) * spacing, (i / side % side + 0.5f) * spacing, (i / side / side + 0.5f) * spacing, 0);
		v[i] = make_float4(rand() / (float)RAND_MAX - 0.5f, rand() / (float)RAND_MAX - 0.5f, rand() / (float)RAND_MAX - 0.5f, 0);
	}
	float4 *pos, *vel, *force;
	int *count, *start, *cursor, *member;
	double *sum, first = 0, last = 0;
	E(cudaMalloc(&pos, n * 16)); E(cudaMalloc(&vel, n * 16)); E(cudaMalloc(&force, n * 16)); E(cudaMalloc(&count, 4 * cells));
	E(cudaMalloc(&start, 4 * cells + 4)); E(cudaMalloc(&cursor, 4 * cells)); E(cudaMalloc(&member, 4 * n)); E(cudaMalloc(&sum, 8));
	E(cudaMemcpy(pos, p.data(), n * 16, cudaMemcpyHostToDevice));
	E(cudaMemcpy(vel, v.data(), n * 16, cudaMemcpyHostToDevice));
	const int T = 128, B = (n + T - 1) / T;
	for (int s = 0; s <= steps; s++) {
		if (s) {
			kick<<<B, T>>>(vel, force, n, 0.001f);
			drift<<<B, T>>>(pos, vel, n, 0.002f, box.length);
		}
		E(cudaMemsetAsync(count, 0, 4 * cells));
		cell_count<<<B, T>>>(pos, n, box, count);
		cell_offsets<<<1, 1024>>>(count, start, cursor, cells);
		cell_fill<<<B, T>>>(pos, n, box, cursor, member);
		forces<<<B, T>>>(pos, force, n, box, start, member);
		if (s) kick<<<B, T>>>(vel, force, n, 0.001f);
		if (s % 100 == 0 || s == steps) {
			E(cudaMemset(sum, 0, 8));
			energy<<<64, 256>>>(vel, force, n, sum);
			E(cudaMemcpy(&last, sum, 8, cudaMemcpyDeviceToHost));
			if (!s) first = last;
		}
	}
	E(cudaMemcpy(p.data(), pos, n * 16, cudaMemcpyDeviceToHost));
	E(cudaMemcpy(f.data(), force, n * 16, cudaMemcpyDeviceToHost));
	int wrong = 0;
	for (int k = 0; k < 40; k++) { // some forces by brute force
		int i = rand() % n;
		double fx = 0, size = 0;
		for (int j = 0; j < n; j++) {
			if (j == i) continue;
			double d[3] = {p[i].x - p[j].x, p[i].y - p[j].y, p[i].z - p[j].z}, r2 = 0;
			for (double &x : d) x -= box.length * rint(x / box.length), r2 += x * x;
			if (r2 >= 6.25) continue;
			double ir2 = 1 / r2, ir6 = ir2 * ir2 * ir2, q = 24 * ir6 * (2 * ir6 - 1) * ir2;
			fx += q * d[0];
			size += fabs(q * d[0]);
		}
		wrong += !(fabs(fx - f[i].x) < 1e-3 * size + 1e-2);
	}
	printf("energy %g, then %g; %d of 40 forces wrong\n", first / n, last / n, wrong);
	return wrong || !(fabs(last - first) < 0.1 * fabs(first));
}
