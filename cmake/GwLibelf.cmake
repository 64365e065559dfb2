# libelf of elfutils: target gw_libelf. Only the command links it: its archive, with those that it needs, where there
# are any, so that one command serves every distribution.
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBELF REQUIRED IMPORTED_TARGET libelf)
add_library(gw_libelf INTERFACE)
target_include_directories(gw_libelf INTERFACE ${LIBELF_INCLUDE_DIRS})
find_library(GW_ELF_ARCHIVE NAMES libelf.a HINTS ${LIBELF_LIBDIR})
if(GW_ELF_ARCHIVE)
  foreach(name ${LIBELF_STATIC_LIBRARIES})
    find_library(GW_LIBELF_${name} NAMES lib${name}.a ${name} HINTS ${LIBELF_LIBDIR})
    target_link_libraries(gw_libelf INTERFACE ${GW_LIBELF_${name}})
  endforeach()
  # Behind it, for an archive that lacks some functions: others do not take it.
  add_library(gw_libelf_rest STATIC ${CMAKE_SOURCE_DIR}/cmake/glibc_floor.c)
  target_compile_definitions(gw_libelf_rest PRIVATE _GNU_SOURCE GW_LIBELF_REST)
  target_link_libraries(gw_libelf INTERFACE gw_libelf_rest)
else()
  target_link_libraries(gw_libelf INTERFACE PkgConfig::LIBELF)
endif()
