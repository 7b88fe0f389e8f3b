# How tests are made and on what they run.
#
#   qgen_add_room_test(NAME FOLDER LINKS ...)     a GoogleTest program from the folder's *_test.cpp, run once
#   qgen_add_device_test(NAME FOLDER LINKS ...)   the same, run on every driver, and again under the validation layer
#
# The drivers are software: the system's llvmpipe (22.3.6 on Debian 12: no cooperative matrices) and the llvmpipe 26 of
# scripts/setup, which has them. QGEN_TEST_DRIVERS=loader runs on whatever the Vulkan loader offers first instead.
# tests/README.md says what a device test does to be counted.
include(QgenDrivers)

set(QGEN_TESTS_OF_EVERY_KERNEL kernels conformance)

# Where GoogleTest leaves its counts; scripts/count_tests.py adds them up.
set(QGEN_TEST_RESULTS "${PROJECT_BINARY_DIR}/test-results")
# What somebody tuned on this machine is not what tests are about.
set(QGEN_TEST_ENVIRONMENT "QGEN_TUNING_STORE=${PROJECT_BINARY_DIR}/no-store.sqlite")
if(QGEN_SANITIZE MATCHES "address")
  list(APPEND QGEN_TEST_ENVIRONMENT
       "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/leaks.supp:print_suppressions=0")
elseif(QGEN_SANITIZE MATCHES "thread")
  list(APPEND QGEN_TEST_ENVIRONMENT "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/races.supp:halt_on_error=1")
endif()

add_library(qgen_test_support STATIC EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/tests/support/source_folder.cpp")
target_link_libraries(qgen_test_support PUBLIC qgen_options)
target_compile_definitions(qgen_test_support PRIVATE QGEN_SOURCE_FOLDER="${PROJECT_SOURCE_DIR}")

# The headers of rooms and of GoogleTest, precompiled as tests are compiled. A program, since programs and libraries are
# position-independent in different ways.
function(qgen_add_precompiled_test_headers)
  if(NOT TARGET qgen_precompiled)
    return()
  endif()
  add_executable(qgen_test_precompiled EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp")
  target_link_libraries(qgen_test_precompiled PRIVATE qgen_options qgen_fmt GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_options(qgen_test_precompiled PRIVATE ${QGEN_LESS_OPTIMISATION})
  target_precompile_headers(qgen_test_precompiled PRIVATE ${QGEN_COMMON_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
endfunction()

# qgen_register_test(NAME [ENVIRONMENT ...] COMMAND ...): one line of ctest's list.
function(qgen_register_test name)
  cmake_parse_arguments(TEST "" "" "ENVIRONMENT;COMMAND;LABELS" ${ARGN})
  add_test(NAME ${name} COMMAND ${TEST_COMMAND})
  set(environment "GTEST_OUTPUT=xml:${QGEN_TEST_RESULTS}/${name}.xml" ${QGEN_TEST_ENVIRONMENT} ${TEST_ENVIRONMENT})
  set_tests_properties(${name} PROPERTIES
    ENVIRONMENT "${environment}"
    LABELS "${TEST_LABELS}" TIMEOUT 1500)
endfunction()

# The program test_NAME, or nothing if the folder has no tests yet: then MADE is false.
function(qgen_make_test_program made name folder)
  cmake_parse_arguments(TEST "" "" "LINKS;APART" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*_test.cpp")
  if(sources)
    add_executable(test_${name} ${sources} ${QGEN_PARTS_OF_EVERY_PROGRAM})
    target_link_libraries(test_${name} PRIVATE qgen_options ${TEST_LINKS} qgen_test_support
      GTest::gtest GTest::gmock GTest::gtest_main)
    target_compile_options(test_${name} PRIVATE ${QGEN_LESS_OPTIMISATION})
    qgen_compile_together(test_${name} ${folder} ${TEST_APART})
    if(TARGET qgen_test_precompiled)
      target_precompile_headers(test_${name} REUSE_FROM qgen_test_precompiled)
    endif()
    set(${made} TRUE PARENT_SCOPE)
  else()
    set(${made} FALSE PARENT_SCOPE)
  endif()
endfunction()

function(qgen_add_room_test name folder)
  qgen_make_test_program(made ${name} ${folder} ${ARGN})
  if(made)
    qgen_register_test(${name} COMMAND test_${name} LABELS host)
  endif()
endfunction()

function(qgen_add_device_test name folder)
  qgen_make_test_program(made ${name} ${folder} ${ARGN})
  if(made)
    qgen_register_on_drivers(${name} test_${name})
  endif()
endfunction()

# The drivers that NAME runs on. What runs every kernel takes long and is code of the project's once: sanitizers look at
# it on one driver.
function(qgen_drivers_of name drivers)
  set(list ${QGEN_TEST_DRIVERS})
  if(QGEN_SANITIZE AND name IN_LIST QGEN_TESTS_OF_EVERY_KERNEL)
    list(GET QGEN_TEST_DRIVERS 0 list)
  endif()
  set(${drivers} ${list} PARENT_SCOPE)
endfunction()

# qgen_register_on_drivers(NAME PROGRAM [AFTER NAME] [ARGUMENTS ...] [SAMPLE_ARGUMENTS ...]): NAME.<driver>, and
# NAME.<driver>.validation where a layer that understands the driver is there. The layer and the sanitizers get the
# sample, if there is one. AFTER names a test whose pipelines this one uses too: begun at once, both would compile them.
# What runs every kernel, and has no sample, runs under the layer only: it judges results there as without.
# A program that is not a GoogleTest one is counted by its exit code.
function(qgen_register_on_drivers name program)
  cmake_parse_arguments(TEST "" "AFTER" "ARGUMENTS;SAMPLE_ARGUMENTS" ${ARGN})
  set(is_run_once FALSE)
  if(name IN_LIST QGEN_TESTS_OF_EVERY_KERNEL AND NOT TEST_SAMPLE_ARGUMENTS)
    set(is_run_once TRUE)
  endif()
  if(NOT TEST_SAMPLE_ARGUMENTS)
    set(TEST_SAMPLE_ARGUMENTS ${TEST_ARGUMENTS})
  elseif(QGEN_SANITIZE)
    set(TEST_ARGUMENTS ${TEST_SAMPLE_ARGUMENTS})
  endif()
  qgen_drivers_of(${name} drivers)
  foreach(driver IN LISTS drivers)
    set(tests "")
    # The sanitizers and the layer look for different faults; together they only cost time.
    if(DEFINED QGEN_${driver}_VALIDATION AND NOT QGEN_SANITIZE)
      qgen_register_validation(${name} ${driver} ${program} ${TEST_SAMPLE_ARGUMENTS})
      list(APPEND tests ${name}.${driver}.validation)
    endif()
    if(NOT is_run_once OR NOT tests)
      qgen_register_test(${name}.${driver} LABELS device ENVIRONMENT ${QGEN_${driver}_ENVIRONMENT}
        COMMAND ${QGEN_${driver}_WRAPPER} $<TARGET_FILE:${program}> ${TEST_ARGUMENTS})
      list(APPEND tests ${name}.${driver})
    endif()
    if(TEST_AFTER)
      set_property(TEST ${tests} APPEND PROPERTY DEPENDS ${TEST_AFTER}.${driver} ${TEST_AFTER}.${driver}.validation)
    endif()
    if(name IN_LIST QGEN_TESTS_OF_EVERY_KERNEL)
      # Begin with what takes longest, of which llvmpipe's compiler is most where its cache is empty.
      set_tests_properties(${tests} PROPERTIES COST 100 TIMEOUT 3600)
      qgen_keep_on_one_core(${tests})
    endif()
  endforeach()
endfunction()

# llvmpipe, and the layer, have threads of their own, and hand each small dispatch from one to the other: on two cores
# half of the time goes into waking the other one. Its compiler's cache knows how many cores there are, so what shares
# pipelines is kept so together. Other device tests run on all cores, beside each other as a GPU's workgroups are.
function(qgen_keep_on_one_core)
  set_tests_properties(${ARGN} PROPERTIES PROCESSOR_AFFINITY ON)
endfunction()

function(qgen_register_validation name driver program)
  set(validation ${QGEN_${driver}_VALIDATION})
  if(DEFINED QGEN_${driver}_BOUNDS AND name IN_LIST QGEN_BOUNDS_CHECKED_TESTS)
    set(validation ${QGEN_${driver}_BOUNDS})
  endif()
  qgen_register_test(${name}.${driver}.validation LABELS validation
    ENVIRONMENT ${QGEN_${driver}_ENVIRONMENT} ${validation}
    COMMAND ${QGEN_${driver}_WRAPPER} $<TARGET_FILE:${program}> ${ARGN})
  set_tests_properties(${name}.${driver}.validation PROPERTIES
    DEPENDS ${name}.${driver}  # which leaves compiled kernels to find
    # A message that no test asked for is printed by the layer itself.
    FAIL_REGULAR_EXPRESSION "VUID-;SYNC-HAZARD;UNASSIGNED-;Validation Error")
endfunction()
