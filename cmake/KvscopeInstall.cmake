# SPDX-License-Identifier: Apache-2.0
# `cmake --install` and `cpack`: the programs with what they read (engine/core/assets.cpp looks in ../share/kvscope), what a desktop wants to know,
# manual pages from --help, and a .deb whose dependencies dpkg-shlibdeps finds. The CUDA module is installed but not packed: its libraries
# are not Debian's.
include(GNUInstallDirs)
set(desktop ${CMAKE_SOURCE_DIR}/assets/desktop)

set(kvscope_programs kvscope-cli)
if(TARGET kvscope)
  list(APPEND kvscope_programs kvscope)
  install(FILES ${desktop}/kvscope.desktop DESTINATION ${CMAKE_INSTALL_DATADIR}/applications COMPONENT kvscope)
  install(FILES ${desktop}/kvscope.svg DESTINATION ${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps COMPONENT kvscope)
  install(FILES ${desktop}/kvscope.mime.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/mime/packages RENAME kvscope.xml COMPONENT kvscope)
  install(FILES ${desktop}/kvscope.metainfo.xml DESTINATION ${CMAKE_INSTALL_DATADIR}/metainfo RENAME org.kvscope.kvscope.metainfo.xml
    COMPONENT kvscope)
endif()
install(TARGETS ${kvscope_programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT kvscope)
if(TARGET kvscope_cuda)
  install(TARGETS kvscope_cuda LIBRARY DESTINATION lib/kvscope COMPONENT cuda)
endif()
foreach(folder heads lanes lessons models papers prompts text)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/assets/${folder} DESTINATION ${CMAKE_INSTALL_DATADIR}/kvscope COMPONENT kvscope
    PATTERN README.md EXCLUDE PATTERN train EXCLUDE PATTERN __pycache__ EXCLUDE)
endforeach()
set(documents ${CMAKE_INSTALL_DATADIR}/doc/kvscope)
install(FILES app/README.md engine/policy/POLICIES.md engine/trace/TRACE.md DESTINATION ${documents} COMPONENT kvscope)
install(FILES assets/models/kvmini/README.md DESTINATION ${documents}/kvmini COMPONENT kvscope)

find_package(Python3 COMPONENTS Interpreter)
if(Python3_Interpreter_FOUND)
  foreach(program IN LISTS kvscope_programs)
    install(CODE "execute_process(COMMAND \"${Python3_EXECUTABLE}\" -B \"${CMAKE_SOURCE_DIR}/cmake/man_page.py\" \"$<TARGET_FILE:${program}>\"
      \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man1\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT kvscope)
  endforeach()
else()
  message(WARNING "no Python 3: installed without manual pages")
endif()

# The releases are listed once, for AppStream.
file(STRINGS ${desktop}/kvscope.metainfo.xml released REGEX "<release version=\"${PROJECT_VERSION}\"" LIMIT_COUNT 1)
if(NOT released MATCHES "date=\"([-0-9]+)\"")
  message(FATAL_ERROR "${desktop}/kvscope.metainfo.xml: expected a <release version=\"${PROJECT_VERSION}\" date=\"...\"/>, the version of the project")
endif()
set(released ${CMAKE_MATCH_1})
set(KVSCOPE_MAINTAINER "The kvscope authors <kvscope@localhost>" CACHE STRING "who answers for the package, with an address")
install(FILES ${desktop}/copyright DESTINATION ${documents} COMPONENT debian)
install(CODE "set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${documents}\")
  execute_process(COMMAND date --utc --rfc-email --date=${released} OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  file(WRITE \"\${folder}/changelog\" \"kvscope (${PROJECT_VERSION}) unstable; urgency=medium\n\n  * Version ${PROJECT_VERSION}.\n\n -- ${KVSCOPE_MAINTAINER}  \${date}\n\")
  execute_process(COMMAND gzip -9nf \"\${folder}/changelog\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT debian)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME kvscope)
set(CPACK_PACKAGE_CONTACT "${KVSCOPE_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "explorer of KV-cache compression in language models")
set(CPACK_PACKAGE_DESCRIPTION "Eviction and merging policies of the KV cache run side by side on one prompt,
and every layer and head shows which tokens are kept, merged or evicted, why,
and what it changes in the output.
.
kvscope is the window, kvscope-cli the same engine without one. A small
language model comes with them; checkpoints in safetensors and GGUF open as
well. It computes on the CPU.")
set(CPACK_INSTALL_CMAKE_PROJECTS "${CMAKE_BINARY_DIR};kvscope;kvscope;/;${CMAKE_BINARY_DIR};kvscope;debian;/")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "fonts-noto-core | fonts-dejavu-core, libgl1")  # Qt opens it by its name
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "fonts-noto-mono, fonts-noto-cjk, fonts-noto-color-emoji, libgl1-mesa-dri, qt6-wayland")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
