# Writes a digest of everything that can change the modules qgen compiles: the rooms that compile, and the libraries
# that they link.
#
#   cmake -DOUTPUT=compilers_id.cpp -DPARTS="a.a|b.a|-lname" -P write_compilers_id.cmake
set(content "")
string(REPLACE "|" ";" parts "${PARTS}")
foreach(part IN LISTS parts)
  if(EXISTS "${part}" AND NOT IS_DIRECTORY "${part}")
    file(SHA256 "${part}" part)
  endif()
  string(APPEND content "${part}\n")
endforeach()
string(SHA256 digest "${content}")
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [[
// Written by cmake/write_compilers_id.cmake.
#include "codegen/compilers_id.h"

namespace qgen {

std::string_view compilers_id() { return "@digest@"; }

}  // namespace qgen
]])
