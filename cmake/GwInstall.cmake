# SPDX-License-Identifier: Apache-2.0
# The installed tree, which may be moved as a whole: gpuwatch finds libgpuwatch.so relative to
# itself. Sets GW_PRELOAD_TARGET to the one shared library of preload/.
set(GW_PRELOAD_TARGET)
get_property(_targets DIRECTORY ${CMAKE_SOURCE_DIR}/preload PROPERTY BUILDSYSTEM_TARGETS)
foreach(target ${_targets})
  get_target_property(_type ${target} TYPE)
  if(_type STREQUAL "SHARED_LIBRARY" OR _type STREQUAL "MODULE_LIBRARY")
    set(GW_PRELOAD_TARGET ${target})
  endif()
endforeach()

if(GW_PRELOAD_TARGET)
  install(TARGETS ${GW_PRELOAD_TARGET} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET gpuwatch)
  install(TARGETS gpuwatch RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/gpuwatch)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/gpuwatch/docs
        FILES_MATCHING PATTERN "*.md" PATTERN "results" EXCLUDE)
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/gpuwatch/examples
        USE_SOURCE_PERMISSIONS PATTERN "quickstart" EXCLUDE PATTERN "refresh_outputs" EXCLUDE
        PATTERN "CMakeLists.txt" EXCLUDE)
