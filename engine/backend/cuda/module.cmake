# SPDX-License-Identifier: Apache-2.0
# The CUDA module: one PTX for the oldest device, from which ptxas makes the code of every other (the kernels need nothing newer); that costs
# one run of the compiler's front end instead of one per device. cudart is inside, cuBLAS is looked for where the toolkit is, then as usual.
string(SHA256 stamp "${PROJECT_VERSION} ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE} ${KVSCOPE_SANITIZE}")
target_compile_definitions(kvscope_backend PRIVATE KVSCOPE_BUILD_STAMP="${stamp}")
if(NOT KVSCOPE_HAS_CUDA)
  return()
endif()
file(GLOB cuda_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp ${CMAKE_CURRENT_LIST_DIR}/*.h
     ${CMAKE_CURRENT_LIST_DIR}/kernels/*.cu ${CMAKE_CURRENT_LIST_DIR}/kernels/*.h)
add_library(kvscope_cuda MODULE ${cuda_sources})
list(GET KVSCOPE_CUDA_ARCHITECTURES 0 oldest)
set(code "")
foreach(architecture IN LISTS KVSCOPE_CUDA_ARCHITECTURES)
  list(APPEND code sm_${architecture})
endforeach()
list(JOIN code "," code)
target_compile_options(kvscope_cuda PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-gencode=arch=compute_${oldest},code=[${code},compute_${oldest}]>")
target_compile_definitions(kvscope_cuda PRIVATE KVSCOPE_BUILD_STAMP="${stamp}")
target_link_libraries(kvscope_cuda PRIVATE kvscope_backend CUDA::cudart_static CUDA::cublas kvscope_flags)
set_target_properties(kvscope_cuda PROPERTIES
  CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON
  UNITY_BUILD OFF PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
  CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
  BUILD_RPATH "${CUDAToolkit_LIBRARY_DIR}" INSTALL_RPATH "${CUDAToolkit_LIBRARY_DIR}")
target_compile_definitions(kvscope_backend PRIVATE KVSCOPE_CUDA_MODULE="$<TARGET_FILE:kvscope_cuda>")
