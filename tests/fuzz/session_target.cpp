// SPDX-License-Identifier: Apache-2.0
#include "fuzz/session_target.h"

#include "app/window/session/session_file.h"
#include "core/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kvscope;
  try {
    const ReadSession read = parseSession(QByteArray(reinterpret_cast<const char*>(data), static_cast<qsizetype>(size)), "input");
    const QByteArray written = sessionJson(read.session);
    const ReadSession again = parseSession(written, "written");
    KVSCOPE_ASSERT(again.notes.isEmpty() && sessionJson(again.session) == written);
  } catch (const Error&) {
  }
  return 0;
}
