# SPDX-License-Identifier: Apache-2.0
# cmake -DFILES=a;b -DOUT=x.cpp -P embed_text.cmake: a source with the bytes of the files, by name; web_file() of app/share looks them up.
set(arrays "")
set(rows "")
set(n 0)
foreach(file IN LISTS FILES)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  get_filename_component(name ${file} NAME)
  string(APPEND arrays "constexpr unsigned char kFile${n}[] = {${bytes}};\n")
  string(APPEND rows "  if (name == \"${name}\") return {reinterpret_cast<const char*>(kFile${n}), sizeof(kFile${n})};\n")
  math(EXPR n "${n} + 1")
endforeach()
file(WRITE ${OUT} "// Made by cmake/embed_text.cmake.\n#include \"app/share/web_files.h\"\n#include \"core/error.h\"\n\nnamespace kvscope::share {\nnamespace {\n${arrays}}\n\n\
std::string_view web_file(std::string_view name) {\n${rows}  KVSCOPE_ASSERT(false);\n}\n\n}  // namespace kvscope::share\n")
