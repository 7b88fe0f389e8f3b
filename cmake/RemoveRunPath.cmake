# cmake -DFILE=PROGRAM -P RemoveRunPath.cmake: PROGRAM looks for libraries only where the system does. The run path of a
# program in a build folder names folders of the machine that built it.
file(RPATH_REMOVE FILE "${FILE}")
