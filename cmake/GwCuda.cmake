# SPDX-License-Identifier: Apache-2.0
# CUDA and CUPTI are opened at run time; only their headers are needed here, and nvcc for the
# kernels of `gpuwatch calibrate`, which is built without them where there is none. They are
# looked for in CUDA_HOME, beside nvcc, in /usr/local/cuda, and last in build/cuda,
# where `tests/run` and `examples/quickstart` unpack the pip wheels that carry them.
find_program(GW_NVCC nvcc HINTS ENV CUDA_HOME PATH_SUFFIXES bin
             PATHS /usr/local/cuda/bin ${CMAKE_SOURCE_DIR}/build/cuda/bin)
# The wheels' nvcc compiles kernels, but has nothing to link programs with: GW_TOOLKIT_NVCC is one
# of a whole toolkit, or empty.
set(GW_TOOLKIT_NVCC "")
if(GW_NVCC AND NOT GW_NVCC STREQUAL "${CMAKE_SOURCE_DIR}/build/cuda/bin/nvcc")
  set(GW_TOOLKIT_NVCC ${GW_NVCC})
endif()
set(_roots)
if(DEFINED ENV{CUDA_HOME})
  list(APPEND _roots $ENV{CUDA_HOME})
endif()
if(GW_NVCC)
  get_filename_component(_nvcc ${GW_NVCC} REALPATH)
  get_filename_component(_nvcc ${_nvcc} DIRECTORY)
  list(APPEND _roots ${_nvcc}/..)
endif()
# The folder of the release preset, whichever preset this is: the headers are fetched once.
list(APPEND _roots /usr/local/cuda ${CMAKE_SOURCE_DIR}/build/cuda)
set(_hints)
foreach(root ${_roots})
  list(APPEND _hints ${root}/include ${root}/extras/CUPTI/include)
endforeach()
find_path(GW_CUDA_INCLUDE cuda.h HINTS ${_hints} NO_DEFAULT_PATH)
find_path(GW_CUPTI_INCLUDE cupti.h HINTS ${_hints} NO_DEFAULT_PATH)
if(NOT GW_CUDA_INCLUDE OR NOT GW_CUPTI_INCLUDE)
  message(FATAL_ERROR
    "The CUDA headers (cuda.h and cupti.h, 13.0 or later) were not found.\n"
    "Looked in: ${_hints}\n"
    "Remedy: set CUDA_HOME to a CUDA toolkit, or run examples/quickstart or tests/run, "
    "which bring the headers into the build folder by pip.")
endif()
add_library(gw_cuda_headers INTERFACE)
target_include_directories(gw_cuda_headers SYSTEM INTERFACE ${GW_CUDA_INCLUDE} ${GW_CUPTI_INCLUDE})
# The headers of CUPTI's profilers, for C.
add_library(gw_cupti_headers INTERFACE)
target_include_directories(gw_cupti_headers SYSTEM INTERFACE ${CMAKE_SOURCE_DIR}/cmake/c_cupti)
target_link_libraries(gw_cupti_headers INTERFACE gw_cuda_headers)
