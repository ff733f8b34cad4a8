// SPDX-License-Identifier: Apache-2.0
#pragma once

// A canvas without window, GL or Qt: an ImGui context whose frames can be inspected, driven by hand and (software_raster.h) turned into
// pictures.

#include <imgui.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "viz/canvas.h"
#include "viz/draw/draw.h"
#include "viz/draw/scene.h"
#include "viz/modifiers.h"

namespace kvscope::viz::testing {

/// Keeps the pixels that views filled.
class RecordingTextures : public TextureStore {
 public:
  struct Image {
    std::uint64_t version = 0;
    int width = 0, height = 0;
    int uploads = 0;
    std::vector<std::uint32_t> rgba;
  };

  ImTextureID texture(std::string_view key, std::uint64_t version, int width, int height, std::span<const std::uint32_t> rgba) override {
    auto& image = images_[std::string(key)];
    if (!image) image = std::make_unique<Image>();
    if (image->uploads == 0 || image->version != version) {
      *image = {version, width, height, image->uploads + 1, {rgba.begin(), rgba.end()}};
    }
    return image.get();
  }

  const Image* find(std::string_view key) const {
    const auto it = images_.find(std::string(key));
    return it == images_.end() ? nullptr : it->second.get();
  }
  std::size_t texels() const {
    std::size_t n = 0;
    for (const auto& [key, image] : images_) n += image->rgba.size();
    return n;
  }
  std::size_t count() const { return images_.size(); }

 private:
  std::map<std::string, std::unique_ptr<Image>, std::less<>> images_;
};

class Headless {
 public:
  explicit Headless(const Snapshot& snapshot, ImVec2 size = {828, 406}, bool dark = true, float scale = 1) {
    const SharedFonts& shared = fonts_of(scale);
    context_ = ImGui::CreateContext(shared.atlas.get());
    ImGui::SetCurrentContext(context_);
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
    io.DeltaTime = 1.0f / 60;
    io.MousePos = {-FLT_MAX, -FLT_MAX};
    frame.fonts = shared.fonts;
    unsigned char* pixels = nullptr;
    int width = 0, height = 0;
    io.Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
    const auto* rgba = reinterpret_cast<const std::uint32_t*>(pixels);
    const auto n = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
    io.Fonts->SetTexID(textures.texture("fonts", 1, width, height, {rgba, n}));
    frame.snapshot = &snapshot;
    frame.theme = dark ? &dark_theme() : &light_theme();
    frame.textures = &textures;
    frame.size = size;
    frame.scale = scale;
  }
  ~Headless() { ImGui::DestroyContext(context_); }
  Headless(const Headless&) = delete;
  Headless& operator=(const Headless&) = delete;

  /// One ImGui frame with the view in it; what the user did is appended to `intents`.
  const ImDrawData* draw(View& view) {
    ImGui::SetCurrentContext(context_);
    ImGui::GetIO().DisplaySize = frame.size;
    ImGui::NewFrame();
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(frame.size);
    ImGui::Begin("canvas", nullptr, ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings);
    view.draw(frame, intents);
    ImGui::End();
    ImGui::PopStyleVar(3);
    ImGui::Render();
    ImGui::GetIO().MouseWheel = 0;
    return ImGui::GetDrawData();
  }

  void move(View& view, ImVec2 to) {
    io().MousePos = to;
    draw(view);
  }
  void press(View& view, ImVec2 at) {
    move(view, at);
    io().MouseDown[0] = true;
    draw(view);
  }
  void release(View& view) {
    io().MouseDown[0] = false;
    draw(view);
  }
  void click(View& view, ImVec2 at) {
    press(view, at);
    release(view);
  }
  void double_click(View& view, ImVec2 at) {
    click(view, at);
    click(view, at);
  }
  void drag(View& view, ImVec2 from, ImVec2 to) {
    press(view, from);
    for (int i = 1; i <= 4; ++i) {
      const float f = static_cast<float>(i) / 4;
      move(view, {from.x + (to.x - from.x) * f, from.y + (to.y - from.y) * f});
    }
    release(view);
  }
  void wheel(View& view, ImVec2 at, float notches) {
    move(view, at);
    io().MouseWheel = notches;
    draw(view);
  }
  void hold(bool shift, bool ctrl = false) { set_modifiers(io(), shift, ctrl, false); }
  ImGuiIO& io() {
    ImGui::SetCurrentContext(context_);
    return ImGui::GetIO();
  }

  /// Applies selections, steps and hovers as the app would, and forgets the intents.
  void apply() {
    for (const Intent& intent : intents) {
      if (const auto* select = std::get_if<Select>(&intent)) frame.selection = select->selection;
      if (const auto* step = std::get_if<SetStep>(&intent)) frame.selection.step = step->step;
      if (const auto* hover = std::get_if<HoverAt>(&intent)) frame.hover = hover->hover;
    }
    intents.clear();
  }
  /// The last intent of a kind, or nullptr.
  template <class T>
  const T* last() const {
    for (auto it = intents.rbegin(); it != intents.rend(); ++it) {
      if (const auto* found = std::get_if<T>(&*it)) return found;
    }
    return nullptr;
  }

  Frame frame;
  RecordingTextures textures;
  std::vector<Intent> intents;

 private:
  struct SharedFonts {
    std::unique_ptr<ImFontAtlas> atlas;
    Fonts fonts;
  };

  // Rasterised once per scale: it takes longer than most tests.
  static const SharedFonts& fonts_of(float scale) {
    static std::map<float, SharedFonts> cache;
    SharedFonts& shared = cache[scale];
    if (shared.atlas) return shared;
    shared.atlas = std::make_unique<ImFontAtlas>();
    const std::string folder = "/usr/share/fonts/truetype/noto/";
    const auto add = [&](const char* file, float em) {
      const float size = em * scale * kLineHeightPerEm;
      const std::string path = folder + file;
      if (std::filesystem::exists(path)) return shared.atlas->AddFontFromFileTTF(path.c_str(), size, nullptr, canvas_glyph_ranges());
      ImFontConfig plain;  // a machine without Noto: ImGui's own face, no glyphs beyond Latin
      plain.SizePixels = size;
      return shared.atlas->AddFontDefault(&plain);
    };
    shared.fonts.normal = add("NotoSans-Regular.ttf", 12);
    shared.fonts.small = add("NotoSans-Regular.ttf", 11);
    shared.fonts.bold = add("NotoSans-Bold.ttf", 12);
    shared.fonts.mono = add("NotoSansMono-Regular.ttf", 12);
    return shared;
  }

  ImGuiContext* context_ = nullptr;
};

/// First mark of a kind whose label is `label`, or nullptr.
inline const Mark* find_mark(const View& view, std::string_view kind, std::string_view label) {
  for (const Mark& m : view.marks()) {
    if (m.kind == kind && m.label == label) return &m;
  }
  return nullptr;
}
inline ImVec2 centre(const Mark& m) { return {(m.min.x + m.max.x) / 2, (m.min.y + m.max.y) / 2}; }
inline int count_marks(const View& view, std::string_view kind) {
  int n = 0;
  for (const Mark& m : view.marks()) n += m.kind == kind;
  return n;
}

/// What a canvas draws from now on, as commands.
struct RecordedScene {
  explicit RecordedScene(Headless& canvas) : kept(scene, &canvas.textures) {
    canvas.frame.scene = &scene;
    canvas.frame.textures = &kept;
    canvas.frame.scene_textures = &kept;
  }
  Scene scene;
  SceneTextures kept;
};

}  // namespace kvscope::viz::testing
