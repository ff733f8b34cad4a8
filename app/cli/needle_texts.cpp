// SPDX-License-Identifier: Apache-2.0
#include "app/cli/needle_texts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

namespace kvscope::cli {

std::vector<std::string> sentences_of(const std::string& text) {
  std::vector<std::string> out;
  std::string sentence;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i] == '\n' || text[i] == '\r' || text[i] == '\t' ? ' ' : text[i];
    if (!(c == ' ' && (sentence.empty() || sentence.back() == ' '))) sentence += c;
    const bool ends = (c == '.' || c == '!' || c == '?') && (i + 1 == text.size() || text[i + 1] == ' ' || text[i + 1] == '\n');
    if (!ends) continue;
    out.push_back(std::move(sentence));
    sentence.clear();
  }
  return out;
}

NeedleText hide_number(const std::vector<std::string>& sentences, double depth, std::uint64_t seed) {
  constexpr std::array<const char*, 8> kNames = {"Helen", "Tom", "Clara", "Peter", "Alice", "Oscar", "Ruth", "Martin"};
  std::mt19937_64 random(seed);
  const char* name = kNames[random() % kNames.size()];
  const std::string answer = fmt::format(" {}.", 100 + random() % 900);
  const auto place = static_cast<std::size_t>(std::lround(std::clamp(depth, 0.0, 1.0) * static_cast<double>(sentences.size())));
  std::string text;
  const auto add = [&](const std::string& sentence) { text += (text.empty() ? "" : " ") + sentence; };
  for (std::size_t i = 0; i <= sentences.size(); ++i) {
    if (i == place) add(fmt::format("The house number of {} is{}", name, answer));
    if (i < sentences.size()) add(sentences[i]);
  }
  return {std::move(text), fmt::format("\nWhat is the house number of {}? The house number of {} is", name, name), answer};
}

std::string asked_texts_json(const std::string& model, const std::vector<AskedText>& texts) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const AskedText& t : texts)
    list.push_back({{"depth", t.depth},
                    {"seed", t.seed},
                    {"context", t.text.context},
                    {"question", t.text.question},
                    {"answer", t.text.answer},
                    {"prompt_ids", t.prompt_ids},
                    {"follow_ids", t.follow_ids},
                    {"answer_tokens", t.n_answer}});
  const nlohmann::ordered_json document{{"schema", "kvscope.texts/1"}, {"model", model}, {"texts", std::move(list)}};
  return document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace kvscope::cli
