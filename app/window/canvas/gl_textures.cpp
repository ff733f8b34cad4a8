// SPDX-License-Identifier: Apache-2.0
#include "app/window/canvas/gl_textures.h"

#include <QOpenGLExtraFunctions>

#include "core/error.h"

namespace kvscope {

GlTextures::~GlTextures() {
  if (m_entries.empty() || !m_device.makeCurrent()) return;
  for (const auto& [key, entry] : m_entries) m_device.gl().glDeleteTextures(1, &entry.name);
}

ImTextureID GlTextures::texture(std::string_view key, std::uint64_t version, int width, int height, std::span<const std::uint32_t> rgba) {
  Entry& entry = m_entries[std::string(key)];
  const auto id = [&entry] { return reinterpret_cast<ImTextureID>(static_cast<std::intptr_t>(entry.name)); };
  if (entry.name && entry.version == version && entry.width == width && entry.height == height) return id();
  if (width <= 0 || height <= 0) return id();
  KVSCOPE_ASSERT(rgba.size() >= static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  auto& gl = m_device.gl();
  const bool same_size = entry.name && entry.width == width && entry.height == height;
  if (!entry.name) gl.glGenTextures(1, &entry.name);
  gl.glBindTexture(GL_TEXTURE_2D, entry.name);
  gl.glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
  gl.glPixelStorei(GL_UNPACK_ALIGNMENT, 4);
  if (same_size) {
    gl.glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, rgba.data());
  } else {
    gl.glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, rgba.data());
    gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
    gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  }
  entry.version = version;
  entry.width = width;
  entry.height = height;
  return id();
}

}  // namespace kvscope
