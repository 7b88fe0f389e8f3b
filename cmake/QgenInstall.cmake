# The install tree: programs, the runtime's rooms as archives with their headers, and the package that gives other
# projects find_package(qgen):
#
#   qgen::runtime           device, selection, dispatch, tensors; no operator of ours
#   qgen::calls             operators by their signatures: typed functions, names, weights; no operator of ours
#   qgen::operators         the shipped operators and their kernels
#   qgen::runner            a program that runs a library's operators by name, as a function
#   qgen::tuner             one that tunes them
#   qgen::planner           storage, layout and kernel for each tensor and operator of a graph
#   qgen::graph             models of operators: prepared once, replayed; compiled files
#   qgen::qgen, -run, ...   the programs
#   qgen_add_kernels()      cmake/QgenAddKernels.cmake
#   lib/*.glsl              GLSL that templates may $include, found without being named
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(programs GLOBAL PROPERTY QGEN_PROGRAMS)
set(package "${CMAKE_INSTALL_LIBDIR}/cmake/qgen")
set(include "${CMAKE_INSTALL_INCLUDEDIR}/qgen")

foreach(target IN ITEMS options fmt zstd xxhash vulkan yaml nlohmann cli sqlite eigen common vocabulary
                        library json yaml_reader tensor device profiles selector tuning fitting report dispatch calls
                        operators kernels reference measure runner tuner runtime planner graph)
  set_target_properties(qgen_${target} PROPERTIES EXPORT_NAME ${target})
  install(TARGETS qgen_${target} EXPORT qgenTargets)
endforeach()
target_include_directories(qgen_options INTERFACE $<INSTALL_INTERFACE:${include}>)
target_include_directories(qgen_kernels INTERFACE $<INSTALL_INTERFACE:${include}/kernels>)
install(TARGETS ${programs} EXPORT qgenTargets)
install(EXPORT qgenTargets NAMESPACE qgen:: DESTINATION "${package}")

install(DIRECTORY common vocabulary runtime DESTINATION "${include}" FILES_MATCHING PATTERN "*.h" PATTERN "*.inc")
install(DIRECTORY "${PROJECT_BINARY_DIR}/generated/cpp/" DESTINATION "${include}/kernels" FILES_MATCHING PATTERN "*.h")
install(DIRECTORY templates/lib DESTINATION "${CMAKE_INSTALL_DATADIR}/qgen/templates" FILES_MATCHING PATTERN "*.glsl")

configure_package_config_file(cmake/qgenConfig.cmake.in qgenConfig.cmake INSTALL_DESTINATION "${package}"
  PATH_VARS CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(qgenConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/qgenConfig.cmake" "${PROJECT_BINARY_DIR}/qgenConfigVersion.cmake"
              cmake/QgenAddKernels.cmake DESTINATION "${package}")
