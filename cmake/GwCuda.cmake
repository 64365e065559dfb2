# CUDA and CUPTI are opened at run time; only their headers are needed here, and nvcc for the
# kernels of `gpuwatch calibrate`, which is built without them where there is none. They are
# looked for in CUDA_HOME, beside nvcc, in /usr/local/cuda, and last in build/cuda,
# where `tests/run` and `examples/quickstart` unpack the pip wheels that carry them. Many hosts have a
# toolkit that is older than the headers gpuwatch is written for: its version is read, not assumed.
set(GW_CUDA_OLDEST 13000)
set(_wheels ${CMAKE_SOURCE_DIR}/build/cuda) # of the release preset, whichever this is: fetched once
find_program(_nvcc_in_path nvcc)
set(_roots)
if(DEFINED ENV{CUDA_HOME})
  list(APPEND _roots $ENV{CUDA_HOME})
endif()
if(_nvcc_in_path)
  get_filename_component(_nvcc ${_nvcc_in_path} REALPATH)
  get_filename_component(_nvcc ${_nvcc} DIRECTORY)
  get_filename_component(_nvcc ${_nvcc} DIRECTORY)
  list(APPEND _roots ${_nvcc})
endif()
list(APPEND _roots /usr/local/cuda ${_wheels})
list(REMOVE_DUPLICATES _roots)
unset(_nvcc_in_path CACHE)

# The first root whose headers are new enough, and why the others are not taken.
set(GW_CUDA_ROOT "")
set(_refused "")
foreach(root ${_roots})
  set(_cupti "")
  foreach(folder include extras/CUPTI/include)
    if(EXISTS ${root}/${folder}/cupti.h)
      set(_cupti ${root}/${folder})
    endif()
  endforeach()
  if(NOT EXISTS ${root}/include/cuda.h OR NOT _cupti)
    string(APPEND _refused "  ${root}: no cuda.h and cupti.h\n")
    continue()
  endif()
  file(STRINGS ${root}/include/cuda.h _version REGEX "^#define CUDA_VERSION ")
  string(REGEX REPLACE "[^0-9]" "" _version "${_version}")
  if(NOT _version OR _version LESS GW_CUDA_OLDEST)
    string(APPEND _refused "  ${root}: CUDA_VERSION is ${_version}\n")
    continue()
  endif()
  set(GW_CUDA_ROOT ${root})
  set(GW_CUDA_INCLUDE ${root}/include)
  set(GW_CUPTI_INCLUDE ${_cupti})
  break()
endforeach()
if(NOT GW_CUDA_ROOT)
  message(FATAL_ERROR
    "The CUDA headers (cuda.h and cupti.h, 13.0 or later) were not found.\n${_refused}"
    "Remedy: set CUDA_HOME to a CUDA toolkit 13.0 or later, or run examples/quickstart or tests/run, "
    "which bring the headers into the build folder by pip.")
endif()
message(STATUS "CUDA headers: ${GW_CUDA_ROOT}")
find_program(_nvcc_of_root nvcc PATHS ${GW_CUDA_ROOT}/bin NO_DEFAULT_PATH)
set(GW_NVCC ${_nvcc_of_root})
unset(_nvcc_of_root CACHE)
# The wheels' nvcc compiles kernels, but has nothing to link programs with: GW_TOOLKIT_NVCC is one
# of a whole toolkit, or empty.
set(GW_TOOLKIT_NVCC "")
if(GW_NVCC AND NOT GW_CUDA_ROOT STREQUAL _wheels)
  set(GW_TOOLKIT_NVCC ${GW_NVCC})
endif()
add_library(gw_cuda_headers INTERFACE)
target_include_directories(gw_cuda_headers SYSTEM INTERFACE ${GW_CUDA_INCLUDE} ${GW_CUPTI_INCLUDE})
# The headers of CUPTI's profilers, for C: not SYSTEM, so that it comes before what a compiler's wrapper or CPATH adds.
add_library(gw_cupti_headers INTERFACE)
target_include_directories(gw_cupti_headers INTERFACE ${CMAKE_SOURCE_DIR}/cmake/c_cupti)
target_link_libraries(gw_cupti_headers INTERFACE gw_cuda_headers)
