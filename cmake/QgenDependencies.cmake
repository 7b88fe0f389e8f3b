# Every dependency, each with its reason. The system's version has priority (scripts/setup fills the private prefix on
# Debian 12). A missing or outdated one is built by FetchContent, from a pinned upstream release.
#
# The rest of the build links only the targets made here:
#
#   qgen_deps::glslang, ::spirv_opt, ::spirv_tools, ::spirv_cross     the generator
#   qgen_yaml, qgen_cli, qgen_fmt, qgen_zstd, qgen_xxhash             both halves
#   qgen_nlohmann                                                     JSON in and out
#   qgen_vulkan                                                       the runtime: headers, VMA; never libvulkan
#   qgen_sqlite                                                       the store of measurements
#   qgen_eigen                                                        fitting the constants of costs
#   qgen_onnx_schema                                                  ONNX's messages, compiled from its .proto
#   qgen_png                                                          examples/picture, if the system has it
#   GTest::*, benchmark::benchmark                                    tests/, bench/
#
# QGEN_FETCH_ALL=ON takes every one of them from upstream, whatever is installed.
#
# A release build links the programs with archives where possible (QGEN_STATIC). A program copied to another machine
# then needs only its C library and a Vulkan loader.
include(QgenDepsFolder)
include(QgenFallbacks)

# Last in the search, so that a prefix named by the user wins.
list(APPEND CMAKE_PREFIX_PATH "${QGEN_DEPS}/current/usr")


# qgen_find_archive(VARIABLE NAME): lib<NAME>.a if programs are linked statically and it exists, else any library of
# this name.
macro(qgen_find_archive variable name)
  if(QGEN_STATIC)
    find_library(${variable} NAMES "${CMAKE_STATIC_LIBRARY_PREFIX}${name}${CMAKE_STATIC_LIBRARY_SUFFIX}" ${name})
  else()
    find_library(${variable} NAMES ${name})
  endif()
  mark_as_advanced(${variable})
endmacro()

# qgen_find(PACKAGE ...): find_package, which may find nothing, and with QGEN_FETCH_ALL finds nothing.
macro(qgen_find package)
  if(NOT QGEN_FETCH_ALL)
    find_package(${package} ${ARGN} QUIET)
  endif()
endmacro()

find_package(Threads REQUIRED)

# ---- compiling shaders: glslang >= 15.1 (GL_NV_cooperative_matrix2), SPIRV-Tools >= 2025.1 (optimiser, validator),
# ---- SPIRV-Cross (reflection); and Vulkan-Headers >= 1.4.309 (the loader is opened at run time, not linked), VMA; volk
# ---- is a test's, which links it beside qgen
qgen_find(QgenDeps CONFIG)
if(NOT QgenDeps_FOUND)
  qgen_fetch_shader_tools()
endif()
add_library(qgen_vulkan INTERFACE)
target_link_libraries(qgen_vulkan INTERFACE
  $<BUILD_INTERFACE:qgen_deps::vulkan_headers> $<BUILD_INTERFACE:qgen_deps::vma>
  Threads::Threads ${CMAKE_DL_LIBS})

# ---- yaml-cpp: specs are YAML, and every node knows its line
add_library(qgen_yaml INTERFACE)
qgen_find(yaml-cpp)
if(NOT yaml-cpp_FOUND)
  qgen_fetch_yaml_cpp()
endif()
if(TARGET yaml-cpp::yaml-cpp)  # its name since 0.8
  set(QGEN_YAML_TARGET yaml-cpp::yaml-cpp)
else()
  set(QGEN_YAML_TARGET yaml-cpp)
endif()
get_target_property(QGEN_YAML_TYPE ${QGEN_YAML_TARGET} TYPE)
if(QGEN_YAML_TYPE STREQUAL "SHARED_LIBRARY")
  qgen_find_archive(QGEN_YAML_LIBRARY yaml-cpp)
  target_link_libraries(qgen_yaml INTERFACE $<BUILD_INTERFACE:${QGEN_YAML_LIBRARY}>)
else()
  target_link_libraries(qgen_yaml INTERFACE $<BUILD_INTERFACE:${QGEN_YAML_TARGET}>)
endif()

# ---- nlohmann-json: common/json reads and writes by it; header-only, in .cpp files
qgen_find(nlohmann_json)
if(NOT nlohmann_json_FOUND)
  qgen_fetch_nlohmann_json()
endif()
add_library(qgen_nlohmann INTERFACE)
target_link_libraries(qgen_nlohmann INTERFACE $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)

# ---- CLI11: flags and --help
qgen_find(CLI11)
if(NOT CLI11_FOUND)
  qgen_fetch_cli11()
endif()
add_library(qgen_cli INTERFACE)
target_link_libraries(qgen_cli INTERFACE $<BUILD_INTERFACE:CLI11::CLI11> qgen_manual)

# ---- fmt: g++ 12 has no <format>. Debian ships it as a shared library only: fmt_archive.cpp is its source again
qgen_find(fmt 9)
if(NOT fmt_FOUND)
  qgen_fetch_fmt()
endif()
get_target_property(QGEN_FMT_TYPE fmt::fmt TYPE)
if(QGEN_STATIC AND QGEN_FMT_TYPE STREQUAL "SHARED_LIBRARY" AND fmt_VERSION VERSION_LESS 11)
  set(QGEN_FMT_IS_OURS ON)
  add_library(qgen_fmt STATIC "${CMAKE_CURRENT_LIST_DIR}/fmt_archive.cpp")
  target_compile_features(qgen_fmt PUBLIC cxx_std_20)
  get_target_property(QGEN_FMT_INCLUDE fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  target_include_directories(qgen_fmt SYSTEM PUBLIC $<BUILD_INTERFACE:${QGEN_FMT_INCLUDE}>)
  # objcopy spoils a table of clang's, of which lld would warn.
  target_compile_options(qgen_fmt PRIVATE $<$<CXX_COMPILER_ID:Clang>:-fno-addrsig>)
  if(CMAKE_OBJCOPY)  # a program that links qgen may have an archive of the same fmt: weak symbols do not clash
    add_custom_command(TARGET qgen_fmt POST_BUILD COMMAND "${CMAKE_OBJCOPY}" --weaken $<TARGET_FILE:qgen_fmt> VERBATIM)
  endif()
else()
  add_library(qgen_fmt INTERFACE)
  target_link_libraries(qgen_fmt INTERFACE $<BUILD_INTERFACE:fmt::fmt>)
endif()

# ---- zstd: the blob's compression, with a dictionary a family
add_library(qgen_zstd INTERFACE)
if(NOT QGEN_FETCH_ALL)
  qgen_find_archive(QGEN_ZSTD_LIBRARY zstd)
  find_path(QGEN_ZSTD_INCLUDE zstd.h)
  mark_as_advanced(QGEN_ZSTD_INCLUDE)
endif()
if(QGEN_ZSTD_LIBRARY AND QGEN_ZSTD_INCLUDE)
  target_link_libraries(qgen_zstd INTERFACE $<BUILD_INTERFACE:${QGEN_ZSTD_LIBRARY}>)
  target_include_directories(qgen_zstd SYSTEM INTERFACE $<BUILD_INTERFACE:${QGEN_ZSTD_INCLUDE}>)
else()
  qgen_fetch_zstd()
  target_link_libraries(qgen_zstd INTERFACE $<BUILD_INTERFACE:libzstd_static>)
  target_include_directories(qgen_zstd SYSTEM INTERFACE $<BUILD_INTERFACE:${zstd_SOURCE_DIR}/lib>)
endif()

# ---- xxHash: cache keys and the blob's checksums (XXH3); header-only, inlined
if(NOT QGEN_FETCH_ALL)
  find_path(QGEN_XXHASH_INCLUDE xxhash.h)
  mark_as_advanced(QGEN_XXHASH_INCLUDE)
endif()
if(NOT QGEN_XXHASH_INCLUDE)
  qgen_fetch_xxhash()
  set(QGEN_XXHASH_INCLUDE "${xxhash_SOURCE_DIR}")
endif()
add_library(qgen_xxhash INTERFACE)
target_include_directories(qgen_xxhash SYSTEM INTERFACE $<BUILD_INTERFACE:${QGEN_XXHASH_INCLUDE}>)
target_compile_definitions(qgen_xxhash INTERFACE $<BUILD_INTERFACE:XXH_INLINE_ALL>)

# ---- SQLite >= 3.37 (STRICT tables): measurements, written by many processes at once. Upstream has no CMake project
find_package(SQLite3 3.37 REQUIRED)
qgen_find_archive(QGEN_SQLITE_LIBRARY sqlite3)
add_library(qgen_sqlite INTERFACE)
target_include_directories(qgen_sqlite SYSTEM INTERFACE $<BUILD_INTERFACE:${SQLite3_INCLUDE_DIRS}>)
target_link_libraries(qgen_sqlite INTERFACE
  $<BUILD_INTERFACE:${QGEN_SQLITE_LIBRARY}> Threads::Threads ${CMAKE_DL_LIBS} m)

# ---- Eigen >= 3.4: least squares (Levenberg-Marquardt); header-only, in one .cpp file. Upstream is not on GitHub
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
add_library(qgen_eigen INTERFACE)
target_link_libraries(qgen_eigen INTERFACE $<BUILD_INTERFACE:Eigen3::Eigen>)

# ---- protobuf >= 3.12 and ONNX's schema, onnx.proto: models in files. Of what protoc makes the lite runtime is enough.
# ---- The schema's version does not limit opsets: dtypes and operators that came later are numbers and names to it
qgen_find(Protobuf 3.12)
if(NOT Protobuf_FOUND)
  qgen_fetch_protobuf()
endif()
if(NOT QGEN_FETCH_ALL)
  find_path(QGEN_ONNX_INCLUDE onnx/onnx.proto)
  mark_as_advanced(QGEN_ONNX_INCLUDE)
endif()
if(NOT QGEN_ONNX_INCLUDE)
  qgen_fetch_onnx()
  set(QGEN_ONNX_INCLUDE "${onnx_SOURCE_DIR}")
endif()
set(QGEN_ONNX_SCHEMA "${CMAKE_CURRENT_BINARY_DIR}/onnx_schema")
file(MAKE_DIRECTORY "${QGEN_ONNX_SCHEMA}/onnx")
add_custom_command(OUTPUT "${QGEN_ONNX_SCHEMA}/onnx/onnx.pb.cc" "${QGEN_ONNX_SCHEMA}/onnx/onnx.pb.h"
  COMMAND protobuf::protoc "--cpp_out=lite:${QGEN_ONNX_SCHEMA}" "-I${QGEN_ONNX_INCLUDE}" onnx/onnx.proto
  DEPENDS "${QGEN_ONNX_INCLUDE}/onnx/onnx.proto" VERBATIM)
add_library(qgen_onnx_schema STATIC "${QGEN_ONNX_SCHEMA}/onnx/onnx.pb.cc")
target_compile_options(qgen_onnx_schema PRIVATE -w $<$<CXX_COMPILER_ID:Clang>:-fno-addrsig>)
if(CMAKE_OBJCOPY)  # as of fmt: a program that links qgen may have ONNX's own archive
  add_custom_command(TARGET qgen_onnx_schema POST_BUILD
    COMMAND "${CMAKE_OBJCOPY}" --weaken $<TARGET_FILE:qgen_onnx_schema> VERBATIM)
endif()
target_include_directories(qgen_onnx_schema SYSTEM PUBLIC $<BUILD_INTERFACE:${QGEN_ONNX_SCHEMA}>)
get_target_property(QGEN_PROTOBUF_TYPE protobuf::libprotobuf-lite TYPE)
if(QGEN_STATIC AND NOT QGEN_PROTOBUF_TYPE STREQUAL "STATIC_LIBRARY")
  qgen_find_archive(QGEN_PROTOBUF_LIBRARY protobuf-lite)
  target_include_directories(qgen_onnx_schema SYSTEM PUBLIC "$<BUILD_INTERFACE:${Protobuf_INCLUDE_DIRS}>")
  target_link_libraries(qgen_onnx_schema PUBLIC $<BUILD_INTERFACE:${QGEN_PROTOBUF_LIBRARY}> Threads::Threads)
else()
  target_link_libraries(qgen_onnx_schema PUBLIC $<BUILD_INTERFACE:protobuf::libprotobuf-lite>)
endif()

# ---- libpng: the pictures that examples/picture writes; without it that example is left out
find_package(PNG QUIET)
if(PNG_FOUND)
  qgen_find_archive(QGEN_PNG_LIBRARY png)
  qgen_find_archive(QGEN_Z_LIBRARY z)
  add_library(qgen_png INTERFACE)
  target_include_directories(qgen_png SYSTEM INTERFACE ${PNG_INCLUDE_DIRS})
  target_link_libraries(qgen_png INTERFACE ${QGEN_PNG_LIBRARY} ${QGEN_Z_LIBRARY} m)
endif()

# ---- GoogleTest and Google Benchmark
if(QGEN_BUILD_TESTS)
  qgen_find(GTest)
  if(NOT GTest_FOUND)
    qgen_fetch_googletest()
  endif()
endif()
if(QGEN_BUILD_BENCH)
  qgen_find(benchmark)
  if(NOT benchmark_FOUND)
    qgen_fetch_benchmark()
  endif()
endif()
