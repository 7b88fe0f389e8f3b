# qgen_add_kernels(<target> SPECS <file or folder>... [TEMPLATES <folder>...] [NAMESPACE <a::b>] [DIRECTORY <folder>]
#                  [OPTIONS <flag of qgen>...] [RUNNER <program>])
#
# Makes the static library <target> from kernel specs: qgen runs when a spec, a template or qgen itself changed, and
# what it writes is compiled as one file. A program links the library and reads its tables:
#
#   find_package(qgen REQUIRED)
#   qgen_add_kernels(my_kernels SPECS specs TEMPLATES templates NAMESPACE mine)
#   target_link_libraries(my_program PRIVATE my_kernels qgen::runtime)
#
#   #include "registry.h"      // const qgen::LibraryInfo& mine::library();
#   #include "my_operator.h"   // one header for each operator
#   #include "words.h"         // the words of attributes and problem fields, as enums
#
# Operators whose operands have shapes also get typed functions: the library <target>_operators, which needs an infer()
# of the program for each.
#
#   target_link_libraries(my_program PRIVATE my_kernels_operators)
#
#   #include "operators.h"     // Expected<DeviceTensor> mine::operators::my_operator(context, {.input = x}, {});
#   #include "graph_nodes.h"   // the same as a node of a graph: runtime/graph/builder.h
#
# RUNNER makes <program> of these: what qgen-run is for the shipped operators. It needs the same infer(), and a
# NAMESPACE, since the shipped kernels, which it times beside, have the one that is used by default.
#
#   qgen_add_kernels(my_kernels SPECS specs TEMPLATES templates NAMESPACE mine RUNNER my-run)
#   target_sources(my-run PRIVATE infer.cpp)
#
#   my-run my_operator --shape input=64x64:f32 --explain
#
# OPTIONS --tuning tuning compiles in the times of tuning files, OPTIONS --tuning tuning --prune 3 also leaves out the
# variants that gain less than 3 % by them.
#
# Templates may also include what qgen installs: $include "lib/grid.glsl".
#
# Paths are relative to the current source folder and are named so in messages. DIRECTORY is where qgen writes; by
# default a folder named <target> in the current binary folder.
#
# The outputs are known when CMake runs: a pair of files for each spec, named after it. A new spec file makes CMake run
# again. qgen leaves a file alone whose content is the same, so an edited comment compiles nothing; the depfile names
# every file that any variant was made from. The manifest alone is touched whenever qgen ran: by its time, make knows
# that there is nothing left to do.
#
# The blob is embedded by the assembler: find_package(qgen) enables ASM where the project has not.
#
# QGEN_PROGRAM, a variable of the cache, is another qgen to run, where that of this build cannot be run, since it is for
# another machine, or is slow.
set(QGEN_PROGRAM "" CACHE FILEPATH "The qgen that makes kernels; empty: that of this build")

function(qgen_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 KERNELS "" "NAMESPACE;DIRECTORY;RUNNER" "SPECS;TEMPLATES;OPTIONS")
  if(NOT KERNELS_SPECS OR KERNELS_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "qgen_add_kernels(${target}): expected SPECS <file or folder>..., "
      "then TEMPLATES, NAMESPACE, DIRECTORY, OPTIONS, RUNNER; got '${ARGN}'")
  endif()
  if(NOT KERNELS_DIRECTORY)
    set(KERNELS_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/${target}")
  endif()
  set(cpp "${KERNELS_DIRECTORY}/cpp")

  _qgen_spec_stems(stems ${KERNELS_SPECS})
  set(sources "${cpp}/registry.cpp" "${cpp}/tunings.cpp")
  set(headers "${cpp}/registry.h" "${cpp}/modules.h" "${cpp}/operators.h" "${cpp}/graph_nodes.h" "${cpp}/words.h")
  set(typed_functions "${cpp}/operators.cpp")
  foreach(stem IN LISTS stems)
    list(APPEND sources "${cpp}/${stem}.cpp")
    list(APPEND headers "${cpp}/${stem}.h")
  endforeach()

  set(flags "")
  foreach(folder IN LISTS KERNELS_TEMPLATES QGEN_TEMPLATES)
    list(APPEND flags --templates "${folder}")
  endforeach()
  if(KERNELS_NAMESPACE)
    list(APPEND flags --namespace "${KERNELS_NAMESPACE}")
  endif()
  set(program qgen::qgen)
  if(QGEN_PROGRAM)
    set(program "${QGEN_PROGRAM}")
  elseif(QGEN_SANITIZE)  # a qgen with sanitizers compiles many times slower
    list(APPEND flags --compile-seconds 60)
  endif()
  if(NOT CMAKE_ASM_COMPILER)
    message(FATAL_ERROR "qgen_add_kernels(${target}): the kernels are embedded by the assembler, and this folder's "
      "project has no ASM: name it in project(... LANGUAGES CXX ASM), or call find_package(qgen) here")
  endif()
  set(manifest "${KERNELS_DIRECTORY}/MANIFEST.tsv")
  add_custom_command(
    OUTPUT "${manifest}"
    BYPRODUCTS "${KERNELS_DIRECTORY}/kernels.blob" "${cpp}/blob.S" ${sources} ${headers} ${typed_functions}
    COMMAND ${program} ${KERNELS_SPECS} -o "${KERNELS_DIRECTORY}" ${flags} ${KERNELS_OPTIONS}
      --depfile "${KERNELS_DIRECTORY}.d" -q
    COMMAND "${CMAKE_COMMAND}" -E touch "${manifest}"
    DEPENDS ${program}
    DEPFILE "${KERNELS_DIRECTORY}.d"
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    COMMENT "qgen: kernels of ${target}"
    VERBATIM)

  # One target alone runs qgen, before any other that reads what it writes.
  add_custom_target(${target}_sources DEPENDS "${manifest}")
  add_library(${target} STATIC ${sources} "${cpp}/blob.S" ${headers})
  add_dependencies(${target} ${target}_sources)
  target_link_libraries(${target} PUBLIC qgen::library)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${cpp}>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0 POSITION_INDEPENDENT_CODE ON)

  add_library(${target}_operators STATIC EXCLUDE_FROM_ALL ${typed_functions} ${headers})
  add_dependencies(${target}_operators ${target}_sources)
  target_link_libraries(${target}_operators PUBLIC ${target} qgen::calls)
  set_target_properties(${target}_operators PROPERTIES POSITION_INDEPENDENT_CODE ON)

  # The assembler looks for `.incbin "kernels.blob"` there, and CMake cannot see that it reads it.
  set_source_files_properties("${cpp}/blob.S" PROPERTIES
    COMPILE_OPTIONS "-Wa,-I${KERNELS_DIRECTORY}" OBJECT_DEPENDS "${KERNELS_DIRECTORY}/kernels.blob")
  if(KERNELS_RUNNER)
    _qgen_add_runner(${KERNELS_RUNNER} ${target} "${KERNELS_NAMESPACE}" ${KERNELS_SPECS})
  endif()
endfunction()

function(_qgen_add_runner program target namespace)
  if(NOT namespace)
    message(FATAL_ERROR "qgen_add_kernels(${target} RUNNER ${program}): a runner needs a NAMESPACE, "
      "since the shipped kernels, which it times beside, have the default one")
  endif()
  _qgen_spec_files(files ${ARGN})
  set(has_operators FALSE)
  foreach(file IN LISTS files)
    file(STRINGS "${file}" shape REGEX "shape:" LIMIT_COUNT 1)
    if(shape)
      set(has_operators TRUE)
    endif()
  endforeach()
  if(NOT has_operators)
    message(FATAL_ERROR "qgen_add_kernels(${target} RUNNER ${program}): there is nothing to run by name, "
      "since no operand of the specs has a shape")
  endif()
  set(main "${CMAKE_CURRENT_BINARY_DIR}/${program}_main.cpp")
  file(CONFIGURE OUTPUT "${main}" @ONLY CONTENT [[
// Generated by qgen_add_kernels(@target@ RUNNER @program@). Do not edit.
#include "operators.h"
#include "registry.h"
#include "runtime/runner/program.h"

int main(int argc, char** argv) {
  return qgen::runner::run_program(argc, argv,
                                   {"@program@", @namespace@::library(), @namespace@::operators::entries()});
}
]])
  add_executable(${program} "${main}")
  target_link_libraries(${program} PRIVATE ${target}_operators qgen::runner)
endfunction()

# The files of specs named by file or folder; a folder is watched for new files.
function(_qgen_spec_files result)
  set(all "")
  foreach(path IN LISTS ARGN)
    get_filename_component(full "${path}" ABSOLUTE)
    if(IS_DIRECTORY "${full}")
      file(GLOB_RECURSE files CONFIGURE_DEPENDS "${full}/*.yaml")
      list(FILTER files EXCLUDE REGEX "/\\.[^/]*$")  # hidden: locks and copies of editors
    elseif(EXISTS "${full}")
      set(files "${full}")
    else()
      message(FATAL_ERROR "qgen_add_kernels: no spec or folder '${path}' in ${CMAKE_CURRENT_SOURCE_DIR}")
    endif()
    list(APPEND all ${files})
  endforeach()
  set(${result} "${all}" PARENT_SCOPE)
endfunction()

# Their stems, which the generated files are named after.
function(_qgen_spec_stems result)
  _qgen_spec_files(files ${ARGN})
  set(stems "")
  foreach(file IN LISTS files)
    file(STRINGS "${file}" is_fragment REGEX "^fragment:" LIMIT_COUNT 1)  # what specs share, and none itself
    get_filename_component(stem "${file}" NAME_WE)
    if(NOT is_fragment)
      list(APPEND stems "${stem}")
    endif()
  endforeach()
  list(SORT stems)
  if(NOT stems)
    message(FATAL_ERROR "qgen_add_kernels: no spec in '${ARGN}'")
  endif()
  set(${result} "${stems}" PARENT_SCOPE)
endfunction()
