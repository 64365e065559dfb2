# Toolchain: builds for aarch64 on another machine, by Debian's cross compiler.
#   cmake -S . -B build/aarch64 --toolchain cmake/aarch64.cmake -DGW_SYSROOT=FOLDER
# GW_SYSROOT holds the libraries for aarch64 under usr/ (tests/aarch64 brings them). Tests run under qemu-user where it is.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GW_SYSROOT)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

# Debian's packages of other machines lie apart from their C library: both are looked through.
set(CMAKE_FIND_ROOT_PATH ${GW_SYSROOT} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${GW_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig)
set(ENV{PKG_CONFIG_PATH} "")
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${GW_SYSROOT})

# What its libraries need themselves.
set(_libraries ${GW_SYSROOT}/usr/lib/aarch64-linux-gnu:${GW_SYSROOT}/lib/aarch64-linux-gnu)
set(CMAKE_EXE_LINKER_FLAGS_INIT -Wl,-rpath-link,${_libraries})
set(CMAKE_SHARED_LINKER_FLAGS_INIT -Wl,-rpath-link,${_libraries})

find_program(_qemu NAMES qemu-aarch64 qemu-aarch64-static)
if(_qemu)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${_qemu};-L;/usr/aarch64-linux-gnu;-E;LD_LIBRARY_PATH=${_libraries})
endif()
unset(_qemu CACHE)
