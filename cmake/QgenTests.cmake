# Functions that define tests, and the drivers on which they run.
#
#   qgen_add_room_test(NAME FOLDER LINKS ...)     a GoogleTest program from the folder's *_test.cpp, run once
#   qgen_add_device_test(NAME FOLDER LINKS ...)   the same, run on every driver, and again under the validation layer
#
# Tests of every kernel (test_kernels, and qgen-run on the conformance cases) take hours where no compiled kernel is
# cached. They are there twice, by ctest's labels:
#
#   sampled   looks at a sample of kernels (runtime/workshop/measure/kernel_sample.h), in QGEN_SAMPLED_SHARDS processes
#   whole     the same tests in many shards, each of a few minutes. With QGEN_TEST_SHARE=1 they look at every kernel
#   more      of the others those that a first run leaves out: device tests under the validation layers
#   night     with sanitizers, those of QGEN_TESTS_FOR_A_NIGHT
#
# scripts/test says which labels it runs. QGEN_TEST_SHARE and QGEN_TEST_SEED reach the tests through the environment.
#
# Of entries that take turns, scripts/test --more runs a third: the seed selects the label turn_0, turn_1 or turn_2. Each
# shard of the sample runs on one driver: on an older one in its turn (older_0, ...), and in the other two turns on the
# last (rests_0, ...). With sanitizers all entries take turns, wing by wing, and the target qgen_turn_<n> builds the
# programs of one turn.
#
# The drivers are software: the system's llvmpipe (22.3.6 on Debian 12: no cooperative matrices) and the llvmpipe 26 of
# scripts/setup, which has them. QGEN_TEST_DRIVERS=loader runs on whatever the Vulkan loader offers first instead.
# tests/README.md describes what a device test needs to be counted.
include(QgenDrivers)

# With sanitizers these take minutes to build or to run. They are tests of tools, and of programs that start others; what
# reads foreign files, and what uses memory of a device, has tests of its own.
set(QGEN_TESTS_FOR_A_NIGHT fitting measure model program prune report runner runtime_program shipped_specs tuner tuner_faults watch)
add_custom_target(qgen_night_tests)
foreach(turn IN ITEMS 0 1 2)
  add_custom_target(qgen_turn_${turn})
endforeach()

# Seconds, of an entry. In an emulator, single tests of language models take five minutes.
set(QGEN_TEST_TIMEOUT 600)
if(CMAKE_CROSSCOMPILING)
  set(QGEN_TEST_TIMEOUT 3000)
endif()

# Where GoogleTest leaves its counts; scripts/count_tests.py adds them up.
set(QGEN_TEST_RESULTS "${PROJECT_BINARY_DIR}/test-results")
# Tests ignore the times that somebody tuned on this machine.
set(QGEN_TEST_ENVIRONMENT "QGEN_TUNING_STORE=${PROJECT_BINARY_DIR}/no-store.sqlite")
if(QGEN_SANITIZE MATCHES "address")
  list(APPEND QGEN_TEST_ENVIRONMENT
       "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/leaks.supp:print_suppressions=0")
elseif(QGEN_SANITIZE MATCHES "thread")
  list(APPEND QGEN_TEST_ENVIRONMENT "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/races.supp:halt_on_error=1:detect_deadlocks=0")  # LLVM's locks
endif()

add_library(qgen_test_support STATIC EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/tests/support/source_folder.cpp")
target_link_libraries(qgen_test_support PUBLIC qgen_options)
target_compile_definitions(qgen_test_support PRIVATE QGEN_SOURCE_FOLDER="${PROJECT_SOURCE_DIR}")
if(QGEN_BUILD_TESTS)  # a project that qgen is a part of may have no GoogleTest
  add_library(qgen_expected_text STATIC EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/tests/support/expected_text.cpp")
  target_link_libraries(qgen_expected_text PUBLIC qgen_test_support PRIVATE GTest::gtest)
endif()

# The headers of rooms and of GoogleTest, precompiled as tests are compiled. A program, since programs and libraries are
# position-independent in different ways.
function(qgen_add_precompiled_test_headers)
  if(NOT TARGET qgen_precompiled)
    return()
  endif()
  add_executable(qgen_test_precompiled EXCLUDE_FROM_ALL "${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp")
  target_link_libraries(qgen_test_precompiled PRIVATE qgen_options qgen_fmt GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_options(qgen_test_precompiled PRIVATE ${QGEN_NO_OPTIMISATION})
  target_precompile_headers(qgen_test_precompiled PRIVATE ${QGEN_COMMON_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)
endfunction()

# The turn, with sanitizers, of the tests of a source folder: the generator, models, or the engine.
function(qgen_turn_of_folder turn folder)
  set(number 2)
  if(folder MATCHES "^(codegen|common|vocabulary)")
    set(number 0)
  elseif(folder MATCHES "^(runtime/models|runtime/c|examples/picture)")
    set(number 1)
  endif()
  set(${turn} ${number} PARENT_SCOPE)
endfunction()

# qgen_run_in_turn_of(FOLDER TARGET...): with sanitizers, the turn of a folder builds these programs and runs their tests.
function(qgen_run_in_turn_of folder)
  qgen_turn_of_folder(turn "${folder}")
  list(TRANSFORM QGEN_TESTS_FOR_A_NIGHT PREPEND test_ OUTPUT_VARIABLE of_a_night)
  list(REMOVE_ITEM ARGN ${of_a_night})
  foreach(target IN LISTS ARGN)
    add_dependencies(qgen_turn_${turn} ${target})
    set_property(GLOBAL PROPERTY QGEN_TURN_OF_${target} turn_${turn})
  endforeach()
endfunction()

# qgen_register_test(NAME [ENVIRONMENT ...] COMMAND ...): one line of ctest's list.
function(qgen_register_test name)
  cmake_parse_arguments(TEST "" "" "ENVIRONMENT;COMMAND;LABELS" ${ARGN})
  string(REGEX REPLACE "[.].*" "" program "${name}")
  if(QGEN_SANITIZE AND program IN_LIST QGEN_TESTS_FOR_A_NIGHT)
    list(APPEND TEST_LABELS night)
  elseif(QGEN_SANITIZE)
    set(of_command "${TEST_COMMAND}")
    list(TRANSFORM of_command REPLACE "^\\$<TARGET_FILE:(.*)>$" "\\1")
    foreach(word IN LISTS of_command)
      get_property(turn GLOBAL PROPERTY QGEN_TURN_OF_${word})
      list(APPEND TEST_LABELS ${turn})
    endforeach()
  endif()
  add_test(NAME ${name} COMMAND ${TEST_COMMAND})
  set(environment "GTEST_OUTPUT=xml:${QGEN_TEST_RESULTS}/${name}.xml" ${QGEN_TEST_ENVIRONMENT} ${TEST_ENVIRONMENT})
  set_tests_properties(${name} PROPERTIES
    ENVIRONMENT "${environment}"
    LABELS "${TEST_LABELS}" TIMEOUT ${QGEN_TEST_TIMEOUT})
endfunction()

# qgen_leave_out_with_sanitizers(ENTRY TEST...): these tests of an entry take minutes with sanitizers, and run without.
function(qgen_leave_out_with_sanitizers entry)
  if(QGEN_SANITIZE)
    list(JOIN ARGN ":" tests)
    get_property(entries DIRECTORY PROPERTY TESTS)
    list(FILTER entries INCLUDE REGEX "^${entry}(\\.[0-9]+of[0-9]+)?$")
    set_property(TEST ${entries} APPEND PROPERTY ENVIRONMENT "GTEST_FILTER=-${tests}")
  endif()
endfunction()

# qgen_take_turns(ENTRY...): each of these entries gets one of the labels turn_0, turn_1 and turn_2.
function(qgen_take_turns)
  qgen_number_turns(turn ${ARGN})
endfunction()

# The same with the labels LABEL_0, LABEL_1 and LABEL_2.
function(qgen_number_turns label)
  set(number 0)
  foreach(entry IN LISTS ARGN)
    math(EXPR turn "${number} % 3")
    set_property(TEST ${entry} APPEND PROPERTY LABELS ${label}_${turn})
    math(EXPR number "${number} + 1")
  endforeach()
endfunction()

# The program test_NAME, or nothing if the folder has no tests yet: then MADE is false.
function(qgen_make_test_program made name folder)
  cmake_parse_arguments(TEST "" "" "LINKS;APART" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*_test.cpp")
  if(sources)
    add_executable(test_${name} ${sources} ${QGEN_PARTS_OF_EVERY_PROGRAM})
    target_link_libraries(test_${name} PRIVATE qgen_options ${TEST_LINKS} qgen_expected_text
      GTest::gtest GTest::gmock GTest::gtest_main)
    target_compile_options(test_${name} PRIVATE ${QGEN_NO_OPTIMISATION})
    qgen_compile_together(test_${name} ${folder} ${TEST_APART})
    if(TARGET qgen_test_precompiled)
      target_precompile_headers(test_${name} REUSE_FROM qgen_test_precompiled)
    endif()
    if(QGEN_SANITIZE AND name IN_LIST QGEN_TESTS_FOR_A_NIGHT)
      set_target_properties(test_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
      add_dependencies(qgen_night_tests test_${name})
    endif()
    set(${made} TRUE PARENT_SCOPE)
  else()
    set(${made} FALSE PARENT_SCOPE)
  endif()
endfunction()

# qgen_register_shards(NAME SHARDS ...): as qgen_register_test, of a GoogleTest program. SHARDS entries share its tests,
# NAME.<shard>of<SHARDS>, so that none takes minutes. If SHARDS is 1, the entry is NAME.
function(qgen_register_shards name shards)
  if(shards EQUAL 1)
    qgen_register_test(${name} ${ARGN})
    return()
  endif()
  cmake_parse_arguments(TEST "" "" "ENVIRONMENT;COMMAND;LABELS" ${ARGN})
  foreach(shard RANGE 1 ${shards})
    math(EXPR index "${shard} - 1")
    qgen_register_test(${name}.${shard}of${shards} COMMAND ${TEST_COMMAND} LABELS ${TEST_LABELS}
      ENVIRONMENT ${TEST_ENVIRONMENT} "GTEST_TOTAL_SHARDS=${shards}" "GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# SANITIZED_SHARDS: its entries with sanitizers.
function(qgen_add_room_test name folder)
  cmake_parse_arguments(ROOM "" "SANITIZED_SHARDS" "" ${ARGN})
  qgen_make_test_program(made ${name} ${folder} ${ROOM_UNPARSED_ARGUMENTS})
  if(NOT made)
    return()
  endif()
  qgen_run_in_turn_of(${folder} test_${name})
  set(shards 1)
  if(QGEN_SANITIZE AND ROOM_SANITIZED_SHARDS)
    set(shards ${ROOM_SANITIZED_SHARDS})
  endif()
  qgen_register_shards(${name} ${shards} COMMAND test_${name} LABELS host)
endfunction()

# EMULATED_SHARDS: its entries in an emulator.
function(qgen_add_device_test name folder)
  cmake_parse_arguments(DEVICE "" "EMULATED_SHARDS" "" ${ARGN})
  qgen_make_test_program(made ${name} ${folder} ${DEVICE_UNPARSED_ARGUMENTS})
  if(NOT made)
    return()
  endif()
  qgen_run_in_turn_of(${folder} test_${name})
  target_link_libraries(test_${name} PRIVATE qgen_profiles)  # tests/support/device_test.h reads a mask
  set(shards 1)
  if(CMAKE_CROSSCOMPILING AND DEVICE_EMULATED_SHARDS)
    set(shards ${DEVICE_EMULATED_SHARDS})
  endif()
  qgen_register_on_drivers(${name} test_${name} SHARDS ${shards})
endfunction()

# qgen_register_on_drivers(NAME PROGRAM [SHARDS n] [ARGUMENT ...]): NAME.<driver>, and NAME.<driver>.validation where a
# layer that understands the driver is there. The second checks all that the first does, so the first ones take turns in
# a run of both (qgen_let_plain_entries_take_turns).
#
# Sanitizers look at code of the project's, which is the same on each driver: the other drivers count as `whole`.
function(qgen_register_on_drivers name program)
  cmake_parse_arguments(DRIVERS "" "SHARDS" "" ${ARGN})
  if(NOT DRIVERS_SHARDS)
    set(DRIVERS_SHARDS 1)
  endif()
  qgen_drivers_of_kernels(first)
  foreach(driver IN LISTS QGEN_TEST_DRIVERS)
    set(labels device)
    if(NOT driver IN_LIST first)
      list(APPEND labels whole)
    endif()
    qgen_register_shards(${name}.${driver} ${DRIVERS_SHARDS} LABELS ${labels} ENVIRONMENT ${QGEN_${driver}_ENVIRONMENT}
      COMMAND ${QGEN_${driver}_WRAPPER} $<TARGET_FILE:${program}> ${DRIVERS_UNPARSED_ARGUMENTS})
    # The sanitizers and the layer look for different faults; together they only cost time.
    if(DEFINED QGEN_${driver}_VALIDATION AND NOT QGEN_SANITIZE)
      qgen_register_validation(${name}.${driver}.validation ${name} ${driver}
        COMMAND ${QGEN_${driver}_WRAPPER} $<TARGET_FILE:${program}> ${DRIVERS_UNPARSED_ARGUMENTS})
      set_property(TEST ${name}.${driver}.validation APPEND PROPERTY LABELS more)
      set_property(DIRECTORY APPEND PROPERTY QGEN_PLAIN_ENTRIES ${name}.${driver})
    endif()
  endforeach()
endfunction()

# Tests of a program that take a minute become an entry of their own, ENTRY.long, which a first run leaves out. With
# sanitizers nothing changes.
function(qgen_set_apart entry program)
  if(QGEN_SANITIZE)
    return()
  endif()
  list(JOIN ARGN ":" tests)
  set_property(TEST ${entry} APPEND PROPERTY ENVIRONMENT "GTEST_FILTER=-${tests}")
  qgen_register_test(${entry}.long LABELS host more ENVIRONMENT "GTEST_FILTER=${tests}" COMMAND ${program})
endfunction()

# The program's entries without the layer take a minute. A run has one of them: by the seed on the first driver or on the
# last.
function(qgen_run_on_one_driver name)
  list(LENGTH QGEN_TEST_DRIVERS drivers)
  if(QGEN_SANITIZE OR drivers LESS 2)
    return()
  endif()
  list(GET QGEN_TEST_DRIVERS 0 first)
  list(GET QGEN_TEST_DRIVERS -1 last)
  qgen_number_turns(older ${name}.${first})
  qgen_number_turns(rests ${name}.${last})
  # Last, it would run beside nothing else.
  set_tests_properties(${name}.${first} ${name}.${last} PROPERTIES COST 50)
endfunction()

# At the end of a folder's list: its entries without the layer, of which there are others with it.
function(qgen_let_plain_entries_take_turns)
  get_property(entries DIRECTORY PROPERTY QGEN_PLAIN_ENTRIES)
  qgen_take_turns(${entries})
endfunction()

# ---- every kernel ----------------------------------------------------------------------------------------------------

set(shards 8)
if(CMAKE_CROSSCOMPILING)
  set(shards 64)  # of some minutes each in an emulator; scripts/test runs a few of them
endif()
set(QGEN_SAMPLED_SHARDS ${shards} CACHE STRING "processes that share the sample of kernels, for each driver")
set(QGEN_WHOLE_SHARDS 40 CACHE STRING "processes that share all kernels, for each driver")

# The drivers that tests of every kernel run on: with sanitizers, the first.
function(qgen_drivers_of_kernels drivers)
  set(list ${QGEN_TEST_DRIVERS})
  if(QGEN_SANITIZE)
    list(GET QGEN_TEST_DRIVERS 0 list)
  endif()
  set(${drivers} ${list} PARENT_SCOPE)
endfunction()

# One of the entries for tests of every kernel. It runs on one core, and under the driver's layer if there is one, with
# the same expected results.
function(qgen_register_kernel_entry entry name driver label)
  cmake_parse_arguments(TEST "" "" "ENVIRONMENT;COMMAND" ${ARGN})
  if(DEFINED QGEN_${driver}_VALIDATION AND NOT QGEN_SANITIZE)
    qgen_register_validation(${entry} ${name} ${driver} ENVIRONMENT ${TEST_ENVIRONMENT} COMMAND ${TEST_COMMAND})
  else()
    qgen_register_test(${entry} ENVIRONMENT ${QGEN_${driver}_ENVIRONMENT} ${TEST_ENVIRONMENT} COMMAND ${TEST_COMMAND})
  endif()
  # The slowest tests start first. With an empty cache, most of their time goes into llvmpipe's compiler.
  set_property(TEST ${entry} APPEND PROPERTY LABELS ${label})
  set_tests_properties(${entry} PROPERTIES COST 100)
  qgen_keep_on_one_core(${entry})
endfunction()

# qgen_add_kernel_test(NAME FOLDER LINKS ...): a GoogleTest program of tests/kernels/kernel_test.h. NAME.<driver>.robust
# compares the results with robust access and without (tests/kernels/robust_access.h); that compiles each kernel twice, so
# on the last of several drivers it is in the whole only. With sanitizers the program takes as long to compile as ten
# others, for host code that other tests run too: then it is in the whole only, and no part of the target `all`.
#
# The last driver has the most features. Most of the time is the drivers' compiler, so in a turn each shard of the sample
# runs on one driver: a third of them on another, and the others on the last.
function(qgen_add_kernel_test name folder)
  qgen_make_test_program(made ${name} ${folder} ${ARGN})
  set(labels sampled whole)
  if(QGEN_SANITIZE)
    set_target_properties(test_${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    set(labels whole)
  endif()
  qgen_drivers_of_kernels(drivers)
  list(GET drivers -1 last_driver)
  set(robust "")
  set(on_older "")
  set(on_last "")
  foreach(driver IN LISTS drivers)
    foreach(label IN LISTS labels)
      string(TOUPPER ${label} prefix)
      set(shards ${QGEN_${prefix}_SHARDS})
      set(with "")
      if(label STREQUAL "sampled")
        set(with ${QGEN_${driver}_SAMPLE})
      endif()
      foreach(shard RANGE 1 ${shards})
        qgen_register_kernel_entry(${name}.${driver}.${label}.${shard}of${shards} ${name} ${driver} ${label}
          ENVIRONMENT "QGEN_TEST_SHARD=${shard}/${shards}" ${with}
          COMMAND ${QGEN_${driver}_WRAPPER} $<TARGET_FILE:test_${name}>)
        if(label STREQUAL "sampled" AND driver STREQUAL last_driver)
          list(APPEND on_last ${name}.${driver}.${label}.${shard}of${shards})
        elseif(label STREQUAL "sampled")
          list(APPEND on_older ${name}.${driver}.${label}.${shard}of${shards})
        endif()
      endforeach()
    endforeach()
    if(NOT QGEN_SANITIZE)
      set(label more)
      if(on_older AND driver STREQUAL last_driver)
        set(label whole)
      endif()
      foreach(shard RANGE 1 ${QGEN_SAMPLED_SHARDS})
        set(entry ${name}.${driver}.robust.${shard}of${QGEN_SAMPLED_SHARDS})
        list(APPEND robust ${entry})
        qgen_register_kernel_entry(${entry} ${name} ${driver} ${label}
          ENVIRONMENT "QGEN_TEST_ROBUST=both" "QGEN_TEST_SHARD=${shard}/${QGEN_SAMPLED_SHARDS}"
          COMMAND ${QGEN_${driver}_WRAPPER} $<TARGET_FILE:test_${name}>)
      endforeach()
    endif()
  endforeach()
  qgen_take_turns(${robust})
  if(on_older)
    qgen_number_turns(older ${on_older})
    qgen_number_turns(rests ${on_last})
  endif()
endfunction()

# qgen_add_case_test(NAME FOLDER LARGEST operator...): qgen-run on the conformance cases of a folder, on each driver.
# Each entry is counted by its exit code:
#
#   NAME.<driver>.chosen              on the kernel that is chosen
#   NAME.<driver>.sampled.<operator>  on a sample of kernels
#   NAME.<driver>.bounds.<operator>   on the kernel that is chosen, with bounds checks on the device
#   NAME.<driver>.whole.<operator>    on every kernel
#
# The sampled entries and those with bounds checks take turns. LARGEST are the operators whose samples take minutes: they
# have turns of their own, so that no run has all of them.
function(qgen_add_case_test name folder)
  cmake_parse_arguments(CASES "" "" "LARGEST" ${ARGN})
  set(program $<TARGET_FILE:qgen-run> --cases)
  file(GLOB operators RELATIVE "${folder}" CONFIGURE_DEPENDS "${folder}/*")
  list(FILTER operators EXCLUDE REGEX "\\.")
  qgen_drivers_of_kernels(drivers)
  set(in_turns "")
  set(largest "")
  set(in_bounds "")
  foreach(driver IN LISTS drivers)
    set(run ${QGEN_${driver}_WRAPPER} ${program})
    qgen_register_kernel_entry(${name}.${driver}.chosen ${name} ${driver} "" COMMAND ${run} "${folder}")
    if(QGEN_SANITIZE)
      continue()
    endif()
    foreach(operator IN LISTS operators)
      set(entry ${name}.${driver}.sampled.${operator})
      if(operator IN_LIST CASES_LARGEST)
        list(APPEND largest ${entry})
      else()
        list(APPEND in_turns ${entry})
      endif()
      qgen_register_kernel_entry(${entry} ${name} ${driver} "sampled;more"
        COMMAND "${PROJECT_SOURCE_DIR}/tests/run_sampled.sh" ${run} "${folder}/${operator}")
      qgen_register_kernel_entry(${name}.${driver}.whole.${operator} ${name} ${driver} whole
        COMMAND ${run} "${folder}/${operator}" --all-kernels)
      if(DEFINED QGEN_${driver}_BOUNDS)
        list(APPEND in_bounds ${name}.${driver}.bounds.${operator})
        qgen_register_kernel_entry(${name}.${driver}.bounds.${operator} ${name}_in_bounds ${driver} more
          COMMAND ${run} "${folder}/${operator}")
      endif()
    endforeach()
  endforeach()
  foreach(entries IN ITEMS in_turns largest in_bounds)
    qgen_take_turns(${${entries}})
  endforeach()
endfunction()

# qgen_add_masked_tests(CASES folder DEVICES name...): the tests of kernels and models, and the conformance cases, on
# the last driver, which has the most features. A mask reduces it to each of these devices (devices/NAME.yaml). They run
# under its layer, which reports features that a kernel uses and the mask lacks:
#
#   masked.<device>.<conformance|kernels|models|graph>
#
# `models` has the networks among the tests of `graph`, which is in the whole only. So are the devices that DEVICES does
# not name. A device has a share of the kernels' tests, and a small sample of the kernels: the devices that DEVICES names
# run all of these tests together, and so do the others. The tests of kernels of named devices take turns.
function(qgen_add_masked_tests)
  cmake_parse_arguments(MASKED "" "CASES" "DEVICES" ${ARGN})
  if(QGEN_SANITIZE)
    return()
  endif()
  list(GET QGEN_TEST_DRIVERS -1 driver)
  file(GLOB files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/devices/*.yaml")
  list(FILTER files EXCLUDE REGEX "/quirks.yaml$")
  list(LENGTH files count)
  list(LENGTH MASKED_DEVICES more_count)
  math(EXPR whole_count "${count} - ${more_count}")
  set(more_index 0)
  set(whole_index 0)
  foreach(file IN LISTS files)
    get_filename_component(device "${file}" NAME_WLE)
    set(label whole)
    if(device IN_LIST MASKED_DEVICES)
      set(label more)
    endif()
    math(EXPR ${label}_index "${${label}_index} + 1")
    set(mask "QGEN_DEVICE_MASK=as=${file}")
    set(wrapper ${QGEN_${driver}_WRAPPER})
    qgen_register_kernel_entry(masked.${device}.conformance conformance ${driver} ${label} ENVIRONMENT "${mask}"
      COMMAND ${wrapper} $<TARGET_FILE:qgen-run> --cases "${MASKED_CASES}")
    qgen_register_kernel_entry(masked.${device}.kernels kernels ${driver} ${label}
      ENVIRONMENT "${mask}" "QGEN_TEST_SHARD=${${label}_index}/${${label}_count}" "QGEN_TEST_SHARE=0.0005"
      COMMAND ${wrapper} $<TARGET_FILE:test_kernels>)
    qgen_register_kernel_entry(masked.${device}.graph graph ${driver} whole ENVIRONMENT "${mask}"
      COMMAND ${wrapper} $<TARGET_FILE:test_graph>)
    qgen_register_kernel_entry(masked.${device}.models graph ${driver} ${label} ENVIRONMENT "${mask}"
      "GTEST_FILTER=PreparedTest.*:FixedModelTest.*:GeneratorTest.TokensAreThoseOfOnnxRuntime"
      COMMAND ${wrapper} $<TARGET_FILE:test_graph>)
  endforeach()
endfunction()

# qgen_add_version_tests(CASES folder VERSIONS 1.1 ... PROGRAMS name...): device tests, and the conformance cases, on
# each driver as one of an older Vulkan. They run under its layer, with the version set:
#
#   vulkan<version>.<program|conformance>.<driver>
function(qgen_add_version_tests)
  cmake_parse_arguments(OLDER "" "CASES" "VERSIONS;PROGRAMS" ${ARGN})
  if(QGEN_SANITIZE)
    return()
  endif()
  foreach(driver IN LISTS QGEN_TEST_DRIVERS)
    foreach(version IN LISTS OLDER_VERSIONS)
      set(mask "QGEN_DEVICE_MASK=vulkan=${version}")
      if(version VERSION_LESS 1.2)  # as the barest of its drivers
        string(APPEND mask ",without=uniform_buffer_standard_layout")
      endif()
      set(wrapper ${QGEN_${driver}_WRAPPER})
      foreach(program IN LISTS OLDER_PROGRAMS)
        qgen_register_kernel_entry(vulkan${version}.${program}.${driver} older ${driver} "device" ENVIRONMENT "${mask}"
          COMMAND ${wrapper} $<TARGET_FILE:test_${program}>)
      endforeach()
      qgen_register_kernel_entry(vulkan${version}.conformance.${driver} older ${driver} more ENVIRONMENT "${mask}"
        COMMAND ${wrapper} $<TARGET_FILE:qgen-run> --cases "${OLDER_CASES}")
    endforeach()
  endforeach()
endfunction()

# llvmpipe and the layer have their own threads, and pass each small dispatch between them. On two cores, half of the
# time goes into waking the other one. llvmpipe's cache key contains the number of cores, so tests that share pipelines
# all use the same number. Other device tests use all cores, so that workgroups run at the same time as on a GPU.
function(qgen_keep_on_one_core)
  set_tests_properties(${ARGN} PROPERTIES PROCESSOR_AFFINITY ON)
endfunction()

# An entry under the driver's layer, with bounds checks on the device for the tests that have them.
function(qgen_register_validation entry name driver)
  cmake_parse_arguments(TEST "" "" "ENVIRONMENT;COMMAND" ${ARGN})
  set(validation ${QGEN_${driver}_VALIDATION})
  if(DEFINED QGEN_${driver}_BOUNDS AND name IN_LIST QGEN_BOUNDS_CHECKED_TESTS)
    set(validation ${QGEN_${driver}_BOUNDS})
  endif()
  qgen_register_test(${entry} LABELS validation
    ENVIRONMENT ${QGEN_${driver}_ENVIRONMENT} ${validation} ${TEST_ENVIRONMENT} COMMAND ${TEST_COMMAND})
  # If no test expects a message, the layer prints it itself.
  set_tests_properties(${entry} PROPERTIES FAIL_REGULAR_EXPRESSION "VUID-;SYNC-HAZARD;UNASSIGNED-;Validation Error")
endfunction()
