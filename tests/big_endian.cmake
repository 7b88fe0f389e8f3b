# As if the compiler were of a big-endian processor: included by project().
set(CMAKE_CXX_BYTE_ORDER BIG_ENDIAN)
