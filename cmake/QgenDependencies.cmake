# Every dependency, with its reason. find_package first; scripts/setup provides what Debian 12 lacks.
list(PREPEND CMAKE_PREFIX_PATH "$ENV{HOME}/.cache/qgen-deps/current/usr")
find_package(Threads REQUIRED)
find_package(QgenDeps CONFIG REQUIRED)  # glslang, SPIRV-Tools, SPIRV-Cross, Vulkan-Headers, volk, VMA
find_package(yaml-cpp REQUIRED)         # specs are YAML, and every node knows its line
find_package(fmt REQUIRED)              # g++ 12 has no <format>
find_package(CLI11 REQUIRED)            # flags and --help
find_package(PNG REQUIRED)              # the demo's pictures
find_library(QGEN_ZSTD_LIBRARY NAMES libzstd.a zstd REQUIRED)  # the blob's compression
add_library(qgen_zstd INTERFACE)
target_link_libraries(qgen_zstd INTERFACE ${QGEN_ZSTD_LIBRARY})
if(QGEN_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(QGEN_BUILD_BENCH)
  find_package(benchmark REQUIRED)
endif()
add_library(qgen_vulkan INTERFACE)
target_link_libraries(qgen_vulkan INTERFACE qgen_deps::vulkan_headers qgen_deps::volk qgen_deps::vma)
