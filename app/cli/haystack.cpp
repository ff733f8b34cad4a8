// SPDX-License-Identifier: Apache-2.0
#include "app/cli/haystack.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/core.h>

#include "app/cli/inputs.h"
#include "app/cli/progress.h"
#include "core/error.h"
#include "io/files.h"

namespace kvscope::cli {

namespace {

std::vector<int> from(const std::vector<int>& ids, std::size_t first) {
  return {ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end()};
}

}  // namespace

std::string prose_of(const Arguments& a, const ModelFiles& model, const char* command) {
  if (!model.has_tokenizer)
    throw UsageError(fmt::format("{}: {} has no tokenizer.json or tokenizer.model, so text cannot become tokens", command, model.folder));
  return read_text_in_utf8(a.text.empty() ? embedded_novel() : a.text, kMaxProseBytes);
}

/// A word of many tokens may stand where the prompt would end: then another place of the prose is drawn.
AskedText Haystack::sample(int context, double depth, std::uint64_t seed, bool question_in_prompt) const {
  constexpr int kDraws = 20;
  std::mt19937_64 random(seed);
  for (int draw = 1;; ++draw) {
    const auto start = static_cast<std::size_t>(random() % std::max<std::size_t>(sentences_.size(), 1));
    AskedText out = sample_from(start, context, depth, seed, question_in_prompt);
    const std::size_t n_prompt = out.prompt_ids.size();
    if (std::abs(static_cast<double>(n_prompt) - context) <= 0.05 * context) return out;
    if (draw == kDraws)
      throw UsageError(
          fmt::format("expected prose for a prompt of {} tokens, got {} tokens out of {} sentences, and {} was made for {} positions; "
                      "give a longer --text or a smaller --context",
                      context, n_prompt, sentences_.size(), model_.config.name, model_.config.max_positions));
  }
}

std::vector<AskedText> Haystack::samples(const Arguments& a, bool question_in_prompt, const CancelToken& cancel) const {
  std::vector<AskedText> out;
  Progress progress(a.quiet);
  const double n_texts = static_cast<double>(a.contexts.size() * a.depths.size()) * a.samples;
  for (const int context : a.contexts)
    for (const double depth : a.depths)
      for (int i = 0; i < a.samples; ++i) {
        progress.show(kMakingTexts, static_cast<double>(out.size()) / n_texts);
        out.push_back(sample(context, depth, a.seed + out.size(), question_in_prompt));
        cancel.check();
      }
  return out;
}

AskedText Haystack::sample_from(std::size_t start, int context, double depth, std::uint64_t seed, bool question_in_prompt) const {
  std::vector<std::string> words;                             // of the prose from there on
  std::vector<std::size_t> ends;                              // number of words up to the end of each sentence
  const auto enough = static_cast<std::size_t>(context) + 1;  // a word has a token at least
  for (std::size_t s = 0; s < sentences_.size() && words.size() < enough; ++s) {
    const std::string& sentence = sentences_[(start + s) % sentences_.size()];
    for (std::size_t i = 0; i < sentence.size();) {
      const std::size_t end = std::min(sentence.find(' ', i), sentence.size());
      words.push_back(sentence.substr(i, end - i));
      i = end + 1;
    }
    ends.push_back(words.size());
  }
  const auto text_with = [&](std::size_t n) {
    std::vector<std::string> prose;
    std::size_t begin = 0;
    for (std::size_t s = 0; s < ends.size() && begin < n; begin = ends[s++]) {
      std::string sentence;
      for (std::size_t i = begin; i < std::min(ends[s], n); ++i) sentence += (i > begin ? " " : "") + words[i];
      prose.push_back(n < ends[s] ? sentence + "." : sentence);
    }
    return hide_number(prose, depth, seed);
  };
  const auto prompt_of = [&](const NeedleText& t) { return encode(model_, question_in_prompt ? t.context + t.question : t.context); };
  const auto context_fits = [&](const NeedleText& t) {
    return prompt_of(t).size() <= static_cast<std::size_t>(context) &&
           encode(model_, t.context + t.question + t.answer).size() <= static_cast<std::size_t>(model_.config.max_positions);
  };
  std::size_t fits = 0, too_many = words.size() + 1;
  while (too_many - fits > 1) {
    const std::size_t middle = (fits + too_many) / 2;
    (context_fits(text_with(middle)) ? fits : too_many) = middle;
  }
  const NeedleText text = text_with(fits);
  const std::vector<int> all = encode(model_, text.context + text.question + text.answer);
  const std::size_t n_prompt = common_prefix(all, prompt_of(text)),
                    n_before = common_prefix(all, encode(model_, text.context + text.question));
  AskedText out{.text = text,
                .depth = depth,
                .seed = seed,
                .prompt_ids = {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n_prompt)},
                .follow_ids = from(all, n_prompt),
                .n_answer = static_cast<int>(all.size() - n_before)};
  if (out.n_answer < 3) {
    throw UsageError(fmt::format("expected an answer of at least three tokens, got {} from {}'s tokenizer; a guess would count as recall",
                                 out.n_answer, model_.config.name));
  }
  return out;
}

}  // namespace kvscope::cli
