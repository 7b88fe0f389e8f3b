# qgen_add_room(NAME FOLDER [FAMILIES] [LINKS ...] [APART ...]) makes the static library qgen_NAME from a folder's
# sources. With FAMILIES, its subfolders are included. A room names the rooms to its left in LINKS and can include no
# others.
#
# With QGEN_UNITY, as the scripts build, up to eight sources of a target are compiled as one. Their headers and
# templates, more than half of the work, are then compiled once. If a source's names or macros clash with another's,
# list it in APART; it is compiled separately. To separate all sources: APART ALL.
#
# qgen_add_program(NAME SOURCE LINKS ...) makes an installed program. With QGEN_STATIC, it runs on any machine with this
# C library or a newer one.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(qgen_options INTERFACE)
target_include_directories(qgen_options INTERFACE
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}> $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
target_compile_features(qgen_options INTERFACE cxx_std_20)
# References round a product before they add to it, also where a processor can do both at once, as AArch64 does.
target_compile_options(qgen_options INTERFACE $<BUILD_INTERFACE:-ffp-contract=off>)
target_compile_options(qgen_options INTERFACE
  $<BUILD_INTERFACE:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wnon-virtual-dtor;-Wno-missing-field-initializers>
  $<BUILD_INTERFACE:$<$<BOOL:${QGEN_WERROR}>:-Werror>>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # gcc 12 takes `"text" + string` for overlapping copies (GCC bug 105651).
  target_compile_options(qgen_options INTERFACE $<BUILD_INTERFACE:-Wno-restrict>)
endif()
find_program(QGEN_LLD ld.lld)
mark_as_advanced(QGEN_LLD)
if(QGEN_LLD AND PROJECT_IS_TOP_LEVEL AND CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang" AND NOT CMAKE_CROSSCOMPILING)
  add_link_options(-fuse-ld=lld)  # a quarter of the time, and some programs with sanitizers have 200 MB
  set(QGEN_LINKS_WITH_LLD ON)
endif()
if(QGEN_SANITIZE)
  # glslang's packaged classes carry no RTTI, so the vptr check has nothing to look at.
  add_compile_options(-fsanitize=${QGEN_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${QGEN_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Among its own instrumentation gcc takes moved variants for uninitialized (GCC bug 105562); the plain build checks.
    target_compile_options(qgen_options INTERFACE $<BUILD_INTERFACE:-Wno-maybe-uninitialized>)
  endif()
  if(QGEN_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # bin/with-lavapipe runs a program on a newer C library than the one that libasan.so was made for.
    add_link_options(-static-libasan)
  endif()
endif()

# Code that runs once, such as the reading of flags, is optimised for size: with clang a file of the room onnx took 0.6 of
# the time of -O3 to compile, and -O1 saved nothing. Tests compile in little more than half of the time without any.
set(size_option -Os)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(size_option -Oz)
endif()
set(QGEN_LESS_OPTIMISATION $<$<NOT:$<CONFIG:Debug>>:${size_option}>)
set(QGEN_NO_OPTIMISATION -O0)
# Rooms whose code runs once for each file or command, or for each kind of call (infer).
set(QGEN_ROOMS_THAT_RUN_ONCE spec render emit prune pipeline manual device infer graph profiles self_test onnx model runner
  tuner fitting report)
if(QGEN_SANITIZE)
  set(QGEN_LESS_OPTIMISATION "")
endif()

# Rooms that engines link have each function in a separate section. What is linked with --gc-sections then contains only
# the functions that it uses: a program with some operators (qgen_add_operators), and libqgen.so, which is 4 % smaller.
set(QGEN_ROOMS_OF_ENGINES common vocabulary json yaml_reader library tensor device profiles selector tuning dispatch
  self_test calls infer planner graph onnx)

set(QGEN_PARTS_OF_EVERY_PROGRAM "")
if(QGEN_SANITIZE MATCHES "address")
  set(QGEN_PARTS_OF_EVERY_PROGRAM "${CMAKE_CURRENT_SOURCE_DIR}/cmake/keep_libraries.cpp")
endif()

# Rooms that read a user's files. They have the fuzzers' counters of branches. They do not trace comparisons, which
# takes a third of a compilation's time.
set(QGEN_ROOMS_THAT_READ_FILES common yaml_reader json expression spec expand render pipeline library tensor graph onnx)

# ccache, where it is, unless the user chose a launcher. ccache compares precompiled headers by their content.
find_program(QGEN_CCACHE ccache)
mark_as_advanced(QGEN_CCACHE)
if(QGEN_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER "${QGEN_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros "${QGEN_CCACHE}")
endif()

# The headers of the standard library and fmt that most files include. Parsed once per build, they save a quarter of the
# time with clang. With gcc it is a tenth, and gcc 12 then warns of copies that are none.
set(QGEN_COMMON_HEADERS <algorithm> <array> <functional> <map> <memory> <optional> <set> <span> <string>
  <variant> <vector> <fmt/format.h> <fmt/ranges.h>)
function(qgen_add_precompiled_headers)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    return()
  endif()
  set(names qgen_precompiled)
  if(QGEN_LESS_OPTIMISATION AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    list(APPEND names qgen_precompiled_small)
  endif()
  foreach(name IN LISTS names)
    add_library(${name} OBJECT EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp")
    target_link_libraries(${name} PRIVATE qgen_options qgen_fmt)
    target_precompile_headers(${name} PRIVATE ${QGEN_COMMON_HEADERS})
    # Without the headers' times, the same headers give the same bytes in each clone. ccache finds what includes them.
    target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endforeach()
  if(TARGET qgen_precompiled_small)
    target_compile_options(qgen_precompiled_small PRIVATE ${QGEN_LESS_OPTIMISATION})
  endif()
endfunction()

# For a library; a program's code is position-independent in another way.
function(qgen_reuse_precompiled_headers target)
  if(TARGET qgen_precompiled)
    target_precompile_headers(${target} REUSE_FROM qgen_precompiled)
  endif()
endfunction()

# The same for a library that is optimised for size, which this does too.
function(qgen_optimise_for_size target)
  target_compile_options(${target} PRIVATE ${QGEN_LESS_OPTIMISATION})
  if(TARGET qgen_precompiled_small)
    target_precompile_headers(${target} REUSE_FROM qgen_precompiled_small)
  else()
    qgen_reuse_precompiled_headers(${target})
  endif()
endfunction()

# qgen_compile_together(TARGET FOLDER APART...): compiles a target's sources as few units if QGEN_UNITY is on.
function(qgen_compile_together target folder)
  if(NOT QGEN_UNITY OR ARGN STREQUAL "ALL")
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # gcc treats a source that is included as a header, and warns about its types with members from an unnamed
    # namespace.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
  foreach(name IN LISTS ARGN)
    set(source "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/${name}")
    if(NOT EXISTS "${source}")
      message(FATAL_ERROR "${target}: APART names '${name}', and there is no such file in ${folder}/")
    endif()
    set_source_files_properties("${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endfunction()

function(qgen_add_room name folder)
  cmake_parse_arguments(ROOM "FAMILIES" "" "LINKS;APART" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  if(ROOM_FAMILIES)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  endif()
  list(FILTER sources EXCLUDE REGEX "_main\\.cpp$")
  if(sources)
    add_library(qgen_${name} STATIC ${sources})
    target_link_libraries(qgen_${name} PUBLIC qgen_options ${ROOM_LINKS})
    qgen_compile_together(qgen_${name} ${folder} ${ROOM_APART})
    if(name IN_LIST QGEN_ROOMS_OF_ENGINES)
      target_compile_options(qgen_${name} PRIVATE -ffunction-sections -fdata-sections)
    endif()
    if(QGEN_FUZZ AND name IN_LIST QGEN_ROOMS_THAT_READ_FILES)
      target_compile_options(qgen_${name} PRIVATE -fsanitize-coverage=inline-8bit-counters,pc-table)
    endif()
    if(name IN_LIST QGEN_BUSY_ROOMS)
      target_compile_options(qgen_${name} PRIVATE -O1)  # and so not with the headers that are precompiled
    elseif(name IN_LIST QGEN_ROOMS_THAT_RUN_ONCE)
      qgen_optimise_for_size(qgen_${name})
    else()
      qgen_reuse_precompiled_headers(qgen_${name})
    endif()
  else()
    add_library(qgen_${name} INTERFACE)
    target_link_libraries(qgen_${name} INTERFACE qgen_options ${ROOM_LINKS})
  endif()
  add_library(qgen::${name} ALIAS qgen_${name})
endfunction()

# qgen_list_families(TARGET FOLDER): TARGET's sources include "<path of FOLDER>.inc", which has QGEN_FAMILY(name) for
# each name.cpp in FOLDER. A new family is therefore only a new file there.
function(qgen_list_families target folder)
  set(folder "${CMAKE_CURRENT_SOURCE_DIR}/${folder}")
  file(RELATIVE_PATH path "${PROJECT_SOURCE_DIR}" "${folder}")
  file(GLOB names CONFIGURE_DEPENDS RELATIVE "${folder}" "${folder}/*.cpp")
  list(TRANSFORM names REPLACE "^(.*)\\.cpp$" "QGEN_FAMILY(\\1)")
  list(JOIN names "\n" text)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/lists/${path}.inc" CONTENT "${text}\n" @ONLY)
  target_include_directories(${target} PRIVATE "${PROJECT_BINARY_DIR}/lists")
endfunction()

function(qgen_add_program name source)
  cmake_parse_arguments(PROGRAM "" "" "LINKS" ${ARGN})
  add_executable(${name} ${source} ${QGEN_PARTS_OF_EVERY_PROGRAM})
  add_executable(qgen::${name} ALIAS ${name})
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${QGEN_LESS_OPTIMISATION}")
  target_link_libraries(${name} PRIVATE qgen_options ${PROGRAM_LINKS})
  target_link_options(${name} PRIVATE LINKER:--build-id=sha1)  # codegen/support/build_id.h
  if(QGEN_STATIC AND NOT QGEN_SANITIZE)
    target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
  set_property(GLOBAL APPEND PROPERTY QGEN_PROGRAMS ${name})
endfunction()
