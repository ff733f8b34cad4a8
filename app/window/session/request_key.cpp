// SPDX-License-Identifier: Apache-2.0
#include "app/window/session/request_key.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/window/session/session_controller.h"

namespace kvscope {

std::string textKey(const RunRequest& r) {
  return fmt::format("{}\n{} {} {} {} {} {} {} {} {} {}", r.prompt, fmt::join(r.prompt_ids, ","), fmt::join(r.follow_ids, ","),
                     fmt::join(r.given_ids, ","), name_of(r.follow), static_cast<int>(r.mode), r.seed, r.temperature, r.ignore_end,
                     r.prompt.size(), name_of(r.prompt_text));
}

std::string textKey(const SessionController& controller) {
  return fmt::format("{}\n{}\n{}", textKey(controller.request()), controller.modelFolder().toStdString(), controller.computesElsewhere());
}

std::string workKey(const RunRequest& r) {
  std::string out = fmt::format("{}\n{} {}", textKey(r), r.n_generate, r.history);
  for (const LaneSpec& lane : r.lanes) out += '\n' + lane.text;
  return out;
}

}  // namespace kvscope
