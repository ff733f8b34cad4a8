// SPDX-License-Identifier: Apache-2.0
#include "runtime/prompt/probe_text.h"

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.h"

namespace kvscope {
namespace {

constexpr int kOverlap = 8;  // tokens of the stretch before that a later question names

/// What a chat template writes around a user's words: up to them, and from their end to where the answer begins.
std::vector<std::string> user_turn(const ChatTemplate& chat, const std::string& folder) {
  std::vector<std::string> turn = chat_frame(chat, /*system=*/false, R"({"enable_thinking": false})");
  if (turn.empty()) throw Error(folder + ": the chat template leaves a user's words out, so that it cannot ask to repeat a prompt");
  return turn;
}

}  // namespace

ProbeText::ProbeText(const ModelFiles& model) {
  if (!model.has_tokenizer) return;
  const auto ids = [&](const std::string& text, SpecialNames names) { return model.tokenizer->encode(text, names); };
  if (!model.chat_problem.empty()) throw Error(model.chat_problem);
  const std::vector<std::string> turn = model.chat ? user_turn(*model.chat, model.folder) : std::vector<std::string>{"", "\n"};
  if (!turn.front().empty()) opening_ = ids(turn.front(), SpecialNames::tokens);
  question_ = ids("\n\nRepeat the previous context exactly.", SpecialNames::text);
  next_question_ = ids("\n\nRepeat the part of the previous context exactly, starting with", SpecialNames::text);
  answer_ = ids(turn.back(), SpecialNames::tokens);
}

int ProbeText::start(std::span<const int> prompt) const {
  const bool opens = opening_.size() < prompt.size() && std::ranges::equal(opening_, prompt.first(opening_.size()));
  return opens ? static_cast<int>(opening_.size()) : 0;
}

std::vector<int> ProbeText::tokens(std::span<const int> prompt, int before, int first, int end) const {
  std::vector<int> out = before == first ? question_ : next_question_;
  const auto add = [&](int from, int to) { out.insert(out.end(), prompt.begin() + from, prompt.begin() + to); };
  add(std::max(before, first - kOverlap), first);
  out.insert(out.end(), answer_.begin(), answer_.end());
  add(first, end);
  return out;
}

}  // namespace kvscope
