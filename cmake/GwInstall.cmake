# SPDX-License-Identifier: Apache-2.0
# The installed tree, which may be moved as a whole: bin/gpuwatch finds ../lib/libgpuwatch.so
# beside itself, so the folders are these on every system, whatever its own lib folder is called.
foreach(target gpuwatch gpuwatch_preload)
  if(TARGET ${target})
    install(TARGETS ${target} RUNTIME DESTINATION bin LIBRARY DESTINATION lib)
  endif()
endforeach()
install(FILES LICENSE README.md CHANGELOG.md DESTINATION share/doc/gpuwatch)
install(DIRECTORY docs/ DESTINATION share/doc/gpuwatch/docs
        FILES_MATCHING PATTERN "*.md" PATTERN "results" EXCLUDE)
install(DIRECTORY examples/ DESTINATION share/gpuwatch/examples
        USE_SOURCE_PERMISSIONS PATTERN "quickstart" EXCLUDE)
