// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <unordered_map>

#include "app/window/canvas/gl_device.h"
#include "viz/canvas.h"

namespace kvscope {

/// Textures of one canvas by name. All calls need the device to be current, the destructor makes it so.
class GlTextures final : public viz::TextureStore {
 public:
  explicit GlTextures(GlDevice& device) : m_device(device) {}
  ~GlTextures() override;
  GlTextures(const GlTextures&) = delete;
  GlTextures& operator=(const GlTextures&) = delete;

  ImTextureID texture(std::string_view key, std::uint64_t version, int width, int height, std::span<const std::uint32_t> rgba) override;

 private:
  struct Entry {
    unsigned name = 0;
    std::uint64_t version = 0;
    int width = 0, height = 0;
  };
  GlDevice& m_device;
  std::unordered_map<std::string, Entry> m_entries;
};

}  // namespace kvscope
