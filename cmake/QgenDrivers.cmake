# The Vulkan drivers that device tests run on. For each name in QGEN_TEST_DRIVERS:
#
#   QGEN_<driver>_ENVIRONMENT   what makes the loader take this driver and no other
#   QGEN_<driver>_WRAPPER       a program that runs the test, or nothing
#   QGEN_<driver>_VALIDATION    what turns the validation layer on; undefined where there is none
#   QGEN_<driver>_SAMPLE        what the sample of kernels runs with, too
#   QGEN_<driver>_BOUNDS        instead, for the tests in QGEN_BOUNDS_CHECKED_TESTS: with bounds checks on the device
#
# Of another processor than the machine's, the driver is the llvmpipe 26 in the root of cmake/toolchains, in an emulator.
if(NOT CMAKE_CROSSCOMPILING)
  file(GLOB QGEN_SYSTEM_ICD "/usr/share/vulkan/icd.d/lvp_icd*.json")
  file(GLOB QGEN_SYSTEM_LAYER "/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json")
endif()
set(QGEN_WITH_LAVAPIPE "${QGEN_DEPS}/current/bin/with-lavapipe")

# llvmpipe's tests spend nearly all their time in LLVM, which allocates and frees much memory. Large pages save a tenth.
set(QGEN_LLVM_ENVIRONMENT "GLIBC_TUNABLES=glibc.malloc.hugetlb=1")

set(QGEN_DRIVERS_FOUND "")
if(QGEN_SYSTEM_ICD)
  list(GET QGEN_SYSTEM_ICD 0 icd)
  list(APPEND QGEN_DRIVERS_FOUND llvmpipe22)
  set(QGEN_llvmpipe22_WRAPPER "")
  set(QGEN_llvmpipe22_ENVIRONMENT "VK_DRIVER_FILES=${icd}" "VK_ICD_FILENAMES=${icd}"
      "VK_LOADER_LAYERS_DISABLE=~implicit~" ${QGEN_LLVM_ENVIRONMENT})
  if(QGEN_SYSTEM_LAYER)
    set(QGEN_llvmpipe22_VALIDATION "QGEN_VALIDATION=1"
      "VK_LAYER_ENABLES=VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT")
    # 1.3.239: its GPU-assisted mode reports each access out of bounds, with the descriptor and the invocation.
    # Instrumented kernels take many times as long to compile, so only the conformance cases run shipped kernels this
    # way.
    set(QGEN_llvmpipe22_BOUNDS "QGEN_VALIDATION=1"
      "VK_LAYER_ENABLES=VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT:VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT")
    set(QGEN_BOUNDS_CHECKED_TESTS device dispatch operators matrices layouts conformance_in_bounds)
  endif()
endif()
if(EXISTS "${QGEN_WITH_LAVAPIPE}" AND NOT CMAKE_CROSSCOMPILING)
  list(APPEND QGEN_DRIVERS_FOUND llvmpipe26)
  set(QGEN_llvmpipe26_WRAPPER "${QGEN_WITH_LAVAPIPE}")
  set(QGEN_llvmpipe26_ENVIRONMENT ${QGEN_LLVM_ENVIRONMENT})
  # Beside it, the older one has subgroups of 4 where it would have 8, as on a processor of Arm. It then compiles kernels in
  # a fifth less time. Mesa's cache does not tell these kernels from the others, which would then be wrong.
  set(QGEN_llvmpipe22_SAMPLE "LP_NATIVE_VECTOR_WIDTH=128"
      "MESA_SHADER_CACHE_DIR=${PROJECT_BINARY_DIR}/kernels_of_128_bits")
  if(QGEN_SANITIZE MATCHES "address")
    # LeakSanitizer sees the loader as the program, so it cannot tell the loader's memory from qgen's leaks. The same
    # programs look for leaks on the other driver.
    list(APPEND QGEN_llvmpipe26_ENVIRONMENT "ASAN_OPTIONS=detect_leaks=0")
  endif()
  # 1.4.309, which knows cooperative matrices. Core checks only: its GPU-assisted mode aborts on this driver.
  set(QGEN_llvmpipe26_VALIDATION "QGEN_VALIDATION=1")
endif()
if(CMAKE_CROSSCOMPILING AND EXISTS "${QGEN_CROSS_ROOT}/lavapipe/icd/lvp.json")
  set(icd "${QGEN_CROSS_ROOT}/lavapipe/icd/lvp.json")
  list(APPEND QGEN_DRIVERS_FOUND llvmpipe26)
  set(QGEN_llvmpipe26_WRAPPER ${CMAKE_CROSSCOMPILING_EMULATOR})
  set(QGEN_llvmpipe26_ENVIRONMENT "VK_DRIVER_FILES=${icd}" "VK_ICD_FILENAMES=${icd}"
      "VK_LOADER_LAYERS_DISABLE=~implicit~")
endif()
if(NOT QGEN_DRIVERS_FOUND)
  set(QGEN_DRIVERS_FOUND loader)
endif()
set(QGEN_TEST_DRIVERS "${QGEN_DRIVERS_FOUND}" CACHE STRING
  "drivers of device tests: llvmpipe22 (the system's), llvmpipe26 (of scripts/setup), loader (the first offered)")
