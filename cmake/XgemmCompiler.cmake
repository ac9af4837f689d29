# Which compilers build the host code, its warnings and its sanitizers.
if((CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12)
    OR (CMAKE_CXX_COMPILER_ID STREQUAL Clang AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14))
  message(FATAL_ERROR "xgemm: ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} does not compile the sources, "
    "which are C++20: GCC 12 or Clang 14 does, or later ones (CMAKE_CXX_COMPILER)")
endif()
add_compile_options(
  "$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wshadow;-Wpointer-arith>"
  "$<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Woverloaded-virtual>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall>")
if(XGEMM_WERROR)
  add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-Werror>")
endif()

if(XGEMM_SANITIZE)
  string(REPLACE ";" "," sanitizers "${XGEMM_SANITIZE}")
  # -g1: lines for the stacks in reports; full debug information takes as long as the code.
  add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${sanitizers};-fno-omit-frame-pointer;-g1>")
  if(sanitizers MATCHES "undefined")
    # A finding has to fail the test that made it, not just print a line.
    add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize-recover=undefined>")
  endif()
  add_link_options("-fsanitize=${sanitizers}")
  message(STATUS "xgemm: sanitizers: ${sanitizers}")
  unset(sanitizers)
endif()
