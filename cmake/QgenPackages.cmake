# What packages have besides the install tree: manual pages and completions of the programs, a pkg-config file, the
# JSON Schema of specs; and CPack's Debian packages (scripts/release):
#
#   qgen           the programs, their manual pages and completions
#   libqgen0       libqgen.so, the C API
#   libqgen-dev    headers, libraries, the package of CMake, specs and templates
#   python3-qgen   the Python package
set(manuals "${PROJECT_BINARY_DIR}/manuals")
set(made)
set(zsh_completions)

# qgen_print_for_package(OUTPUT PROGRAM ARGUMENT ...): OUTPUT in the folder of manuals, which PROGRAM prints.
function(qgen_print_for_package output program)
  add_custom_command(OUTPUT "${manuals}/${output}"
    COMMAND ${program} ${ARGN} > "${manuals}/${output}" DEPENDS ${program} VERBATIM)
  set(made ${made} "${manuals}/${output}" PARENT_SCOPE)
endfunction()

if(NOT CMAKE_CROSSCOMPILING AND NOT QGEN_SANITIZE)
  file(MAKE_DIRECTORY "${manuals}/bash" "${manuals}/zsh" "${manuals}/fish")
  foreach(program IN LISTS programs)
    qgen_print_for_package(${program}.1 ${program} --man)
    qgen_print_for_package(bash/${program} ${program} --completion bash)
    qgen_print_for_package(zsh/_${program} ${program} --completion zsh)
    qgen_print_for_package(fish/${program}.fish ${program} --completion fish)
  endforeach()
  if(TARGET qgen)
    qgen_print_for_package(spec.schema.json qgen --schema)
    install(FILES "${manuals}/spec.schema.json" DESTINATION "${CMAKE_INSTALL_DATADIR}/qgen" COMPONENT programs)
  endif()
  add_custom_target(qgen_manuals ALL DEPENDS ${made})
  foreach(program IN LISTS programs)
    install(FILES "${manuals}/${program}.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT programs)
    install(FILES "${manuals}/bash/${program}" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
      COMPONENT programs)
    list(APPEND zsh_completions "${manuals}/zsh/_${program}")
    install(FILES "${manuals}/fish/${program}.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d"
      COMPONENT programs)
  endforeach()
  # Debian's zsh reads this folder of /usr; for other prefixes, and other systems, it is the usual one.
  install(CODE "
    set(completions \"${zsh_completions}\")
    set(folder site-functions)
    if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\" AND EXISTS /etc/debian_version)
      set(folder vendor-completions)
    endif()
    file(INSTALL DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DATADIR}/zsh/\${folder}\" TYPE FILE
      FILES \${completions})" COMPONENT programs)
endif()

file(RELATIVE_PATH QGEN_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/qgen.pc.in qgen.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/qgen.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT dev)
# With its functions of operators, which the target qgen_python makes.
install(DIRECTORY "${PROJECT_BINARY_DIR}/python/qgen" DESTINATION lib/python3/dist-packages COMPONENT python
  EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)

# Each package has the licence where Debian's have it.
foreach(package IN ITEMS "programs qgen" "lib libqgen0" "dev libqgen-dev" "python python3-qgen")
  separate_arguments(package)
  list(GET package 0 component)
  list(GET package 1 name)
  install(FILES cmake/debian_copyright DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${name}" RENAME copyright
    COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "qgen authors")
set(CPACK_PACKAGE_CONTACT "qgen authors <qgen@example.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL programs lib dev python)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME qgen)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_RECOMMENDS "libvulkan1, mesa-vulkan-drivers, libcurl4")
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_LIB_PACKAGE_NAME libqgen0)
set(CPACK_DEBIAN_LIB_PACKAGE_RECOMMENDS libvulkan1)
set(CPACK_DEBIAN_LIB_PACKAGE_SECTION libs)
# So that packages built with libqgen-dev know that they need libqgen0.
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libqgen-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
  "qgen (= ${PROJECT_VERSION}), libyaml-cpp-dev, libzstd-dev, libsqlite3-dev, libprotobuf-dev, libfmt-dev, libeigen3-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-qgen)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS "python3, python3-numpy, libqgen0 (>= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/cmake/python3-qgen/prerm")
set(CPACK_COMPONENT_PROGRAMS_DESCRIPTION "Generates, runs and tunes quantized compute kernels for Vulkan")
set(CPACK_COMPONENT_LIB_DESCRIPTION "Quantized compute kernels for Vulkan, with a C API")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Headers and libraries of qgen, its specs and templates")
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "Quantized compute kernels for Vulkan, on NumPy arrays")
set(CPACK_COMPONENT_DEV_DEPENDS lib)
include(CPack)
