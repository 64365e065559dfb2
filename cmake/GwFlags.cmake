# Flags every target of ours shares, through the interface target gw_flags. The hardening is
# that of the OpenSSF Compiler Options Hardening Guide for C, less what the notes below say.
# gw_product_flags are the same without the sanitizer: libgpuwatch.so is always built with
# them, because no sanitizer's runtime can be preloaded into a program that lacks it.
include(CheckCCompilerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(GW_SANITIZE "" CACHE STRING "Sanitizers to build the tests with: address, undefined, address,undefined, thread, or empty")
string(COMPARE EQUAL "${GW_SANITIZE}" thread GW_SANITIZE_THREAD)
option(GW_COVERAGE "Build for coverage" OFF)
option(GW_WERROR "Treat warnings as errors" OFF)

add_library(gw_product_flags INTERFACE)
add_library(gw_flags INTERFACE)
target_link_libraries(gw_flags INTERFACE gw_product_flags)
target_compile_definitions(gw_product_flags INTERFACE _GNU_SOURCE)
# -fexceptions: an exception thrown in the application may pass through our frames.
# Sections of their own: libgpuwatch.so is linked without the functions that it never calls.
# No -z nodlopen: CUDA_INJECTION64_PATH brings the preloaded library in by dlopen.
# The forced header keeps newer C libraries from binding us to symbols above GLIBC_2.34.
target_compile_options(gw_product_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
  -Wformat-security -fno-strict-aliasing -fno-strict-overflow
  -fno-delete-null-pointer-checks -fexceptions -fstack-protector-strong
  -ffunction-sections -fdata-sections
  "SHELL:-include ${CMAKE_SOURCE_DIR}/cmake/glibc_floor.h"
  $<$<BOOL:${GW_WERROR}>:-Werror>)
target_link_options(gw_product_flags INTERFACE
  -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed)

set(_branches -fcf-protection=full)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(_branches -mbranch-protection=standard)
endif()
# Where the compiler has them. -ftrivial-auto-var-init is left
# out on purpose: it clears every local buffer on each call, which the hooks' budget does not allow, and it hides reads
# of uninitialised memory from valgrind.
foreach(flag -fstack-clash-protection ${_branches} -fstrict-flex-arrays=3)
  string(MAKE_C_IDENTIFIER "GW_HAS${flag}" var)
  check_c_compiler_flag(${flag} ${var})
  if(${var})
    target_compile_options(gw_product_flags INTERFACE ${flag})
  endif()
endforeach()

# Small before fast. -Oz, which gcc has since 12, makes 1% to 5% less code than -Os; gcc another 0.2% where it saves no
# registers around calls.
check_c_compiler_flag(-Oz GW_HAS_OZ)
set(GW_SMALL "$<$<CONFIG:Release>:-Os>")
if(GW_HAS_OZ)
  set(GW_SMALL "$<$<CONFIG:Release>:-Oz;$<$<C_COMPILER_ID:GNU>:-fno-caller-saves>>")
endif()

if(GW_SANITIZE)
  # ThreadSanitizer does not model fences. What ours order are atomic words, which it takes as such, or
  # the live segment, which other processes read.
  target_compile_options(gw_flags INTERFACE -fsanitize=${GW_SANITIZE} -fno-omit-frame-pointer
                         $<$<AND:$<BOOL:${GW_SANITIZE_THREAD}>,$<C_COMPILER_ID:GNU>>:-Wno-tsan>
                         -fno-sanitize-recover=all)
  target_link_options(gw_flags INTERFACE -fsanitize=${GW_SANITIZE})
else()
  # Needs optimisation. Level 3 acts as 2 where the compiler or the C library has no 3; some
  # distributions define it themselves, hence the -U.
  target_compile_options(gw_product_flags INTERFACE
    $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE> $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=3>)
endif()
if(GW_COVERAGE)
  target_compile_options(gw_product_flags INTERFACE --coverage)
  target_link_options(gw_product_flags INTERFACE --coverage)
endif()
