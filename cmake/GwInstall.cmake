# The installed tree, which may be moved as a whole: gpuwatch finds libgpuwatch.so relative to
# itself. Sets GW_PRELOAD_TARGET and GW_CLI_TARGET, the one product of either room.
function(gw_product room type variable)
  set(${variable} "" PARENT_SCOPE)
  get_property(targets DIRECTORY ${CMAKE_SOURCE_DIR}/${room} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(target_type ${target} TYPE)
    if(target_type STREQUAL type)
      set(${variable} ${target} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()
gw_product(preload SHARED_LIBRARY GW_PRELOAD_TARGET)
gw_product(cli EXECUTABLE GW_CLI_TARGET)

if(GW_PRELOAD_TARGET)
  install(TARGETS ${GW_PRELOAD_TARGET} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(GW_CLI_TARGET)
  install(TARGETS ${GW_CLI_TARGET} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/gpuwatch)
# The command holds the archives of these libraries: their licences go with it.
foreach(_package libelf-dev zlib1g-dev libsqlite3-dev libncurses-dev libzstd-dev libjansson-dev)
  install(FILES /usr/share/doc/${_package}/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/gpuwatch
          RENAME ${_package}.copyright OPTIONAL)
endforeach()
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/gpuwatch/docs
        FILES_MATCHING PATTERN "*.md" PATTERN "results" EXCLUDE)
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/gpuwatch/examples
        USE_SOURCE_PERMISSIONS PATTERN "quickstart" EXCLUDE PATTERN "refresh_outputs" EXCLUDE
        PATTERN "CMakeLists.txt" EXCLUDE)

# Where libcupti is, or that it has to be installed: without it kernels are timed by sampled events.
find_file(_libcupti NAMES libcupti.so.13 libcupti.so PATHS ${GW_CUDA_ROOT}/extras/CUPTI/lib64 ${GW_CUDA_ROOT}/lib64
          ${GW_CUDA_ROOT}/lib NO_DEFAULT_PATH NO_CACHE)
if(_libcupti)
  install(CODE "message(STATUS \"libcupti: ${_libcupti} (where programs do not find it: GPUWATCH_CUPTI=${_libcupti})\")")
else()
  install(CODE "message(STATUS \"libcupti: not found in ${GW_CUDA_ROOT}; gpuwatch looks for it where it runs (gpuwatch doctor)\")")
endif()
