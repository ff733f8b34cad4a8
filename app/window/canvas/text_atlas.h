// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <QFont>
#include <QImage>

#include "app/window/canvas/gl_device.h"
#include "viz/canvas.h"

namespace kvscope {

/// Token text, laid out by Qt (any script, emoji) and kept as pictures in textures of 2048 x 512 pixels, higher for a text that needs it.
/// When there are no more pages, the one that has not been used for the longest time is emptied. Shared by all canvases; the device must be
/// current in every call.
class TextAtlas final : public viz::TextPainter {
 public:
  explicit TextAtlas(GlDevice& device);
  ~TextAtlas() override;
  TextAtlas(const TextAtlas&) = delete;
  TextAtlas& operator=(const TextAtlas&) = delete;

  /// Starts the frame of one canvas; sprites stay valid until the next one.
  void beginFrame(qreal device_pixel_ratio);
  Sprite sprite(std::string_view utf8, float px, bool bold, bool vertical) override;
  /// Sends what was added since the last frame to the GPU; before the frame's draw call.
  void upload();

  int pages() const { return static_cast<int>(m_pages.size()); }

 private:
  struct Page {
    unsigned texture = 0;
    int height = 0;
    int x = 0, y = 0, row_height = 0;  // shelf packing: the next free place
    std::uint64_t used_in = 0;         // frame
  };
  struct Entry {
    int page = 0;
    Sprite sprite;
  };
  struct Added {
    int page = 0;
    QPoint at;
    QImage image;  // with its margin
  };
  QImage render(std::string_view utf8, float px, bool bold, bool vertical) const;
  bool place(Page& page, const QSize& size, QPoint& at) const;
  int pageFor(const QSize& size, QPoint& at);
  int newPage(int height);
  void clear(int page);

  GlDevice& m_device;
  QFont m_font;
  qreal m_ratio = 1;
  std::uint64_t m_frame = 0;
  int m_current = 0;
  std::vector<Page> m_pages;
  std::vector<Added> m_added;  // since the last upload
  std::unordered_map<std::string, Entry> m_entries;
};

}  // namespace kvscope
