# Decides whether the GPU kernels are built, and enables the CUDA language if so. Sets
#   XGEMM_HAVE_CUDA   ON or OFF
#   XGEMM_CUDART      the CUDA runtime to link, where it is ON.
#
# nvcc is looked for in CMAKE_CUDA_COMPILER, CUDACXX, PATH, CUDA_HOME, CUDA_PATH, the usual place, and the folder into which
# ./run puts NVIDIA's Python wheels. With XGEMM_CUDA=AUTO an nvcc that is too old or cannot build a program is passed over
# with a message, where CMake's own enable_language() would stop.
set(XGEMM_CUDA_MINIMUM 12.4)
set(XGEMM_HAVE_CUDA OFF)

# Sets `out` to a reason why `nvcc` cannot be used with its host compiler, or to "" when it can.
function(xgemm_check_nvcc nvcc out)
  execute_process(COMMAND "${nvcc}" --version OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE failed)
  if(failed OR NOT text MATCHES "release ([0-9]+\\.[0-9]+)")
    set(${out} "${nvcc} --version fails" PARENT_SCOPE)
    return()
  endif()
  if(CMAKE_MATCH_1 VERSION_LESS XGEMM_CUDA_MINIMUM)
    set(${out} "${nvcc} is version ${CMAKE_MATCH_1}, and ${XGEMM_CUDA_MINIMUM} or later is needed" PARENT_SCOPE)
    return()
  endif()
  set(dir "${CMAKE_BINARY_DIR}/CMakeFiles/xgemm-nvcc-check")
  file(WRITE "${dir}/check.cu" "#include <cuda_fp16.h>\n__global__ void f(__half *x) { *x = __half(1); }\nint main() { f<<<1, 1>>>(nullptr); }\n")
  execute_process(
    COMMAND "${nvcc}" -std=c++20 -cudart static "-ccbin=${CMAKE_CUDA_HOST_COMPILER}" -o "${dir}/check" "${dir}/check.cu"
    OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE failed)
  if(failed)
    string(STRIP "${text}" text)
    set(${out} "${nvcc} cannot build a program with ${CMAKE_CUDA_HOST_COMPILER}:\n${text}" PARENT_SCOPE)
    return()
  endif()
  set(${out} "" PARENT_SCOPE)
endfunction()

if(NOT XGEMM_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "XGEMM_CUDA is '${XGEMM_CUDA}'; it can be AUTO, ON or OFF")
endif()

if(NOT XGEMM_CUDA STREQUAL "OFF")
  if(CMAKE_CUDA_COMPILER)
    set(nvcc "${CMAKE_CUDA_COMPILER}")
  elseif(EXISTS "$ENV{CUDACXX}")
    set(nvcc "$ENV{CUDACXX}")
  else()
    find_program(XGEMM_NVCC nvcc
      PATHS "$ENV{CUDA_HOME}/bin" "$ENV{CUDA_PATH}/bin" /usr/local/cuda/bin "${PROJECT_SOURCE_DIR}/.deps/cuda/bin")
    mark_as_advanced(XGEMM_NVCC)
    set(nvcc "${XGEMM_NVCC}")
  endif()

  # Unless another is named, kernels get the compiler that the host code is built with.
  if(NOT CMAKE_CUDA_HOST_COMPILER)
    set(host "${CMAKE_CXX_COMPILER}")
    if(NOT "$ENV{CUDAHOSTCXX}" STREQUAL "")
      get_filename_component(host "$ENV{CUDAHOSTCXX}" PROGRAM)
    endif()
    set(CMAKE_CUDA_HOST_COMPILER "${host}" CACHE FILEPATH "Host compiler of nvcc")
    unset(host)
  endif()

  if(NOT nvcc)
    set(reason "no nvcc found")
  elseif("${XGEMM_NVCC_CHECKED}" STREQUAL "${nvcc} ${CMAKE_CUDA_HOST_COMPILER}")
    set(reason "")
  else()
    xgemm_check_nvcc("${nvcc}" reason)
    if(NOT reason)
      set(XGEMM_NVCC_CHECKED "${nvcc} ${CMAKE_CUDA_HOST_COMPILER}" CACHE INTERNAL
        "The nvcc and the host compiler that have passed the check")
    endif()
  endif()

  if(NOT reason)
    set(CMAKE_CUDA_COMPILER "${nvcc}" CACHE FILEPATH "CUDA compiler")
    set(CMAKE_CUDA_ARCHITECTURES "${XGEMM_CUDA_ARCHITECTURES}")
    enable_language(CUDA)
    if(XGEMM_CUDA_ARCHITECTURES STREQUAL "native" AND CMAKE_CUDA_ARCHITECTURES_NATIVE)
      # What CMake found when it tested the compiler.
      set(XGEMM_CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES_NATIVE}")
    endif()
    # Device code packed for size: a fifth, and unpacked once, when a kernel's module is loaded.
    if(CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA" AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
      add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:--compress-mode=size>")
    endif()
    # FindCUDAToolkit of CMake 3.25 stops at toolkits without libnvToolsExt (12.9 and later) if the project requires 3.25.
    set(minimum "${CMAKE_MINIMUM_REQUIRED_VERSION}")
    set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
    find_package(CUDAToolkit QUIET REQUIRED)
    set(CMAKE_MINIMUM_REQUIRED_VERSION "${minimum}")
    unset(minimum)
    # CMake 3.25 knows no flag for C++20 in CUDA yet.
    if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
    set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
    set(XGEMM_HAVE_CUDA ON)

    # NVIDIA's runtime wants its thread-local variable aligned to a page, which costs every thread of a program another
    # page of its stack, and makes threads with the smallest stack that the system allows impossible. The code needs no
    # more than a cache line: the alignment is taken back in a copy.
    set(XGEMM_CUDART CUDA::cudart_static)
    get_target_property(cudart CUDA::cudart_static IMPORTED_LOCATION)
    set(copy "${CMAKE_BINARY_DIR}/CMakeFiles/libcudart_static.a")
    execute_process(COMMAND "${CMAKE_OBJCOPY}" --set-section-alignment .tbss=64 "${cudart}" "${copy}"
      ERROR_VARIABLE text RESULT_VARIABLE failed)
    if(failed)
      message(STATUS "xgemm: the CUDA runtime keeps its page-aligned thread-local storage: ${text}")
    else()
      set(XGEMM_CUDART "${copy}" CUDA::cudart_static_deps)
    endif()
    unset(cudart)
    unset(copy)
    message(STATUS "xgemm: CUDA ${CMAKE_CUDA_COMPILER_VERSION} (${nvcc}) for ${CMAKE_CUDA_ARCHITECTURES}")
  elseif(XGEMM_CUDA STREQUAL "ON")
    message(FATAL_ERROR "XGEMM_CUDA=ON, but ${reason}")
  else()
    message(STATUS "xgemm: without GPU kernels: ${reason}")
  endif()
  unset(nvcc)
  unset(reason)
else()
  message(STATUS "xgemm: without GPU kernels: XGEMM_CUDA=OFF")
endif()
