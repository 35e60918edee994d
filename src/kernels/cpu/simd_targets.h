// For which instruction sets the vectorised kernels are compiled: on x86 by the width of the vectors (SSE4, AVX2,
// AVX-512), elsewhere Highway's baseline. A machine without any of them runs the plain kernels (simd_table.cpp).
// Vectors of unknown length (SVE, RISC-V) cannot be kept in arrays, which these kernels do. To be included before any
// header of Highway.
#pragma once

#if defined(__x86_64__)
#define HWY_BASELINE_TARGETS HWY_SSE4
#endif
#define HWY_DISABLED_TARGETS (HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
