# Pinned source builds of the dependencies, for systems that lack one or have it too old, or for QGEN_FETCH_ALL=ON. Each
# is named by a commit, not a tag, so that the build uses the reviewed source. Each function leaves the targets that an
# installed package would have made.
include(FetchContent)

# qgen_fetch(NAME REPOSITORY COMMIT [SUBDIRECTORY folder] [OPTIONS NAME=VALUE ...]): adds the project's targets, built
# only when something links them; sets <lower-case name>_SOURCE_DIR. A folder without CMakeLists.txt is only downloaded.
function(qgen_fetch name repository commit)
  cmake_parse_arguments(FETCH "" "SUBDIRECTORY" "OPTIONS" ${ARGN})
  string(TOLOWER "${name}" lower)
  message(STATUS "qgen: building ${name} from ${repository} ${commit}")
  FetchContent_Declare(${name} GIT_REPOSITORY "https://github.com/${repository}.git" GIT_TAG ${commit})
  FetchContent_GetProperties(${name})
  if(NOT ${lower}_POPULATED)
    FetchContent_Populate(${name})
    foreach(option IN LISTS FETCH_OPTIONS ITEMS BUILD_SHARED_LIBS=OFF BUILD_TESTING=OFF)
      string(REGEX MATCH "^([^=]+)=(.*)$" _ "${option}")
      set(${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
    endforeach()
    set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)  # lets the variables above answer the project's option()
    if(EXISTS "${${lower}_SOURCE_DIR}/${FETCH_SUBDIRECTORY}/CMakeLists.txt")
      add_subdirectory("${${lower}_SOURCE_DIR}/${FETCH_SUBDIRECTORY}" "${${lower}_BINARY_DIR}" EXCLUDE_FROM_ALL SYSTEM)
    endif()
  endif()
  set(${lower}_SOURCE_DIR "${${lower}_SOURCE_DIR}" PARENT_SCOPE)
endfunction()

# The Vulkan SDK 1.4.309 of all that Khronos keeps (glslang 15.2, SPIRV-Tools 2025.1), and VMA 3.2.1.
function(qgen_fetch_shader_tools)
  qgen_fetch(SPIRV-Headers KhronosGroup/SPIRV-Headers 09913f088a1197aba4aefd300a876b2ebbaa3391
    OPTIONS SPIRV_HEADERS_ENABLE_TESTS=OFF SPIRV_HEADERS_ENABLE_INSTALL=OFF)
  qgen_fetch(SPIRV-Tools KhronosGroup/SPIRV-Tools f289d047f49fb60488301ec62bafab85573668cc
    OPTIONS SPIRV-Headers_SOURCE_DIR=${spirv-headers_SOURCE_DIR} SPIRV_TOOLS_LIBRARY_TYPE=STATIC SPIRV_SKIP_TESTS=ON
      SPIRV_SKIP_EXECUTABLES=ON SPIRV_WERROR=OFF SKIP_SPIRV_TOOLS_INSTALL=ON)
  qgen_fetch(glslang KhronosGroup/glslang 7200bc12a8979d13b22cd52de80ffb7d41939615
    OPTIONS ENABLE_OPT=OFF ENABLE_HLSL=OFF ENABLE_SPVREMAPPER=OFF ENABLE_GLSLANG_BINARIES=OFF GLSLANG_TESTS=OFF
      GLSLANG_ENABLE_INSTALL=OFF)
  qgen_fetch(SPIRV-Cross KhronosGroup/SPIRV-Cross 2c32b6bf86f3c4a5539aa1f0bacbd59fe61759cf
    OPTIONS SPIRV_CROSS_CLI=OFF SPIRV_CROSS_ENABLE_TESTS=OFF SPIRV_CROSS_ENABLE_C_API=OFF SPIRV_CROSS_ENABLE_CPP=OFF
      SPIRV_CROSS_ENABLE_REFLECT=OFF SPIRV_CROSS_ENABLE_UTIL=OFF SPIRV_CROSS_SKIP_INSTALL=ON)
  qgen_fetch(Vulkan-Headers KhronosGroup/Vulkan-Headers 952f776f6573aafbb62ea717d871cd1d6816c387)
  qgen_fetch(volk zeux/volk 58689c063427f5bad4f133625049b1a3c5dd8287 SUBDIRECTORY headers-only)
  qgen_fetch(VulkanMemoryAllocator GPUOpen-LibrariesAndSDKs/VulkanMemoryAllocator c788c52156f3ef7bc7ab769cb03c110a53ac8fcb
    SUBDIRECTORY headers-only)

  # An installation has <spirv_cross/...> and <glslang/SPIRV/...>; the source trees have them under other names.
  set(include "${CMAKE_CURRENT_BINARY_DIR}/fetched-include")
  file(MAKE_DIRECTORY "${include}/glslang")
  file(CREATE_LINK "${spirv-cross_SOURCE_DIR}" "${include}/spirv_cross" SYMBOLIC)
  file(CREATE_LINK "${glslang_SOURCE_DIR}/SPIRV" "${include}/glslang/SPIRV" SYMBOLIC)

  _qgen_deps(vulkan_headers LINKS Vulkan::Headers)
  _qgen_deps(volk LINKS Vulkan::Headers ${CMAKE_DL_LIBS} INCLUDE "${volk_SOURCE_DIR}")
  _qgen_deps(vma LINKS Vulkan::Headers INCLUDE "${vulkanmemoryallocator_SOURCE_DIR}/include")
  _qgen_deps(spirv_tools LINKS SPIRV-Tools-static SPIRV-Headers::SPIRV-Headers)
  _qgen_deps(spirv_opt LINKS SPIRV-Tools-opt qgen_deps::spirv_tools)
  _qgen_deps(glslang LINKS glslang::glslang glslang::glslang-default-resource-limits glslang::SPIRV qgen_deps::spirv_opt
    INCLUDE "${include}")
  _qgen_deps(spirv_cross LINKS spirv-cross-msl spirv-cross-hlsl spirv-cross-glsl spirv-cross-core INCLUDE "${include}")
endfunction()

# _qgen_deps(NAME LINKS target... [INCLUDE folder...]): the target qgen_deps::NAME.
function(_qgen_deps name)
  cmake_parse_arguments(DEP "" "" "LINKS;INCLUDE" ${ARGN})
  add_library(qgen_fetched_${name} INTERFACE)
  target_link_libraries(qgen_fetched_${name} INTERFACE ${DEP_LINKS})
  target_include_directories(qgen_fetched_${name} SYSTEM INTERFACE ${DEP_INCLUDE})
  add_library(qgen_deps::${name} ALIAS qgen_fetched_${name})
endfunction()

function(qgen_fetch_yaml_cpp)  # 0.8.0
  qgen_fetch(yaml-cpp jbeder/yaml-cpp f7320141120f720aecc4c32be25586e7da9eb978
    OPTIONS YAML_CPP_BUILD_TOOLS=OFF YAML_CPP_BUILD_TESTS=OFF YAML_CPP_BUILD_CONTRIB=OFF YAML_CPP_INSTALL=OFF)
endfunction()

function(qgen_fetch_nlohmann_json)  # 3.11.3
  qgen_fetch(nlohmann_json nlohmann/json 9cca280a4d0ccf0c08f47a99aa71d1b0e52f8d03
    OPTIONS JSON_BuildTests=OFF JSON_Install=OFF)
endfunction()

function(qgen_fetch_cli11)  # 2.4.2
  qgen_fetch(CLI11 CLIUtils/CLI11 6c7b07a878ad834957b98d0f9ce1dbe0cb204fc9)
endfunction()

function(qgen_fetch_fmt)  # 10.2.1
  qgen_fetch(fmt fmtlib/fmt e69e5f977d458f2650bb346dadf2ad30c5320281 OPTIONS FMT_INSTALL=OFF)
endfunction()

function(qgen_fetch_zstd)  # 1.5.6
  qgen_fetch(zstd facebook/zstd 794ea1b0afca0f020f4e57b6732332231fb23c70 SUBDIRECTORY build/cmake
    OPTIONS ZSTD_BUILD_PROGRAMS=OFF ZSTD_BUILD_SHARED=OFF ZSTD_BUILD_TESTS=OFF)
  set(zstd_SOURCE_DIR "${zstd_SOURCE_DIR}" PARENT_SCOPE)
endfunction()

function(qgen_fetch_xxhash)  # 0.8.2
  qgen_fetch(xxHash Cyan4973/xxHash bbb27a5efb85b92a0486cf361a8635715a53f6ba SUBDIRECTORY headers-only)
  set(xxhash_SOURCE_DIR "${xxhash_SOURCE_DIR}" PARENT_SCOPE)
endfunction()

function(qgen_fetch_protobuf)  # 21.12
  qgen_fetch(protobuf protocolbuffers/protobuf f0dc78d7e6e331b8c6bb2d5283e06aa26883ca7c
    OPTIONS protobuf_BUILD_TESTS=OFF protobuf_INSTALL=OFF protobuf_WITH_ZLIB=OFF)
endfunction()

function(qgen_fetch_onnx)  # 1.12.0; only its schema is read
  qgen_fetch(onnx onnx/onnx f7ee1ac60d06abe8e26c9b6bbe1e3db5286b614b SUBDIRECTORY schema-only)
  set(onnx_SOURCE_DIR "${onnx_SOURCE_DIR}" PARENT_SCOPE)
endfunction()

function(qgen_fetch_googletest)  # 1.15.2
  qgen_fetch(googletest google/googletest b514bdc898e2951020cbdca1304b75f5950d1f59 OPTIONS INSTALL_GTEST=OFF)
endfunction()

function(qgen_fetch_benchmark)  # 1.8.5
  qgen_fetch(benchmark google/benchmark a6ad7fbbdc2e14fab82bb8a6d27760d700198cbf
    OPTIONS BENCHMARK_ENABLE_TESTING=OFF BENCHMARK_ENABLE_GTEST_TESTS=OFF BENCHMARK_ENABLE_INSTALL=OFF)
endfunction()
