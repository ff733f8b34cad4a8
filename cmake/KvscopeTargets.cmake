# SPDX-License-Identifier: Apache-2.0
# One static library per folder of the architecture; what a folder may include is what its library links.

add_library(kvscope_flags INTERFACE)
# CUDA sources get their own below: nvcc's output is not for -Wpedantic.
target_compile_options(kvscope_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wnon-virtual-dtor;-Wno-missing-field-initializers>
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>")
# Nobody reads errno after a square root nor asks for floating-point traps: loops over numbers may be vectorised. No result changes.
target_compile_options(kvscope_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-math-errno;-fno-trapping-math>)
# GCC collects what it no longer needs again and again, down from 128 MiB: left alone up to 1 GiB it takes a tenth less time.
target_compile_options(kvscope_flags INTERFACE
  "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:SHELL:--param=ggc-min-expand=100 --param=ggc-min-heapsize=1048576>")
if(CMAKE_UNITY_BUILD)  # a source that is included in a group has types of its own all the same: nobody else includes it
  target_compile_options(kvscope_flags INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
endif()
if(KVSCOPE_WERROR)
  target_compile_options(kvscope_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror> $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endif()
if(KVSCOPE_SANITIZE)
  target_compile_options(kvscope_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${KVSCOPE_SANITIZE};-fno-omit-frame-pointer>)
  target_link_options(kvscope_flags INTERFACE -fsanitize=${KVSCOPE_SANITIZE})
endif()
set(KVSCOPE_TEST_SECONDS 300)  # that a test may take
if(KVSCOPE_SANITIZE)
  set(KVSCOPE_TEST_SECONDS 1800)
endif()

# Headers of others are most of what a source compiles: they are compiled once.
option(KVSCOPE_PRECOMPILE "precompile the headers of the standard library, fmt, GoogleTest and Qt" ON)
set(KVSCOPE_COMMON_HEADERS <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory> <optional> <span> <string> <string_view> <utility>
  <vector> <fmt/ranges.h>)

# kvscope_precompile(TARGET HEADERS ...): TARGET's sources begin with HEADERS; targets with the same ones share them, so their options must be equal.
# GCC 12 takes strings' own buffers for too small, and forgets of what is precompiled that it lies in headers of the system.
function(kvscope_precompile target)
  if(NOT KVSCOPE_PRECOMPILE)
    return()
  endif()
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-restrict>)
  get_target_property(type ${target} TYPE)  # a program's code stands elsewhere than a library's: not with the same option
  string(MAKE_C_IDENTIFIER "KVSCOPE_PRECOMPILED_${type}_${ARGN}" list)
  get_property(owner GLOBAL PROPERTY ${list})
  if(owner)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${target} PRIVATE ${ARGN})
    set_property(GLOBAL PROPERTY ${list} ${target})
  endif()
endfunction()

# A test program: it is compiled more often than it runs, and what it tests lies in the libraries, optimised as always. Further HEADERS are
# precompiled with it.
function(kvscope_test_program target)
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(target IN_LIST KVSCOPE_GROUPED_TESTS)
    set_target_properties(${target} PROPERTIES UNITY_BUILD "${KVSCOPE_GROUPED}" UNITY_BUILD_BATCH_SIZE 24)
  endif()
  kvscope_precompile(${target} ${ARGN} <gtest/gtest.h> <gmock/gmock.h> <random> ${KVSCOPE_COMMON_HEADERS})
endfunction()

# kvscope_layer(NAME [WITHOUT SUBFOLDER] DEPS ...): library kvscope_NAME from every .cpp of this folder (and below).
function(kvscope_layer name)
  cmake_parse_arguments(ARG "" "WITHOUT" "DEPS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.h)
  if(ARG_WITHOUT)
    list(FILTER sources EXCLUDE REGEX "/${name}/${ARG_WITHOUT}/")
  endif()
  add_library(kvscope_${name} STATIC ${sources})
  set_target_properties(kvscope_${name} PROPERTIES LINKER_LANGUAGE CXX)
  target_include_directories(kvscope_${name} PUBLIC ${CMAKE_SOURCE_DIR}/engine)
  target_link_libraries(kvscope_${name} PUBLIC ${ARG_DEPS} PRIVATE kvscope_flags)
  kvscope_precompile(kvscope_${name} ${KVSCOPE_COMMON_HEADERS})
endfunction()

# kvscope_grouped(PROGRAM PREFIX LABEL OPTION SOURCES...): one test of ctest, PREFIX.x, for the tests of each source x_test.cpp: a process of its own
# for each of thousands costs more than most of them. OPTION --screen: with a display of their own. 77 of the program: skipped, ctest then says so.
function(kvscope_grouped program prefix label option)
  foreach(source IN LISTS ARGN)
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "_test$" "" name ${name})
    add_test(NAME ${prefix}.${name} COMMAND ${KVSCOPE_GROUP} ${option} $<TARGET_FILE:${program}> ${source})
    file(SIZE ${source} size)  # the longest are begun first, so that no core waits for them at the end
    set_tests_properties(${prefix}.${name} PROPERTIES LABELS ${label} TIMEOUT ${KVSCOPE_FILE_SECONDS} SKIP_RETURN_CODE 77 COST ${size}
      ENVIRONMENT "KVSCOPE_TEST_SECONDS=${KVSCOPE_TEST_SECONDS}")
  endforeach()
  add_test(NAME ${prefix}.every_test_of_${program}_is_in_a_file COMMAND ${KVSCOPE_GROUP} --whole $<TARGET_FILE:${program}> ${ARGN})
  set_tests_properties(${prefix}.every_test_of_${program}_is_in_a_file PROPERTIES LABELS ${label} TIMEOUT 60)
endfunction()

# kvscope_tests(NAME LABEL DEPS ...): one GoogleTest program from every *_test.cpp of this folder's subfolder NAME.
function(kvscope_tests name label)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*_test.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${name}_tests ${sources})
  target_include_directories(${name}_tests PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(${name}_tests PRIVATE ${ARG_DEPS} kvscope_test_paths GTest::gtest GTest::gmock GTest::gtest_main kvscope_flags)
  kvscope_test_program(${name}_tests)
  kvscope_grouped(${name}_tests ${name} ${label} "" ${sources})
endfunction()
