/* The fat binaries of modules.def, from the folder GW_FATBINS; none where it isn't defined. */
#include "kernels/kernels.h"

#include <stddef.h>

#ifdef GW_FATBINS
#define MODULE(name, ptx) \
	__asm__(".pushsection .rodata\n" \
		".balign 16\n" \
		".hidden gw_fatbin_" #name "\n" \
		".globl gw_fatbin_" #name "\n" \
		"gw_fatbin_" #name ":\n" \
		".incbin \"" GW_FATBINS "/" #name ".fatbin\"\n" \
		".hidden gw_fatbin_end_" #name "\n" \
		".globl gw_fatbin_end_" #name "\n" \
		"gw_fatbin_end_" #name ":\n" \
		".popsection\n"); \
	extern const char gw_fatbin_##name[], gw_fatbin_end_##name[];
#include "kernels/modules.def"
#undef MODULE
#endif

const struct gw_kernel_image gw_kernel_images[] = {
#ifdef GW_FATBINS
#define MODULE(name, ptx) {#name, gw_fatbin_##name, gw_fatbin_end_##name},
#include "kernels/modules.def"
#undef MODULE
#endif
	{NULL, NULL, NULL},
};
