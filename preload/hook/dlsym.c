/*
 * dlsym and dlvsym, stood in for: a name of hooks.def looked up in libcuda is answered with
 * our wrapper. Every other call must reach the real function by a jump, with the caller's
 * return address still on the stack: RTLD_NEXT and RTLD_DEFAULT look at it. A C function
 * can't promise a tail jump, hence the assembly.
 */
#include "preload/hook/lookup.h"
#include "preload/runtime/arch/arch.h"
#include "preload/runtime/linker/real_dl.h"

GW_ASM_LOOKUP2("dlsym", "gw_dlsym_filter", "gw_next_dlsym");
GW_ASM_LOOKUP3("dlvsym", "gw_dlvsym_filter", "gw_next_dlvsym");
