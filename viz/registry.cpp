// SPDX-License-Identifier: Apache-2.0
#include "viz/views.h"

namespace kvscope::viz {

std::vector<std::unique_ptr<View>> make_views(const std::shared_ptr<TokenWindow>& shared) {
  const auto window = shared != nullptr ? shared : std::make_shared<TokenWindow>();
  std::vector<std::unique_ptr<View>> views;
  views.push_back(make_atlas(window));
  views.push_back(make_head_grid());
  views.push_back(make_head_strip(window));
  views.push_back(make_inspector());
  views.push_back(make_timeline());
  views.push_back(make_compare(window));
  return views;
}

}  // namespace kvscope::viz
