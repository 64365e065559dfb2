# GW_VERSION and GW_COMMIT as compile definitions, through the interface target gw_version.
find_package(Git QUIET)
set(GW_COMMIT unknown)
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR} rev-parse --short=12 HEAD
                  OUTPUT_VARIABLE _commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
                  RESULT_VARIABLE _failed)
  if(NOT _failed)
    set(GW_COMMIT ${_commit})
  endif()
endif()
add_library(gw_version INTERFACE)
target_compile_definitions(gw_version INTERFACE
  GW_VERSION="${PROJECT_VERSION}" GW_COMMIT="${GW_COMMIT}")
