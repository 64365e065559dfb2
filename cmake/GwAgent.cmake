# What gpuwatch agent is built with: headers of libmicrohttpd and libcurl, targets gw_microhttpd and gw_curl, and
# GW_HAVE_MICROHTTPD and GW_HAVE_CURL. Without the first it serves nothing, without the second it pushes nothing;
# textfiles and --once always work. The libraries are opened when the agent runs, not linked: one command serves systems
# with and without them, and they are the system's, with its certificates.
find_package(Threads REQUIRED)
find_path(GW_MICROHTTPD_INCLUDE NAMES microhttpd.h)
find_path(GW_CURL_INCLUDE NAMES curl/curl.h)
add_library(gw_microhttpd INTERFACE)
add_library(gw_curl INTERFACE)
set(GW_HAVE_MICROHTTPD OFF)
set(GW_HAVE_CURL OFF)
if(GW_MICROHTTPD_INCLUDE)
  set(GW_HAVE_MICROHTTPD ON)
  target_include_directories(gw_microhttpd INTERFACE ${GW_MICROHTTPD_INCLUDE})
else()
  message(STATUS "libmicrohttpd was not found: gpuwatch agent will serve nothing (Debian: libmicrohttpd-dev)")
endif()
if(GW_CURL_INCLUDE)
  set(GW_HAVE_CURL ON)
  target_include_directories(gw_curl INTERFACE ${GW_CURL_INCLUDE})
else()
  message(STATUS "libcurl was not found: gpuwatch agent will not push (Debian: libcurl4-openssl-dev)")
endif()
