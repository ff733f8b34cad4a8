// SPDX-License-Identifier: Apache-2.0
#include "viz/draw/scene.h"

namespace kvscope::viz {

ImTextureID SceneTextures::texture(std::string_view key, std::uint64_t version, int width, int height,
                                   std::span<const std::uint32_t> rgba) {
  const std::size_t index = scene_.images.size();
  scene_.images.push_back({width, height, {rgba.begin(), rgba.end()}});
  // Without a store behind it any address does that differs from the others.
  ImTextureID id = shown_ != nullptr ? shown_->texture(key, version, width, height, rgba) : reinterpret_cast<ImTextureID>(index + 1);
  indices_[id] = index;
  return id;
}

std::size_t SceneTextures::index_of(ImTextureID texture) const {
  const auto found = indices_.find(texture);
  return found == indices_.end() ? scene_.images.size() : found->second;
}

}  // namespace kvscope::viz
