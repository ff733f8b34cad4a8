# SPDX-License-Identifier: Apache-2.0
# The CUDA module: one PTX for the oldest device of a generation, from which ptxas makes the code of the generation's others; that costs one
# run of the compiler's front end per generation. cudart is inside, cuBLAS is looked for where the toolkit is, then as usual.
string(SHA256 stamp "${PROJECT_VERSION} ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE} ${KVSCOPE_SANITIZE}")
target_compile_definitions(kvscope_backend PRIVATE KVSCOPE_BUILD_STAMP="${stamp}")
if(NOT KVSCOPE_HAS_CUDA)
  return()
endif()
file(GLOB cuda_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cpp ${CMAKE_CURRENT_LIST_DIR}/*.h
     ${CMAKE_CURRENT_LIST_DIR}/kernels/*.cu ${CMAKE_CURRENT_LIST_DIR}/kernels/*.h)
add_library(kvscope_cuda MODULE ${cuda_sources})
# A kernel may use what a generation brought (tensor cores for bf16: 8.0; a kernel that begins before the last one ends: 9.0).
set(previous 0)
foreach(generation 90 80 0)
  set(code "")
  foreach(architecture IN LISTS KVSCOPE_CUDA_ARCHITECTURES)
    if(architecture GREATER_EQUAL generation AND (previous EQUAL 0 OR architecture LESS previous))
      list(APPEND code ${architecture})
    endif()
  endforeach()
  set(previous ${generation})
  if(code)
    list(GET code 0 oldest)
    list(TRANSFORM code PREPEND sm_)
    list(JOIN code "," code)
    target_compile_options(kvscope_cuda PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-gencode arch=compute_${oldest},code=[${code},compute_${oldest}]>")
  endif()
endforeach()
# Statistics are rounded as the host rounds them: a product and a sum are two steps.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/kernels/slot_table.cu PROPERTIES COMPILE_OPTIONS -fmad=false)
target_compile_definitions(kvscope_cuda PRIVATE KVSCOPE_BUILD_STAMP="${stamp}")
target_link_libraries(kvscope_cuda PRIVATE kvscope_backend CUDA::cudart_static CUDA::cublas kvscope_flags)
set_target_properties(kvscope_cuda PROPERTIES
  CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON
  UNITY_BUILD OFF PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}
  CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
  BUILD_RPATH "${CUDAToolkit_LIBRARY_DIR}" INSTALL_RPATH "${CUDAToolkit_LIBRARY_DIR}")
target_compile_definitions(kvscope_backend PRIVATE KVSCOPE_CUDA_MODULE="$<TARGET_FILE:kvscope_cuda>")
