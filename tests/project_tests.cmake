# Tests of pages, scripts, the installed package and the sources' form. Without sanitizers only: what they run is
# not the project's C++, or is built by them.

# The commands of each page, run as printed; and the script that does so, on its own test pages.
qgen_register_test(commands.rules LABELS host COMMAND python3 "${CMAKE_CURRENT_SOURCE_DIR}/run_documented_commands_test.py")
if(QGEN_INSTALL AND QGEN_BUILD_BENCH)  # pages name programs of the release build
  file(GLOB pages CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/*.md"
    "${PROJECT_SOURCE_DIR}/*/*.md" "${PROJECT_SOURCE_DIR}/*/*/README.md")
  list(FILTER pages EXCLUDE REGEX "^(build|out)/")
  list(GET QGEN_TEST_DRIVERS 0 driver)
  set(environment "")
  if(NOT QGEN_${driver}_WRAPPER)
    set(environment ENVIRONMENT ${QGEN_${driver}_ENVIRONMENT})
  endif()
  set(pages_in_turns "")
  foreach(page IN LISTS pages)
    string(REGEX REPLACE "(/README)?\\.md$" "" name "${page}")
    string(REPLACE "/" "." name "${name}")
    qgen_register_test(commands.${name} LABELS device ${environment}
      COMMAND python3 "${CMAKE_CURRENT_SOURCE_DIR}/run_documented_commands.py" --build "${PROJECT_BINARY_DIR}" "${page}")
    set_tests_properties(commands.${name} PROPERTIES TIMEOUT 300)
    list(APPEND pages_in_turns commands.${name})
  endforeach()
  list(REMOVE_ITEM pages_in_turns commands.README)
  qgen_take_turns(${pages_in_turns})
endif()
qgen_register_test(readme LABELS host COMMAND python3 "${CMAKE_CURRENT_SOURCE_DIR}/check_readme.py" "${PROJECT_SOURCE_DIR}")
qgen_register_test(moved_from_types LABELS host COMMAND
  python3 "${CMAKE_CURRENT_SOURCE_DIR}/moved_from_types.py" "${PROJECT_SOURCE_DIR}")
execute_process(COMMAND python3 -c "import yaml" RESULT_VARIABLE no_yaml OUTPUT_QUIET ERROR_QUIET)
if(NOT no_yaml)
  qgen_register_test(quirks LABELS host COMMAND python3 "${PROJECT_SOURCE_DIR}/scripts/write_quirks.py" --check)
  qgen_register_test(pictures LABELS host COMMAND python3 "${PROJECT_SOURCE_DIR}/docs/draw_convolution.py" --check)
  qgen_register_test(picture_of_kernels LABELS host COMMAND python3 "${PROJECT_SOURCE_DIR}/docs/draw_kernels.py" --check)
endif()
if(EXISTS "${PROJECT_SOURCE_DIR}/.git")
  qgen_register_test(walk_of_an_operator LABELS host COMMAND
    python3 "${CMAKE_CURRENT_SOURCE_DIR}/walk_of_an_operator.py" "${PROJECT_SOURCE_DIR}")
endif()
if(QGEN_INSTALL AND NOT CMAKE_CROSSCOMPILING)
  get_property(programs GLOBAL PROPERTY QGEN_PROGRAMS)
  list(TRANSFORM programs REPLACE "(.+)" "$<TARGET_FILE:\\1>")
  qgen_register_test(manuals LABELS host COMMAND
    python3 "${CMAKE_CURRENT_SOURCE_DIR}/manuals.py" "${PROJECT_BINARY_DIR}/manuals" ${programs})
endif()
if(QGEN_INSTALL)
  # What users of an installed qgen do. The folders of headers are for a host program with volk and VMA of its own.
  set(parts install headers header_examples rebuild configure_twice warnings subproject two_parts libraries runner symbols shared_library beside_vulkan engine part
    model components cross c_api)
  if(QGEN_STATIC)
    list(APPEND parts programs)
  endif()
  set(installed "${CMAKE_CURRENT_BINARY_DIR}/installed")
  foreach(part IN LISTS parts)
    qgen_register_test(installed.${part} LABELS host
      ENVIRONMENT "HOST_INCLUDES=$<JOIN:$<TARGET_PROPERTY:qgen_deps::volk,INTERFACE_INCLUDE_DIRECTORIES>,:>:$<JOIN:$<TARGET_PROPERTY:qgen_deps::vma,INTERFACE_INCLUDE_DIRECTORIES>,:>"
      COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/installed/use.sh" ${part} "${installed}/prefix" "${PROJECT_BINARY_DIR}"
        "${PROJECT_SOURCE_DIR}" "${installed}/${part}")
    set_tests_properties(installed.${part} PROPERTIES TIMEOUT 300 FIXTURES_REQUIRED installed_qgen)
  endforeach()
  set_tests_properties(installed.install PROPERTIES FIXTURES_REQUIRED "" FIXTURES_SETUP installed_qgen)
  # They compile most, and a first run has seen a project being built without them.
  foreach(part IN ITEMS configure_twice cross header_examples headers subproject two_parts warnings)
    set_property(TEST installed.${part} APPEND PROPERTY LABELS more)
  endforeach()
endif()
# The emitted code, under warnings that users turn into errors, with both compilers if installed.
foreach(compiler IN ITEMS g++ clang++)
  find_program(QGEN_WARNINGS_OF_${compiler} ${compiler})
  mark_as_advanced(QGEN_WARNINGS_OF_${compiler})
  if(QGEN_WARNINGS_OF_${compiler})
    qgen_register_test(generated_code_has_no_warnings.${compiler} LABELS host COMMAND
      "${CMAKE_CURRENT_SOURCE_DIR}/generated_code_has_no_warnings.sh" "${PROJECT_SOURCE_DIR}"
      "${QGEN_WARNINGS_OF_${compiler}}")
    set_tests_properties(generated_code_has_no_warnings.${compiler} PROPERTIES TIMEOUT 300)
    if(NOT compiler STREQUAL "g++")  # a first run has one of them
      set_property(TEST generated_code_has_no_warnings.${compiler} APPEND PROPERTY LABELS more)
    endif()
  endif()
endforeach()
qgen_register_test(big_endian_is_refused LABELS host COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/big_endian_is_refused.sh"
  "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_BINARY_DIR}/big_endian")
qgen_register_test(try_device_lends LABELS host COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/try_device_lends.sh"
  "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_BINARY_DIR}/try_device_lends")
qgen_register_test(folders_stay LABELS host COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/folders_stay.sh"
  "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_BINARY_DIR}/folders_stay")
qgen_register_test(sbom LABELS host COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/sbom.py"
  "${PROJECT_SOURCE_DIR}/scripts/write_sbom.py" "${PROJECT_BINARY_DIR}")
find_program(QGEN_MKDOCS mkdocs)
find_program(QGEN_DOXYGEN doxygen)
mark_as_advanced(QGEN_MKDOCS QGEN_DOXYGEN)
if(QGEN_MKDOCS AND QGEN_DOXYGEN AND EXISTS "${PROJECT_SOURCE_DIR}/.git")
  qgen_register_test(site LABELS "host;more" COMMAND
    "${PROJECT_SOURCE_DIR}/scripts/site" "${CMAKE_CURRENT_BINARY_DIR}/site")
endif()
qgen_register_test(same_modules LABELS host COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/same_modules.py"
  "${PROJECT_SOURCE_DIR}/scripts/same_modules")
set_tests_properties(same_modules PROPERTIES SKIP_RETURN_CODE 77)
qgen_register_test(fleet_scripts LABELS host COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/fleet_scripts.sh"
  "${PROJECT_SOURCE_DIR}")
find_program(QGEN_CLANG_FORMAT clang-format-14)
if(QGEN_CLANG_FORMAT AND EXISTS "${PROJECT_SOURCE_DIR}/.git")
  qgen_register_test(format LABELS host COMMAND "${PROJECT_SOURCE_DIR}/scripts/format" --check)
endif()
