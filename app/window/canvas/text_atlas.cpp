// SPDX-License-Identifier: Apache-2.0
#include "app/window/canvas/text_atlas.h"

#include <algorithm>
#include <cmath>

#include <QOpenGLExtraFunctions>
#include <QPainter>
#include <QTextLayout>

#include "app/window/look/style.h"

namespace kvscope {

namespace {
constexpr int kPageWidth = 2048, kPageHeight = 512;  // low: a window that shows few words does not pay for many
constexpr int kMaxPages = 16;
constexpr int kMargin = 1;  // around every sprite: sampling never reaches the neighbour
constexpr int kLongest = kPageWidth - 2 * kMargin;

bool hasColours(const QImage& image) {
  for (int y = 0; y < image.height(); ++y) {
    const auto* line = reinterpret_cast<const QRgb*>(image.constScanLine(y));
    for (int x = 0; x < image.width(); ++x)
      if (qAlpha(line[x]) != 0 && (qRed(line[x]) != qGreen(line[x]) || qGreen(line[x]) != qBlue(line[x]))) return true;
  }
  return false;
}
}  // namespace

TextAtlas::TextAtlas(GlDevice& device) : m_device(device), m_font(monoFont(12)) {
  // Coverage in one grey value: the canvas tints the sprite.
  m_font.setStyleStrategy(QFont::StyleStrategy(QFont::PreferAntialias | QFont::NoSubpixelAntialias));
}

TextAtlas::~TextAtlas() {
  if (m_pages.empty() || !m_device.makeCurrent()) return;
  for (const Page& page : m_pages) m_device.gl().glDeleteTextures(1, &page.texture);
}

void TextAtlas::beginFrame(qreal device_pixel_ratio) {
  ++m_frame;
  if (device_pixel_ratio == m_ratio) return;
  m_ratio = device_pixel_ratio;
  for (int i = 0; i < pages(); ++i) clear(i);
}

void TextAtlas::clear(int index) {
  std::erase_if(m_entries, [index](const auto& item) { return item.second.page == index; });
  std::erase_if(m_added, [index](const Added& added) { return added.page == index; });
  Page& page = m_pages[static_cast<std::size_t>(index)];
  page.x = page.y = page.row_height = 0;
}

QImage TextAtlas::render(std::string_view utf8, float px, bool bold, bool vertical) const {
  QFont font = m_font;
  font.setPixelSize(std::max(1, static_cast<int>(std::lround(px * m_ratio))));
  font.setBold(bold);
  QTextLayout layout(QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size())).replace('\n', u'↵'), font);
  layout.beginLayout();
  QTextLine line = layout.createLine();
  if (!line.isValid()) return {};
  line.setLineWidth(kPageWidth);
  layout.endLayout();
  const QSize size(std::clamp(static_cast<int>(std::ceil(line.naturalTextWidth())), 1, kLongest),
                   std::clamp(static_cast<int>(std::ceil(line.height())), 1, kLongest));
  QImage image((vertical ? size.transposed() : size) + QSize(2 * kMargin, 2 * kMargin), QImage::Format_ARGB32_Premultiplied);
  image.fill(Qt::transparent);
  QPainter painter(&image);
  painter.setPen(Qt::white);
  painter.setClipRect(image.rect().adjusted(kMargin, kMargin, -kMargin, -kMargin));
  painter.translate(vertical ? image.width() - kMargin : kMargin, kMargin);
  if (vertical) painter.rotate(90);
  layout.draw(&painter, QPointF(0, 0));
  painter.end();
  return image.convertToFormat(QImage::Format_ARGB32);
}

bool TextAtlas::place(Page& page, const QSize& size, QPoint& at) const {
  if (page.x + size.width() > kPageWidth) {
    page.x = 0;
    page.y += page.row_height;
    page.row_height = 0;
  }
  if (page.y + size.height() > page.height) return false;
  at = QPoint(page.x, page.y);
  page.x += size.width();
  page.row_height = std::max(page.row_height, size.height());
  return true;
}

int TextAtlas::newPage(int height) {
  Page page;
  page.height = height;
  auto& gl = m_device.gl();
  gl.glGenTextures(1, &page.texture);
  gl.glBindTexture(GL_TEXTURE_2D, page.texture);
  gl.glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, kPageWidth, height, 0, GL_BGRA, GL_UNSIGNED_INT_8_8_8_8_REV, nullptr);
  gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
  gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
  gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, GL_CLAMP_TO_EDGE);
  gl.glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, GL_CLAMP_TO_EDGE);
  m_pages.push_back(page);
  return pages() - 1;
}

int TextAtlas::pageFor(const QSize& size, QPoint& at) {
  if (!m_pages.empty() && place(m_pages[static_cast<std::size_t>(m_current)], size, at)) return m_current;
  if (pages() < kMaxPages) {
    m_current = newPage(std::max(kPageHeight, size.height()));
  } else {
    const Page* oldest = nullptr;
    for (const Page& page : m_pages)
      if (page.height >= size.height() && (!oldest || page.used_in < oldest->used_in)) oldest = &page;
    if (!oldest || oldest->used_in == m_frame) return -1;  // this very frame needs every page
    m_current = static_cast<int>(oldest - m_pages.data());
    clear(m_current);
  }
  return place(m_pages[static_cast<std::size_t>(m_current)], size, at) ? m_current : -1;
}

viz::TextPainter::Sprite TextAtlas::sprite(std::string_view utf8, float px, bool bold, bool vertical) {
  if (utf8.empty()) return {};
  std::string key(utf8);
  key += '\0';
  key += std::to_string(std::lround(px * 4)) + (bold ? 'b' : 'n') + (vertical ? 'v' : 'h');
  if (const auto found = m_entries.find(key); found != m_entries.end()) {
    m_pages[static_cast<std::size_t>(found->second.page)].used_in = m_frame;
    return found->second.sprite;
  }
  const QImage image = render(utf8, px, bold, vertical);
  if (image.isNull()) return {};
  QPoint at;
  const int index = pageFor(image.size(), at);
  if (index < 0) return {};
  Page& page = m_pages[static_cast<std::size_t>(index)];
  page.used_in = m_frame;
  const auto uv = [&](QPoint place) {
    return ImVec2(static_cast<float>(place.x()) / kPageWidth, static_cast<float>(place.y()) / static_cast<float>(page.height));
  };
  const QSize seen = image.size() - QSize(2 * kMargin, 2 * kMargin);
  const QPoint first = at + QPoint(kMargin, kMargin);
  Entry entry;
  entry.page = index;
  entry.sprite.texture = reinterpret_cast<ImTextureID>(static_cast<std::intptr_t>(page.texture));
  entry.sprite.size = ImVec2(static_cast<float>(seen.width() / m_ratio), static_cast<float>(seen.height() / m_ratio));
  entry.sprite.uv0 = uv(first);
  entry.sprite.uv1 = uv(first + QPoint(seen.width(), seen.height()));
  entry.sprite.coloured = hasColours(image);
  m_added.push_back({index, at, image});
  return m_entries.emplace(std::move(key), entry).first->second.sprite;
}

void TextAtlas::upload() {
  auto& gl = m_device.gl();
  for (const Added& added : m_added) {
    gl.glBindTexture(GL_TEXTURE_2D, m_pages[static_cast<std::size_t>(added.page)].texture);
    gl.glTexSubImage2D(GL_TEXTURE_2D, 0, added.at.x(), added.at.y(), added.image.width(), added.image.height(), GL_BGRA,
                       GL_UNSIGNED_INT_8_8_8_8_REV, added.image.constBits());  // its lines have no gaps: four bytes a pixel
  }
  m_added.clear();
}

}  // namespace kvscope
