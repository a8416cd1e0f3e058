#ifndef __SKIP_INTERNAL_FATBINARY_HEADERS
#include "fatbinary_section.h"
#endif
#define __CUDAFATBINSECTION  ".nvFatBinSegment"
#define __CUDAFATBINDATASECTION  ".nv_fatbin"
asm(
".section .nv_fatbin, \"a\"\n"
".align 8\n"
"fatbinData:\n"
".quad 0x00100001ba55ed50,0x0000000000000088,0x0000005001010001,0x0000000000000038\n"
".quad 0x0000004000000036,0x0000005000080000,0x0000000000000000,0x0000000000008011\n"
".quad 0x0000000000000000,0x000000000000002d,0x0000000000000048,0x0000000000000000\n"
".quad 0x01692d20fd2fb528,0x6f69737265762e00,0x742e0a302e38206e,0x6d73207465677261\n"
".quad 0x6464612e0a30385f, 0x7a69735f73736572, 0x0000000a34362065\n"
".text\n");
#ifdef __cplusplus
extern "C" {
#endif
extern const unsigned long long fatbinData[19];
#ifdef __cplusplus
}
#endif
#ifdef __cplusplus
extern "C" {
#endif
static const __fatBinC_Wrapper_t __fatDeviceText __attribute__ ((aligned (8))) __attribute__ ((section (__CUDAFATBINSECTION)))= 
	{ 0x466243b1, 1, fatbinData, 0 };
#ifdef __cplusplus
}
#endif
