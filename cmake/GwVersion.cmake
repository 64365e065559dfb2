# GW_VERSION as a compile definition and GW_COMMIT in gw_commit.h, through the interface target gw_version. That is made
# anew when HEAD has moved: only what includes it is compiled then.
find_package(Git QUIET)
set(_header ${CMAKE_BINARY_DIR}/version/gw_commit.h)
set(_git ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR})
add_library(gw_version INTERFACE)
target_compile_definitions(gw_version INTERFACE GW_VERSION="${PROJECT_VERSION}")
target_include_directories(gw_version INTERFACE ${CMAKE_BINARY_DIR}/version)
if(GIT_FOUND)
  execute_process(COMMAND ${_git} rev-parse --git-path logs/HEAD
                  OUTPUT_VARIABLE _log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  get_filename_component(_log "${_log}" ABSOLUTE BASE_DIR ${CMAKE_SOURCE_DIR})
  if(EXISTS ${_log} AND NOT IS_DIRECTORY ${_log})
    file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/version)
    add_custom_command(OUTPUT ${_header} DEPENDS ${_log} VERBATIM
                       COMMAND ${_git} log -1 --abbrev=12 --output=${_header} "--format=#define GW_COMMIT \"%h\"")
    add_custom_target(gw_commit DEPENDS ${_header})
    add_dependencies(gw_version gw_commit)
  endif()
endif()
if(NOT TARGET gw_commit)
  file(CONFIGURE OUTPUT ${_header} CONTENT "#define GW_COMMIT \"unknown\"\n")
endif()
