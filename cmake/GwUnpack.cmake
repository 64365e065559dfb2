# SPDX-License-Identifier: Apache-2.0
# gw_unpack(ARCHIVE FOLDER): FOLDER holds what the .tar.xz does and nothing else. Done while configuring, so that no
# target has to wait for it; an archive that changed configures anew. tests/archive writes the archives.
function(gw_unpack archive folder)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${archive})
  file(SHA256 ${archive} _sum)
  set(_done)
  if(EXISTS ${folder}.unpacked)
    file(READ ${folder}.unpacked _done)
  endif()
  if(NOT _done STREQUAL _sum)
    file(REMOVE_RECURSE ${folder})
    file(MAKE_DIRECTORY ${folder})
    file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${folder})
    file(WRITE ${folder}.unpacked ${_sum})
  endif()
endfunction()
