// SPDX-License-Identifier: Apache-2.0
#include "trace/request_json.h"

#include <gtest/gtest.h>

#include "io/json_document.h"

namespace kvscope {
namespace {

TEST(RequestJson, KeepsWhatThePromptIsAndWhatItsTemplateWasGiven) {
  for (const PromptText kind : {PromptText::plain, PromptText::names, PromptText::chat, PromptText::begun}) {
    const RunRequest request{.prompt = "Hi", .prompt_text = kind, .chat_arguments = R"({"enable_thinking": false})"};
    JsonText out;
    out.begin_object();
    write_request(out, request);
    out.end_object();
    const JsonDocument document = JsonDocument::parse(out.take(), "t");
    const JsonCursor cursor(document);
    const RunRequest read = read_request(cursor);
    EXPECT_EQ(read.prompt_text, kind);
    EXPECT_EQ(read.chat_arguments, request.chat_arguments);
    for (std::size_t i = 0; i < cursor.n_members(); ++i) EXPECT_TRUE(is_request_key(cursor.member_name(i))) << cursor.member_name(i);
  }
  JsonText out;
  out.begin_object();
  write_request(out, {.prompt = "Hi"});
  out.end_object();
  EXPECT_EQ(out.take().find("chat_arguments"), std::string::npos) << "sessions of the first version know nothing of it";
}

}  // namespace
}  // namespace kvscope
