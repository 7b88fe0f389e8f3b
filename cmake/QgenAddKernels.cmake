# qgen_add_kernels(<target> SPECS <file or folder>... [TEMPLATES <folder>...] [NAMESPACE <a::b>] [DIRECTORY <folder>]
#                  [OPTIONS <flag of qgen>...] [RUNNER <program>] [TUNER <program>])
#
# Makes the static library <target> from kernel specs. qgen runs when a spec, a template or qgen itself has changed, and
# its output is compiled as one file. A program links the library and reads its tables:
#
#   find_package(qgen REQUIRED)
#   qgen_add_kernels(my_kernels SPECS specs TEMPLATES templates NAMESPACE mine)
#   target_link_libraries(my_program PRIVATE my_kernels qgen::runtime)
#
#   #include "registry.h"      // const qgen::LibraryInfo& mine::library();
#   #include "my_operator.h"   // one header for each operator
#   #include "words.h"         // the enumerations of attributes and problem fields
#
# Operators whose operands have shapes also get typed functions, in the library <target>_operators. For each, the
# program defines an infer().
#
#   target_link_libraries(my_program PRIVATE my_kernels_operators)
#
#   #include "operators.h"     // Expected<DeviceTensor> mine::operators::my_operator(context, {.input = x}, {});
#   #include "graph_nodes.h"   // the same as a node of a graph: qgen/graph.h
#
# RUNNER makes <program>, a qgen-run for these operators. It needs the same infer(), and a NAMESPACE: it also contains
# the shipped kernels, which have the default namespace.
#
#   qgen_add_kernels(my_kernels SPECS specs TEMPLATES templates NAMESPACE mine RUNNER my-run)
#   target_sources(my-run PRIVATE infer.cpp)
#
#   my-run my_operator --shape input=64x64:f32 --explain
#
# TUNER makes <program>, a qgen-tune for these operators, with the same needs. It has no references, so it compares
# kernels with each other. A project with references writes the three lines of main() itself (qgen/tuner.h).
#
#   my-tune --operator my_operator --shape input=64x64:f32
#
# OPTIONS --tuning tuning compiles the times of tuning files into the tables. OPTIONS --tuning tuning --prune 3 also
# leaves out variants. Each problem of these files then takes at most 3 % longer than with its best kernel.
#
# Templates may also include the files of qgen: $include "lib/grid.glsl".
#
# Paths are relative to the current source folder, also in messages. DIRECTORY is the folder that qgen writes into;
# default: a folder named <target> in the current binary folder.
#
# CMake knows the outputs when it runs: a pair of files for each spec, named after it. A new spec file makes CMake run
# again. qgen does not touch a file whose content stays the same, so an edited comment compiles nothing. The depfile
# names every file that a variant was made from. The manifest is touched in every run of qgen: from its time, make knows
# that nothing is left to do.
#
# The assembler embeds the blob. If the project has no ASM, qgen_add_kernels() enables it for the current folder. CMake
# can do so in a file, but not within a function. So a function that calls it needs a project with ASM.
#
# The cache variable QGEN_PROGRAM names another qgen to run, if the one of this build is slow or is for another
# processor.
set(QGEN_PROGRAM "" CACHE FILEPATH "The qgen that makes kernels; empty: that of this build")
# The cache variable QGEN_REMOTE_CACHE is given to it as --remote-cache.
set(QGEN_REMOTE_CACHE "" CACHE STRING "URL of a cache of modules that machines share; empty: that of the environment")

# The flags of each run of qgen that writes kernels.
function(_qgen_cache_flags result)
  set(flags "")
  if(QGEN_REMOTE_CACHE)
    set(flags --remote-cache "${QGEN_REMOTE_CACHE}")
  endif()
  set(${result} "${flags}" PARENT_SCOPE)
endfunction()

# The program to run: the one that the cache variable names, else `target`.
function(_qgen_program result target variable)
  if(NOT ${variable} AND NOT TARGET ${target} AND CMAKE_CROSSCOMPILING)
    message(FATAL_ERROR "a cross build needs the ${target} of the host: find the host's qgen first, "
      "with COMPONENTS codegen, or set ${variable}")
  endif()
  set(program ${target})
  if(${variable})
    set(program "${${variable}}")
  endif()
  set(${result} "${program}" PARENT_SCOPE)
endfunction()

# CMAKE_ASM_COMPILER does not answer this. It is in the cache, so it exists from the second run on. It also exists in
# folders next to a project that has ASM.
macro(_qgen_enable_assembler)
  if(NOT CMAKE_ASM_COMPILE_OBJECT AND "${CMAKE_CURRENT_FUNCTION}" STREQUAL "")
    enable_language(ASM)
  endif()
endmacro()

# `call` is the user's call, for the message.
function(_qgen_check_assembler call)
  if(NOT CMAKE_ASM_COMPILE_OBJECT)
    message(FATAL_ERROR "${call}: the kernels are embedded by the assembler, and this project has no "
      "ASM, which cannot be enabled within a function: name it in project(... LANGUAGES CXX ASM)")
  endif()
endfunction()

# The assembler looks for `.incbin "kernels.blob"` in the folder, and CMake cannot see that it reads it.
function(_qgen_embed_blob folder)
  set_source_files_properties("${folder}/cpp/blob.S" PROPERTIES
    COMPILE_OPTIONS "-Wa,-I${folder}" OBJECT_DEPENDS "${folder}/kernels.blob")
endfunction()

macro(qgen_add_kernels)
  _qgen_enable_assembler()
  _qgen_add_kernels(${ARGV})
endmacro()

# qgen_add_operators(<target> OPERATORS <name>... [DTYPES <dtype>...] [LAYOUTS <layout>...] [FOR <device file>...]
#                    [TUNING <folder>] [PRUNE <percent>] [TARGET <vulkan1.x>] [INFER <source>...] [DIRECTORY <folder>])
#
# Makes the static library <target> of some of the shipped operators, with the kernels of their recipes. Link it instead
# of qgen::operators, which has all operators. It has the same headers, for these operators only:
#
#   qgen_add_operators(my_operators OPERATORS softmax q8ta_linear DTYPES f16 FOR ${QGEN_DEVICES}/adreno-740.yaml)
#   target_link_libraries(my_engine PRIVATE my_operators)
#
#   #include "operators.h"     // softmax(context, {.input = x})
#
# DTYPES, LAYOUTS   the values that dtype and layout parameters of the kernels keep; kernels of recipes keep all values
# FOR               leaves out modules that none of these devices can run
# TUNING, PRUNE     as --tuning and --prune of qgen; the folder of shipped times is ${QGEN_TUNING}
# TARGET            as --target of qgen. Times belong to modules, so times of another target do not count
# INFER             sources with the infer() functions of these operators, compiled with them; default: qgen::infer, which
#                   has those of all operators
#
# A program links it with --gc-sections, which leaves out the code of the other operators. It cannot also link
# qgen::operators.
macro(qgen_add_operators)
  _qgen_enable_assembler()
  _qgen_add_operators(${ARGV})
endmacro()

function(_qgen_add_operators target)
  cmake_parse_arguments(PARSE_ARGV 1 PART "" "TUNING;PRUNE;TARGET;DIRECTORY" "OPERATORS;DTYPES;LAYOUTS;FOR;INFER")
  if(NOT PART_OPERATORS OR PART_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "qgen_add_operators(${target}): expected OPERATORS <name>..., then DTYPES, LAYOUTS, FOR, TUNING, "
      "PRUNE, TARGET, INFER, DIRECTORY; got '${ARGN}'")
  endif()
  _qgen_check_assembler("qgen_add_operators(${target})")
  if(NOT PART_DIRECTORY)
    set(PART_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/${target}")
  endif()
  if(NOT QGEN_OPERATORS)  # no package, but qgen as a part of this project
    get_property(QGEN_OPERATORS GLOBAL PROPERTY QGEN_OPERATORS)
  endif()
  set(flags "")
  foreach(list IN ITEMS OPERATORS DTYPES LAYOUTS)
    if(PART_${list})
      string(TOLOWER "--${list}" flag)
      list(JOIN PART_${list} "," names)
      list(APPEND flags ${flag} "${names}")
    endif()
  endforeach()
  foreach(file IN LISTS PART_FOR)
    list(APPEND flags --for "${file}")
  endforeach()
  if(PART_TUNING)
    list(APPEND flags --tuning "${PART_TUNING}")
  endif()
  if(PART_PRUNE)
    list(APPEND flags --prune "${PART_PRUNE}" --keep-unmeasured)
  endif()
  if(PART_TARGET)
    list(APPEND flags --target "${PART_TARGET}")
  endif()
  _qgen_program(program qgen::qgen QGEN_PROGRAM)
  _qgen_cache_flags(cache_flags)

  set(cpp "${PART_DIRECTORY}/cpp")
  set(manifest "${PART_DIRECTORY}/MANIFEST.tsv")
  add_custom_command(
    OUTPUT "${manifest}"
    BYPRODUCTS "${PART_DIRECTORY}/kernels.blob" "${cpp}/blob.S" "${cpp}/all.cpp" "${cpp}/operators.cpp"
      "${cpp}/operators.h" "${cpp}/graph_nodes.h" "${cpp}/registry.h" "${cpp}/words.h"
    COMMAND ${program} "${QGEN_OPERATORS}/specs" --templates "${QGEN_OPERATORS}/templates" -o "${PART_DIRECTORY}"
      ${flags} ${cache_flags} ${QGEN_KERNEL_OPTIONS} --one-source --depfile "${PART_DIRECTORY}.d" -q
    COMMAND "${CMAKE_COMMAND}" -E touch "${manifest}"
    DEPENDS ${program}
    DEPFILE "${PART_DIRECTORY}.d"
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    COMMENT "qgen: operators of ${target}"
    VERBATIM)
  add_custom_target(${target}_sources DEPENDS "${manifest}")

  add_library(${target}_kernels STATIC "${cpp}/all.cpp" "${cpp}/blob.S")
  add_dependencies(${target}_kernels ${target}_sources)
  target_link_libraries(${target}_kernels PUBLIC qgen::library)
  target_include_directories(${target}_kernels PUBLIC "${cpp}")
  set(infer qgen::infer)
  if(PART_INFER)
    set(infer qgen::calls)
  endif()
  add_library(${target} STATIC "${cpp}/operators.cpp" ${PART_INFER})
  add_dependencies(${target} ${target}_sources)
  target_link_libraries(${target} PUBLIC ${infer} ${target}_kernels)
  target_link_options(${target} INTERFACE LINKER:--gc-sections)
  foreach(library IN ITEMS ${target} ${target}_kernels)
    target_compile_options(${library} PRIVATE -ffunction-sections -fdata-sections)
    set_target_properties(${library} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endforeach()
  _qgen_embed_blob("${PART_DIRECTORY}")
  # They include generated files that CMake does not know. Ninja would see in its next run only that these have changed.
  set_property(SOURCE "${cpp}/all.cpp" "${cpp}/operators.cpp" ${PART_INFER} APPEND PROPERTY OBJECT_DEPENDS "${manifest}")
endfunction()

# qgen_add_model(<target> MODEL <file.onnx> [FOR <device file>...] [SHAPES <name=1x3x224x224:f32>...] [BATCH <number>]
#                [CONSTANTS <name=16000>...] [CHAINS <number>] [NAME <name>] [DIRECTORY <folder>])
#
# Makes the static library <target> of a model: its packed weights, exactly its kernels, and a class with a typed
# function. The program loads it in milliseconds. It contains no ONNX, no operator, and chooses nothing:
#
#   qgen_add_model(scenes MODEL scenes.onnx FOR ${QGEN_DEVICES}/adreno-740.yaml ${QGEN_DEVICES}/mali-g715.yaml)
#   target_link_libraries(my_engine PRIVATE scenes)
#
#   #include "scenes.h"
#   auto model = scenes::Model::load(device);
#   auto outputs = model->run({.image = picture});              // waits: outputs->scores
#   model->record(frame, {.image = &x}, {.scores = &y});        // in your command buffer
#
# FOR         the devices that it is compiled for, without opening one. Weights that several read in one form are stored
#             once. Another device runs the first part that it can run. Default: the device of the machine that builds
# SHAPES      the inputs' shapes, as --shape of qgen-model; BATCH is the batch of the others (1)
# CONSTANTS   inputs that become constants, as --constant of qgen-model
# CHAINS      how many element-wise chains become kernels: those that take the longest by estimate. Default: none. Each
#             takes seconds to compile. qgen compiles them, with the specs and templates of the shipped operators
# NAME        of the header, the namespace and the file; default: the target's name
#
# Times that are compiled into qgen-model count, and those of the user's store do not: so each machine builds the same.
# It is compiled again when the model, a device file or qgen-model has changed. External data of an ONNX file is not
# watched. The cache variable QGEN_MODEL_PROGRAM names another qgen-model, if that of this build is for another processor.
set(QGEN_MODEL_PROGRAM "" CACHE FILEPATH "The qgen-model that compiles models; empty: that of this build")
macro(qgen_add_model)
  _qgen_enable_assembler()
  _qgen_add_model(${ARGV})
endmacro()

function(_qgen_add_model target)
  cmake_parse_arguments(PARSE_ARGV 1 NET "" "MODEL;BATCH;CHAINS;NAME;DIRECTORY" "FOR;SHAPES;CONSTANTS")
  if(NOT NET_MODEL OR NET_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "qgen_add_model(${target}): expected MODEL <file.onnx>, then FOR, SHAPES, BATCH, CONSTANTS, "
      "CHAINS, NAME, DIRECTORY; got '${ARGN}'")
  endif()
  _qgen_check_assembler("qgen_add_model(${target})")
  foreach(file IN LISTS NET_MODEL NET_FOR)
    get_filename_component(full "${file}" ABSOLUTE)
    if(NOT EXISTS "${full}")
      message(FATAL_ERROR "qgen_add_model(${target}): there is no file '${full}'")
    endif()
  endforeach()
  if(NOT NET_NAME)
    set(NET_NAME "${target}")
  endif()
  if(NOT NET_DIRECTORY)
    set(NET_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/${target}")
  endif()
  get_filename_component(model "${NET_MODEL}" ABSOLUTE)
  set(flags "")
  set(devices "")
  foreach(file IN LISTS NET_FOR)
    get_filename_component(full "${file}" ABSOLUTE)
    list(APPEND flags --for "${full}")
    list(APPEND devices "${full}")
  endforeach()
  foreach(shape IN LISTS NET_SHAPES)
    list(APPEND flags --shape "${shape}")
  endforeach()
  foreach(constant IN LISTS NET_CONSTANTS)
    list(APPEND flags --constant "${constant}")
  endforeach()
  if(NET_BATCH)
    list(APPEND flags --batch "${NET_BATCH}")
  endif()
  _qgen_program(program qgen::qgen-model QGEN_MODEL_PROGRAM)
  set(base "${NET_DIRECTORY}/${NET_NAME}")
  set(chains "")
  if(NET_CHAINS)
    _qgen_add_chains("${base}.chains" "${program}" "${NET_CHAINS}" "${model}" "${devices}" ${flags})
    set(chains "${base}.chains")
    list(APPEND flags --chains "${chains}")
  endif()
  add_custom_command(
    OUTPUT "${base}.qgen" "${base}.h" "${base}.cpp" "${base}.S"
    COMMAND ${program} compile "${model}" -o "${base}.qgen" --cpp ${flags}
    DEPENDS ${program} "${model}" ${devices} ${chains}
    COMMENT "qgen-model: ${target}"
    VERBATIM)
  set_source_files_properties("${base}.S" PROPERTIES
    COMPILE_OPTIONS "-Wa,-I${NET_DIRECTORY}" OBJECT_DEPENDS "${base}.qgen")
  add_library(${target} STATIC "${base}.cpp" "${base}.S" "${base}.h")
  target_link_libraries(${target} PUBLIC qgen::graph)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${NET_DIRECTORY}>)
  target_link_options(${target} INTERFACE LINKER:--gc-sections)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# The kernels of a model's chains, as a file.
function(_qgen_add_chains file program most model devices)
  if(NOT QGEN_OPERATORS)  # no package, but qgen as a part of this project
    get_property(QGEN_OPERATORS GLOBAL PROPERTY QGEN_OPERATORS)
  endif()
  _qgen_program(generator qgen::qgen QGEN_PROGRAM)
  set(generator_file "${generator}")
  if(TARGET ${generator})
    set(generator_file "$<TARGET_FILE:${generator}>")
  endif()
  add_custom_command(
    OUTPUT "${file}"
    COMMAND ${program} chains "${model}" -o "${file}" --most ${most} --qgen "${generator_file}"
      --operators "${QGEN_OPERATORS}" ${ARGN}
    DEPENDS ${program} ${generator} "${model}" ${devices} "${QGEN_OPERATORS}/templates/pointwise/pointwise.comp"
      "${QGEN_OPERATORS}/templates/lib/pointwise_reals.glsl"
    COMMENT "qgen-model: chains of ${model}"
    VERBATIM)
endfunction()

function(_qgen_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 KERNELS "" "NAMESPACE;DIRECTORY;RUNNER;TUNER" "SPECS;TEMPLATES;OPTIONS")
  if(NOT KERNELS_SPECS OR KERNELS_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "qgen_add_kernels(${target}): expected SPECS <file or folder>..., "
      "then TEMPLATES, NAMESPACE, DIRECTORY, OPTIONS, RUNNER, TUNER; got '${ARGN}'")
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
  if(NOT QGEN_TEMPLATES)  # no package, but qgen as a part of this project
    get_property(QGEN_TEMPLATES GLOBAL PROPERTY QGEN_TEMPLATES)
  endif()
  foreach(folder IN LISTS KERNELS_TEMPLATES QGEN_TEMPLATES)
    list(APPEND flags --templates "${folder}")
  endforeach()
  if(KERNELS_NAMESPACE)
    list(APPEND flags --namespace "${KERNELS_NAMESPACE}")
  endif()
  _qgen_program(program qgen::qgen QGEN_PROGRAM)
  if(NOT QGEN_PROGRAM AND QGEN_SANITIZE)  # a qgen with sanitizers compiles many times slower
    list(APPEND flags --compile-seconds 60)
  endif()
  _qgen_check_assembler("qgen_add_kernels(${target})")
  set(manifest "${KERNELS_DIRECTORY}/MANIFEST.tsv")
  _qgen_cache_flags(cache_flags)
  add_custom_command(
    OUTPUT "${manifest}"
    BYPRODUCTS "${KERNELS_DIRECTORY}/kernels.blob" "${cpp}/blob.S" ${sources} ${headers} ${typed_functions}
    COMMAND ${program} ${KERNELS_SPECS} -o "${KERNELS_DIRECTORY}" ${flags} ${cache_flags} ${KERNELS_OPTIONS}
      --depfile "${KERNELS_DIRECTORY}.d" -q
    COMMAND "${CMAKE_COMMAND}" -E touch "${manifest}"
    DEPENDS ${program}
    DEPFILE "${KERNELS_DIRECTORY}.d"
    WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
    COMMENT "qgen: kernels of ${target}"
    VERBATIM)

  # Only one target runs qgen, ahead of all others that read its output.
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
  _qgen_embed_blob("${KERNELS_DIRECTORY}")
  if(KERNELS_RUNNER)
    _qgen_add_runner(RUNNER runner ${KERNELS_RUNNER} ${target} "${KERNELS_NAMESPACE}" ${KERNELS_SPECS})
  endif()
  if(KERNELS_TUNER)
    _qgen_add_runner(TUNER tuner ${KERNELS_TUNER} ${target} "${KERNELS_NAMESPACE}" ${KERNELS_SPECS})
  endif()
endfunction()

# `keyword` is the user's keyword; `room` is the namespace of run_program(), the header and the library.
function(_qgen_add_runner keyword room program target namespace)
  if(NOT namespace)
    message(FATAL_ERROR "qgen_add_kernels(${target} ${keyword} ${program}): a ${room} needs a NAMESPACE, "
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
    message(FATAL_ERROR "qgen_add_kernels(${target} ${keyword} ${program}): there is nothing to run by name, "
      "since no operand of the specs has a shape")
  endif()
  set(main "${CMAKE_CURRENT_BINARY_DIR}/${program}_main.cpp")
  file(CONFIGURE OUTPUT "${main}" @ONLY CONTENT [[
// Generated by qgen_add_kernels(@target@ @keyword@ @program@). Do not edit.
#include "operators.h"
#include "registry.h"
#include "qgen/@room@.h"

int main(int argc, char** argv) {
  const qgen::runner::Program program{"@program@", @namespace@::library(), @namespace@::operators::entries()};
  return qgen::@room@::run_program(argc, argv, {program});
}
]])
  add_executable(${program} "${main}")
  target_link_libraries(${program} PRIVATE ${target}_operators qgen::${room})
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
    # fragments, and cost files next to the specs
    file(STRINGS "${file}" is_no_spec REGEX "^(fragment|cost_of):" LIMIT_COUNT 1)
    get_filename_component(stem "${file}" NAME_WE)
    if(NOT is_no_spec)
      list(APPEND stems "${stem}")
    endif()
  endforeach()
  list(SORT stems)
  if(NOT stems)
    message(FATAL_ERROR "qgen_add_kernels: no spec in '${ARGN}'")
  endif()
  set(${result} "${stems}" PARENT_SCOPE)
endfunction()
