# Cross-builds for 64-bit ARM under Linux, with what `scripts/setup --cross aarch64` has put into one root: Debian's
# cross compiler, the libraries of arm64, and qemu-user to run tests. QGEN_CROSS_ROOT names another root.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES QGEN_CROSS_ROOT)

if(NOT QGEN_CROSS_ROOT)
  include("${CMAKE_CURRENT_LIST_DIR}/../QgenDepsFolder.cmake")
  set(QGEN_CROSS_ROOT "${QGEN_DEPS}/current-aarch64")
endif()
set(CMAKE_FIND_ROOT_PATH "${QGEN_CROSS_ROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# It also contains the shared libraries that others need.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${QGEN_CROSS_ROOT}/usr/lib/aarch64-linux-gnu")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "${CMAKE_EXE_LINKER_FLAGS_INIT}")
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L "${QGEN_CROSS_ROOT}/lavapipe")  # with the newer C library
