# The install tree: programs, the runtime's rooms as archives with their headers, and the package that gives other
# projects find_package(qgen):
#
#   qgen::runtime           device, selection, dispatch, tensors; no operator of ours
#   qgen::calls             operators by their signatures: typed functions, names, weights; no operator of ours
#   qgen::self_test         checks what a device computes, with the kernels of check_feature and check_matrix
#   qgen::operators         the shipped operators and their kernels
#   qgen::infer             the shapes of the shipped operators, without kernels: for qgen_add_operators()
#   qgen::runner            a program that runs a library's operators by name, as a function
#   qgen::tuner             one that tunes them
#   qgen::planner           storage, layout and kernel for each tensor and operator of a graph
#   qgen::graph             models of operators: prepared once, replayed; compiled files
#   qgen::onnx              ONNX models as such graphs; needs protobuf
#   qgen::c                 libqgen.so, with the functions of qgen.h
#   qgen::qgen, -run, ...   the programs
#   qgen_add_kernels()      cmake/QgenAddKernels.cmake
#   qgen_add_operators()    a part of the shipped operators, from their specs and templates, which are installed too
#   lib/*.glsl              GLSL that templates may $include, found without being named
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)  # of packages (QgenPackages.cmake)
get_property(programs GLOBAL PROPERTY QGEN_PROGRAMS)
set(package "${CMAKE_INSTALL_LIBDIR}/cmake/qgen")
set(include "${CMAKE_INSTALL_INCLUDEDIR}/qgen")

foreach(target IN ITEMS options fmt zstd xxhash vulkan yaml nlohmann cli manual sqlite eigen common vocabulary
                        library json yaml_reader tensor device profiles selector tuning fitting report dispatch
                        self_test calls infer operators kernels reference measure runner tuner runtime planner graph onnx_schema onnx c)
  set_target_properties(qgen_${target} PROPERTIES EXPORT_NAME ${target})
  install(TARGETS qgen_${target} EXPORT qgenTargets LIBRARY COMPONENT lib NAMELINK_COMPONENT dev)
endforeach()
foreach(target IN ITEMS options c)
  target_include_directories(qgen_${target} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()
target_include_directories(qgen_kernels INTERFACE $<INSTALL_INTERFACE:${include}/kernels>)
install(TARGETS ${programs} EXPORT qgenPrograms RUNTIME COMPONENT programs)
install(EXPORT qgenTargets NAMESPACE qgen:: DESTINATION "${package}")
install(EXPORT qgenPrograms NAMESPACE qgen:: DESTINATION "${package}" COMPONENT programs)

# Public headers alone (include/qgen), in which the rooms' headers are contained. Of the shipped operators: the typed
# functions. Tables of each are a project's own to make, by qgen_add_operators().
set(headers "${PROJECT_BINARY_DIR}/include/qgen")
install(CODE "execute_process(COMMAND \"${CMAKE_COMMAND}\" \"-DSOURCE=${PROJECT_SOURCE_DIR}\" \"-DOUTPUT=${headers}\"
  -P \"${PROJECT_SOURCE_DIR}/cmake/InstallHeaders.cmake\" COMMAND_ERROR_IS_FATAL ANY)")
install(DIRECTORY "${headers}/" DESTINATION "${include}")
install(FILES include/qgen.h "${PROJECT_BINARY_DIR}/generated/qgen_operators.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
set(typed "${PROJECT_BINARY_DIR}/generated/cpp")
install(FILES "${typed}/operators.h" "${typed}/graph_nodes.h" "${typed}/registry.h" "${typed}/words.h"
  DESTINATION "${include}/kernels")
install(DIRECTORY templates/lib DESTINATION "${CMAKE_INSTALL_DATADIR}/qgen/templates" FILES_MATCHING PATTERN "*.glsl")
install(DIRECTORY specs DESTINATION "${CMAKE_INSTALL_DATADIR}/qgen/operators" FILES_MATCHING
  PATTERN "*.yaml" PATTERN "*.schema.json")
install(DIRECTORY templates DESTINATION "${CMAKE_INSTALL_DATADIR}/qgen/operators" FILES_MATCHING
  PATTERN "*.comp" PATTERN "*.glsl")
install(DIRECTORY devices tuning DESTINATION "${CMAKE_INSTALL_DATADIR}/qgen" FILES_MATCHING PATTERN "*.yaml")

configure_package_config_file(cmake/qgenConfig.cmake.in qgenConfig.cmake INSTALL_DESTINATION "${package}"
  PATH_VARS CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(qgenConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/qgenConfig.cmake" "${PROJECT_BINARY_DIR}/qgenConfigVersion.cmake"
              cmake/QgenAddKernels.cmake DESTINATION "${package}")

include("${CMAKE_CURRENT_LIST_DIR}/QgenPackages.cmake")
