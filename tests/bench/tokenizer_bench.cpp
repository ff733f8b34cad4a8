// SPDX-License-Identifier: Apache-2.0
// How long a tokenizer takes for a text, first and after an edit: tokenizer_bench TOKENIZER.json TEXT [BYTES of it, default 200000]
#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <exception>
#include <memory>
#include <string>

#include "io/files.h"
#include "tokenizer/tokenizer.h"

namespace {

/// Milliseconds of the processor: a busy machine does not count.
template <typename Work>
double milliseconds(Work&& work) {
  const std::clock_t begin = std::clock();
  work();
  return 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) {
    fmt::print(stderr, "tokenizer_bench TOKENIZER.json TEXT [BYTES]\n");
    return 2;
  }
  std::unique_ptr<kvscope::Tokenizer> tokenizer;
  const double open = milliseconds([&] { tokenizer = kvscope::open_tokenizer_json(argv[1]); });
  std::string text = kvscope::read_text(argv[2]).substr(0, argc > 3 ? std::stoul(argv[3]) : 200000);
  std::size_t n = 0;
  const auto encode = [&] { return milliseconds([&] { n = tokenizer->encode(text).size(); }); };
  const double first = encode();
  double again = encode();
  for (int i = 0; i < 4; ++i) again = std::min(again, encode());
  text.insert(text.size() / 2, " edit ");
  const double edited = encode();
  fmt::print("{}: opened in {:.0f} ms; {} bytes, {} tokens: first {:.1f} ms, again {:.1f} ms, after an edit {:.1f} ms\n", argv[1], open,
             text.size(), n, first, again, edited);
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
