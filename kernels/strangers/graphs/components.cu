// SPDX-License-Identifier: Apache-2.0
// connected components: hooking and pointer jumping (Shiloach-Vishkin), then label propagation
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <numeric>
#define N_DEFAULT 3000000

__global__ void init(int *parent, int n) { int i = blockIdx.x*blockDim.x+threadIdx.x; if (i<n) parent[i]=i; }

__global__ void hook(const int2 *edge, int m, int *parent, int *again)
{
  int i = blockIdx.x*blockDim.x+threadIdx.x;
  if (i>=m) return;
  int a = parent[edge[i].x], b = parent[edge[i].y];
  if (a==b) return;
  int hi = max(a,b), lo = min(a,b);
  if (atomicMin(&parent[hi], lo) > lo) *again = 1;
}

__global__ void jump(int *parent, int n)
{
  int i = blockIdx.x*blockDim.x+threadIdx.x;
  if (i>=n) return;
  int p = parent[i];
  while (p != parent[p]) p = parent[p];
  parent[i] = p;
}

__global__ void propagate(const int2 *edge, int m, int *label, int *again)
{
  int i = blockIdx.x*blockDim.x+threadIdx.x;
  if (i>=m) return;
  int a = label[edge[i].x], b = label[edge[i].y];
  if (a<b) { atomicMin(&label[edge[i].y], a); *again=1; }
  else if (b<a) { atomicMin(&label[edge[i].x], b); *again=1; }
}

__global__ void count_roots(const int *parent, int n, int *roots)
{
  int i = blockIdx.x*blockDim.x+threadIdx.x;
  unsigned votes = __ballot_sync(0xffffffff, i<n && parent[i]==i);
  if ((threadIdx.x&31)==0 && votes) atomicAdd(roots, __popc(votes));
}

static int find(std::vector<int> &p, int v) { while (p[v]!=v) v = p[v] = p[p[v]]; return v; }

int main(int argc, char **argv)
{
  int n = argc>1 ? atoi(argv[1]) : N_DEFAULT, reps = argc>2 ? atoi(argv[2]) : 300, m = n + n/5;
  std::vector<int2> e(m);
  unsigned long long s = 99;
  for (auto &x : e) {
    s = s*6364136223846793005ull+1442695040888963407ull; x.x = (s>>33)%n;
    s = s*6364136223846793005ull+1442695040888963407ull; x.y = (x.x + 1 + (s>>33)%1000)%n;
  }
  int2 *de; int *dp, *dl, *flag, again, roots[2];
  cudaMalloc(&de, m*sizeof(int2)); cudaMalloc(&dp, n*4); cudaMalloc(&dl, n*4); cudaMalloc(&flag, 12);
  cudaMemcpy(de, e.data(), m*sizeof(int2), cudaMemcpyHostToDevice);
  int bn = (n+255)/256, bm = (m+255)/256;
  for (int r=0; r<reps; r++) {
    init<<<bn,256>>>(dp,n);
    do {
      cudaMemset(flag,0,4);
      hook<<<bm,256>>>(de,m,dp,flag);
      jump<<<bn,256>>>(dp,n);
      cudaMemcpy(&again,flag,4,cudaMemcpyDeviceToHost);
    } while (again);
  }
  init<<<bn,256>>>(dl,n);
  do {
    cudaMemset(flag,0,4);
    propagate<<<bm,256>>>(de,m,dl,flag);
    cudaMemcpy(&again,flag,4,cudaMemcpyDeviceToHost);
  } while (again);
  cudaMemset(flag+1,0,8);
  count_roots<<<bn,256>>>(dp,n,flag+1);
  count_roots<<<bn,256>>>(dl,n,flag+2);
  cudaMemcpy(roots,flag+1,8,cudaMemcpyDeviceToHost);
  if (cudaDeviceSynchronize()!=cudaSuccess) { printf("cuda error\n"); return 3; }
  std::vector<int> p(n); std::iota(p.begin(),p.end(),0);
  int comps = n;
  for (auto &x : e) { int a=find(p,x.x), b=find(p,x.y); if (a!=b) { p[std::max(a,b)]=std::min(a,b); comps--; } }
  printf("components %d %d, expected %d\n", roots[0], roots[1], comps);
  return !(roots[0]==comps && roots[1]==comps);
}
