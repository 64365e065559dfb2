// SPDX-License-Identifier: Apache-2.0
// Packed fp32 of sm_100.
#include <stdint.h>
extern "C" __global__ void f2(uint64_t*a,uint64_t*b,float*f,int n){uint64_t x=a[threadIdx.x],y=b[threadIdx.x],z=b[threadIdx.x+n];uint64_t r,q,s;
asm volatile("fma.rn.f32x2 %0,%1,%2,%3;":"=l"(r):"l"(x),"l"(y),"l"(z));
asm volatile("add.rn.f32x2 %0,%1,%2;":"=l"(q):"l"(r),"l"(y));
asm volatile("mul.rn.f32x2 %0,%1,%2;":"=l"(s):"l"(q),"l"(y));a[threadIdx.x]=s;
float u=f[n]; float v=f[n+1]; f[threadIdx.x]=(u*v+3.f>2.f?u:v)+(int)u+(float)n;}
