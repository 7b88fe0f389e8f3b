# qgen_add_room(NAME FOLDER [LINKS ...]) makes the static library qgen_NAME from the sources of one folder.
# A room names the rooms to its left in LINKS and can include no others.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library(qgen_options INTERFACE)
target_include_directories(qgen_options INTERFACE $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}>)
target_compile_options(qgen_options INTERFACE
  $<BUILD_INTERFACE:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wnon-virtual-dtor;-Wno-missing-field-initializers>
  $<$<BOOL:${QGEN_WERROR}>:-Werror>)
if(QGEN_SANITIZE)
  # glslang's packaged classes carry no RTTI, so the vptr check has nothing to look at.
  add_compile_options(-fsanitize=${QGEN_SANITIZE} -fno-sanitize=vptr -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${QGEN_SANITIZE})
endif()

function(qgen_add_room name folder)
  cmake_parse_arguments(ROOM "" "" "LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${folder}/*.cpp")
  list(FILTER sources EXCLUDE REGEX "_main\\.cpp$")
  if(sources)
    add_library(qgen_${name} STATIC ${sources})
    target_link_libraries(qgen_${name} PUBLIC qgen_options ${ROOM_LINKS})
  else()
    add_library(qgen_${name} INTERFACE)
    target_link_libraries(qgen_${name} INTERFACE qgen_options ${ROOM_LINKS})
  endif()
endfunction()
