# SPDX-License-Identifier: Apache-2.0
# The kernels are compiled once per instruction set and picked at run time. No contraction: a sum is fused only where the code says so,
# else the same row could be rounded differently in two tiles. g++ 12 warns about undefined vectors inside its own AVX-512 headers.
set(kernels ${CMAKE_CURRENT_LIST_DIR}/kernels)
set_source_files_properties(${kernels}_portable.cpp ${kernels}_avx2.cpp ${kernels}_avx2_vnni.cpp ${kernels}_avx512.cpp ${kernels}_avx512_vnni.cpp
  PROPERTIES SKIP_PRECOMPILE_HEADERS ON)  # other options
set_source_files_properties(${kernels}_portable.cpp PROPERTIES COMPILE_OPTIONS "-ffp-contract=off")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(avx2 "-mavx2;-mfma;-mf16c;-ffp-contract=off")
  set_source_files_properties(${kernels}_avx2.cpp PROPERTIES COMPILE_OPTIONS "${avx2}")
  set_source_files_properties(${kernels}_avx2_vnni.cpp PROPERTIES COMPILE_OPTIONS "${avx2};-mavxvnni")
  set(avx512 "-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mfma;-mf16c;-ffp-contract=off;$<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized;-Wno-maybe-uninitialized>")
  set_source_files_properties(${kernels}_avx512.cpp PROPERTIES COMPILE_OPTIONS "${avx512}")
  set_source_files_properties(${kernels}_avx512_vnni.cpp PROPERTIES COMPILE_OPTIONS "${avx512};-mavx512vnni")
endif()
