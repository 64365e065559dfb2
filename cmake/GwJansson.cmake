# jansson: target gw_jansson. Its archive, for libgpuwatch.so may need nothing but libc and libm, and one command serves
# every distribution.
find_package(PkgConfig REQUIRED)
pkg_check_modules(JANSSON REQUIRED jansson)
find_library(GW_JANSSON_ARCHIVE NAMES libjansson.a HINTS ${JANSSON_LIBDIR})
if(NOT GW_JANSSON_ARCHIVE)
  message(FATAL_ERROR "libjansson.a was not found: libgpuwatch.so needs jansson's archive to read "
                      "device profiles (Debian: libjansson-dev)")
endif()
add_library(gw_jansson INTERFACE)
target_include_directories(gw_jansson INTERFACE ${JANSSON_INCLUDE_DIRS})
target_link_libraries(gw_jansson INTERFACE ${GW_JANSSON_ARCHIVE})
