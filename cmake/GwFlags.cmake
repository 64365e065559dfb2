# SPDX-License-Identifier: Apache-2.0
# Flags every target of ours shares, through the interface target gw_flags.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

set(GW_SANITIZE "" CACHE STRING "Sanitizer to build the tests with: address, undefined, thread, or empty")
option(GW_COVERAGE "Build for coverage" OFF)
option(GW_WERROR "Treat warnings as errors" OFF)

add_library(gw_flags INTERFACE)
target_compile_options(gw_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes
  -fno-strict-aliasing -fstack-protector-strong
  $<$<BOOL:${GW_WERROR}>:-Werror>)
target_compile_definitions(gw_flags INTERFACE _GNU_SOURCE)
target_link_options(gw_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
include(CheckCCompilerFlag)
foreach(flag -fstack-clash-protection -fcf-protection=full -ftrivial-auto-var-init=zero)
  string(MAKE_C_IDENTIFIER "GW_HAS${flag}" var)
  check_c_compiler_flag(${flag} ${var})
  if(${var} AND NOT flag STREQUAL "-ftrivial-auto-var-init=zero")
    target_compile_options(gw_flags INTERFACE ${flag})
  endif()
endforeach()
if(GW_SANITIZE)
  target_compile_options(gw_flags INTERFACE -fsanitize=${GW_SANITIZE} -fno-omit-frame-pointer
                         $<$<STREQUAL:${GW_SANITIZE},undefined>:-fno-sanitize-recover=all>)
  target_link_options(gw_flags INTERFACE -fsanitize=${GW_SANITIZE})
else()
  target_compile_definitions(gw_flags INTERFACE $<$<NOT:$<CONFIG:Debug>>:_FORTIFY_SOURCE=2>)
endif()
if(GW_COVERAGE)
  target_compile_options(gw_flags INTERFACE --coverage)
  target_link_options(gw_flags INTERFACE --coverage)
endif()
