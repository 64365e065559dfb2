# Packages of the installed tree: `cpack -G DEB` in the build folder, and the target `wheel`. Both carry the library and
# the command for one machine, the wheel the Python package gpuwatch, too; libcuda and libcupti come from the driver and the CUDA toolkit of the host.
# What is built is packed; else cpack builds all, tests too.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
set(CPACK_PACKAGE_NAME gpuwatch)
set(CPACK_PACKAGE_VENDOR gpuwatch)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_CONTACT "the gpuwatch authors <gpuwatch@localhost>")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
include(CPack)

find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  add_custom_target(wheel
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/cmake/make_wheel.py ${CMAKE_COMMAND} ${CMAKE_BINARY_DIR}
            ${PROJECT_VERSION} ${CMAKE_SYSTEM_PROCESSOR} ${CMAKE_BINARY_DIR}/python ${CMAKE_BINARY_DIR}
    DEPENDS ${GW_PRELOAD_TARGET} ${GW_CLI_TARGET} manuals python_package VERBATIM)
endif()
