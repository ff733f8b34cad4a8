# SPDX-License-Identifier: Apache-2.0
# Debian's libimgui-dev: a static archive with the OpenGL 3 backend inside, no CMake package. stb is needed by imgui_draw.
find_path(ImGui_INCLUDE_DIR imgui.h PATH_SUFFIXES imgui)
find_library(ImGui_LIBRARY NAMES libimgui.a imgui)
find_library(ImGui_STB_LIBRARY stb)
find_package(Freetype REQUIRED)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ImGui REQUIRED_VARS ImGui_LIBRARY ImGui_STB_LIBRARY ImGui_INCLUDE_DIR)
if(ImGui_FOUND AND NOT TARGET ImGui::ImGui)
  add_library(ImGui::ImGui UNKNOWN IMPORTED)
  set_target_properties(ImGui::ImGui PROPERTIES
    IMPORTED_LOCATION ${ImGui_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES "${ImGui_INCLUDE_DIR};${ImGui_INCLUDE_DIR}/backends"
    INTERFACE_LINK_LIBRARIES "${ImGui_STB_LIBRARY};Freetype::Freetype;${CMAKE_DL_LIBS}")
endif()
