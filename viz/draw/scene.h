// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <imgui.h>

#include "viz/canvas.h"

namespace kvscope::viz {

/// One drawing command of a canvas, in logical pixels.
struct SceneCommand {
  enum class Kind : std::uint8_t {
    rect,      // filled; points: top left, bottom right; radius: of the corners
    outline,   // as rect, a line of `width` inside it; radius: of the corners
    polyline,  // open line of `width`, with `dash`
    polygon,   // filled
    disc,      // points: centre; radius
    ring,      // the same, a line of `width`
    bezier,    // four points, a line of `width`
    gradient,  // rect from `colour` on the left to `second` on the right
    image,     // rect; image, uv0, uv1
    text,      // points: left end, vertical middle; `width`: as measured
    clip,      // rect, until the matching unclip
    unclip
  };
  Kind kind = Kind::rect;
  std::vector<ImVec2> points = {};
  Rgb colour = {}, second = {};
  double alpha = 1;
  float width = 1, radius = 0;
  std::vector<float> dash = {};
  std::string text = {};
  float em = 12;  // of text
  bool bold = false, mono = false;
  bool vertical = false;  // turned by 90 degrees, reading downwards; the point is the top middle
  std::size_t image = 0;
  ImVec2 uv0 = {}, uv1 = {};
};

/// Pixels that a view filled.
struct SceneImage {
  int width = 0, height = 0;
  std::vector<std::uint32_t> rgba;
};

/// What one frame of a canvas consists of: the source of vector pictures. Recorded where Frame::scene is set.
struct Scene {
  ImVec2 size;
  Rgb background;
  std::vector<SceneCommand> commands;
  std::vector<SceneImage> images;
};

/// Textures of a recorded frame: keeps the pixels in the scene and hands them on to `shown`, where the frame is drawn as well.
class SceneTextures final : public TextureStore {
 public:
  SceneTextures(Scene& scene, TextureStore* shown) : scene_(scene), shown_(shown) {}
  ImTextureID texture(std::string_view key, std::uint64_t version, int width, int height, std::span<const std::uint32_t> rgba) override;
  /// Index into Scene::images of a texture that this store gave out; none: the number of images.
  std::size_t index_of(ImTextureID texture) const;

 private:
  Scene& scene_;
  TextureStore* shown_;
  std::map<ImTextureID, std::size_t> indices_;
};

}  // namespace kvscope::viz
