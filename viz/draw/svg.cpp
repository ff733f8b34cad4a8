// SPDX-License-Identifier: Apache-2.0
#include "viz/draw/svg.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "viz/draw/draw.h"
#include "viz/draw/format.h"
#include "viz/reduce/compare.h"

namespace kvscope::viz {
namespace {

constexpr float kMargin = 12;
constexpr float kStampLetter = 6;   // a letter of the stamp, generously
constexpr float kBaseline = 0.36f;  // of the em, from the middle of a line to its baseline
const char* const kSans = "'Noto Sans','DejaVu Sans',sans-serif";
const char* const kMono = "'Noto Sans Mono','DejaVu Sans Mono',monospace";

std::string number(float v) {
  std::string text = fmt::format("{:.2f}", static_cast<double>(v));
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string hex(Rgb c) { return fmt::format("#{:06x}", c.value & 0xFFFFFFu); }

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void scene(const Scene& scene) {
    int open = 0;
    for (const SceneCommand& c : scene.commands) {
      if (c.kind == SceneCommand::Kind::clip) {
        begin_clip(c);
        ++open;
      } else if (c.kind == SceneCommand::Kind::unclip) {
        if (open-- > 0) out_ += "</g>\n";
      } else {
        shape(scene, c);
      }
    }
    for (; open > 0; --open) out_ += "</g>\n";
  }

  void text(const SceneCommand& c) {
    const ImVec2 at = c.points.at(0);
    const float baseline = c.vertical ? -kBaseline * c.em : at.y + kBaseline * c.em;
    out_ += "<text ";
    if (c.vertical)
      out_ += fmt::format("transform=\"translate({} {}) rotate(90)\" x=\"0\" y=\"{}\"", number(at.x), number(at.y), number(-baseline));
    else
      out_ += fmt::format("x=\"{}\" y=\"{}\"", number(at.x), number(baseline));
    out_ += fmt::format(" font-family=\"{}\" font-size=\"{}\"{} fill=\"{}\"", c.mono ? kMono : kSans, number(c.em),
                        c.bold ? " font-weight=\"bold\"" : "", hex(c.colour));
    opacity("fill-opacity", c.alpha);
    // The canvas measured the text in its own font: another one is set as wide, so that nothing overlaps.
    if (c.width > 1) out_ += fmt::format(" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", number(c.width));
    out_ += " xml:space=\"preserve\">" + xml_text(c.text) + "</text>\n";
  }

 private:
  void opacity(const char* name, double alpha) {
    if (alpha < 0.999) out_ += fmt::format(" {}=\"{}\"", name, number(static_cast<float>(alpha)));
  }
  void fill(const SceneCommand& c) {
    out_ += fmt::format(" fill=\"{}\"", hex(c.colour));
    opacity("fill-opacity", c.alpha);
    out_ += "/>\n";
  }
  void stroke(const SceneCommand& c) {
    out_ += fmt::format(" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"", hex(c.colour), number(c.width));
    opacity("stroke-opacity", c.alpha);
    if (!c.dash.empty()) {
      out_ += " stroke-dasharray=\"";
      for (const float d : c.dash) out_ += number(d) + " ";
      out_.back() = '"';
    }
    out_ += "/>\n";
  }
  void box(const char* element, ImVec2 a, ImVec2 b, float radius) {
    out_ += fmt::format("<{} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", element, number(a.x), number(a.y),
                        number(std::max(0.0f, b.x - a.x)), number(std::max(0.0f, b.y - a.y)));
    if (radius > 0) out_ += fmt::format(" rx=\"{}\"", number(radius));
  }
  void points(const char* element, const std::vector<ImVec2>& all) {
    out_ += fmt::format("<{} points=\"", element);
    for (const ImVec2& p : all) out_ += number(p.x) + "," + number(p.y) + " ";
    out_.back() = '"';
  }

  void begin_clip(const SceneCommand& c) {
    const int id = ++ids_;
    out_ += fmt::format("<clipPath id=\"c{}\">", id);
    box("rect", c.points.at(0), c.points.at(1), 0);
    out_ += fmt::format("/></clipPath><g clip-path=\"url(#c{})\">\n", id);
  }

  void shape(const Scene& scene, const SceneCommand& c) {
    using Kind = SceneCommand::Kind;
    switch (c.kind) {
      case Kind::rect:
        box("rect", c.points.at(0), c.points.at(1), c.radius);
        return fill(c);
      case Kind::outline: {
        const float h = c.width / 2;
        box("rect", {c.points.at(0).x + h, c.points.at(0).y + h}, {c.points.at(1).x - h, c.points.at(1).y - h}, c.radius);
        return stroke(c);
      }
      case Kind::polyline:
        points("polyline", c.points);
        return stroke(c);
      case Kind::polygon:
        points("polygon", c.points);
        return fill(c);
      case Kind::disc:
      case Kind::ring:
        out_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"", number(c.points.at(0).x), number(c.points.at(0).y), number(c.radius));
        return c.kind == Kind::disc ? fill(c) : stroke(c);
      case Kind::bezier:
        out_ += fmt::format("<path d=\"M{} {}C{} {} {} {} {} {}\"", number(c.points.at(0).x), number(c.points.at(0).y),
                            number(c.points.at(1).x), number(c.points.at(1).y), number(c.points.at(2).x), number(c.points.at(2).y),
                            number(c.points.at(3).x), number(c.points.at(3).y));
        return stroke(c);
      case Kind::gradient: {
        const int id = ++ids_;
        out_ += fmt::format(
            "<linearGradient id=\"g{}\"><stop offset=\"0\" stop-color=\"{}\"/><stop offset=\"1\" stop-color=\"{}\"/></linearGradient>", id,
            hex(c.colour), hex(c.second));
        box("rect", c.points.at(0), c.points.at(1), 0);
        out_ += fmt::format(" fill=\"url(#g{})\"/>\n", id);
        return;
      }
      case Kind::image:
        return cells(scene, c);
      case Kind::text:
        return text(c);
      case Kind::clip:
      case Kind::unclip:
        return;
    }
  }

  // Texels as rectangles, runs of one colour in a row as one, all of a colour in one path.
  void cells(const Scene& scene, const SceneCommand& c) {
    if (c.image >= scene.images.size()) return;
    const SceneImage& image = scene.images[c.image];
    const ImVec2 a = c.points.at(0), b = c.points.at(1);
    const float columns = (c.uv1.x - c.uv0.x) * static_cast<float>(image.width),
                lines = (c.uv1.y - c.uv0.y) * static_cast<float>(image.height);
    if (columns <= 0 || lines <= 0) return;
    const float from_x = c.uv0.x * static_cast<float>(image.width), from_y = c.uv0.y * static_cast<float>(image.height);
    const auto x_of = [&](int column) { return std::clamp(a.x + (static_cast<float>(column) - from_x) / columns * (b.x - a.x), a.x, b.x); };
    const auto y_of = [&](int line) { return std::clamp(a.y + (static_cast<float>(line) - from_y) / lines * (b.y - a.y), a.y, b.y); };
    const int x0 = std::max(0, static_cast<int>(std::floor(from_x + 1e-3f))),
              y0 = std::max(0, static_cast<int>(std::floor(from_y + 1e-3f)));
    const int x1 = std::min(image.width, static_cast<int>(std::ceil(from_x + columns - 1e-3f)));
    const int y1 = std::min(image.height, static_cast<int>(std::ceil(from_y + lines - 1e-3f)));
    std::map<std::uint32_t, std::string> paths;
    for (int y = y0; y < y1; ++y) {
      const std::uint32_t* const row = image.rgba.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width);
      for (int x = x0; x < x1;) {
        int end = x + 1;
        while (end < x1 && row[end] == row[x]) ++end;
        if (row[x] >> 24 != 0) {
          const float left = x_of(x), top = y_of(y), width = x_of(end) - left, height = y_of(y + 1) - top;
          paths[row[x]] += fmt::format("M{} {}h{}v{}h{}z", number(left), number(top), number(width), number(height), number(-width));
        }
        x = end;
      }
    }
    for (const auto& [texel, path] : paths) {
      const Rgb rgb{(texel & 255u) << 16 | (texel >> 8 & 255u) << 8 | (texel >> 16 & 255u)};
      out_ += fmt::format("<path shape-rendering=\"crispEdges\" d=\"{}\" fill=\"{}\"", path, hex(rgb));
      opacity("fill-opacity", c.alpha * (texel >> 24) / 255.0);
      out_ += "/>\n";
    }
  }

  std::string& out_;
  int ids_ = 0;
};

SceneCommand line_of_text(ImVec2 left_middle, std::string text, float em, Rgb colour, bool bold) {
  SceneCommand c;
  c.kind = SceneCommand::Kind::text;
  c.points = {left_middle};
  c.text = std::move(text);
  c.em = em;
  c.colour = colour;
  c.bold = bold;
  c.width = 0;  // not measured
  return c;
}

}  // namespace

std::string xml_text(std::string_view utf8) {
  std::string out;
  for (std::size_t at = 0; at < utf8.size();) {
    const char32_t c = utf8_next(utf8, at);
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&apos;";
        break;
      default: {
        const bool allowed = c == '\t' || c == '\n' || c == '\r' || (c >= 0x20 && c <= 0xD7FF) || (c >= 0xE000 && c <= 0xFFFD) ||
                             (c >= 0x10000 && c <= 0x10FFFF);
        utf8_append(out, allowed ? c : U'\uFFFD');
      }
    }
  }
  return out;
}

std::string to_svg(std::span<const PicturePart> parts, const Theme& theme, std::span<const std::string> stamp) {
  float width = 0, height = 0;
  for (const PicturePart& part : parts) {
    width = std::max(width, part.at.x + part.scene->size.x);
    height = std::max(height, part.at.y + part.scene->size.y);
  }
  // Whatever draws this has its own font: about as wide as most at this size.
  const std::vector<std::string> lines = stamp_lines(
      stamp, [&](const std::string& line) { return kMargin + kStampLetter * static_cast<float>(utf8_length(line)) <= width - kMargin; });
  const float stamps = lines.empty() ? 0 : kPictureStampLine * static_cast<float>(lines.size()) + kMargin;
  std::string out = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"{2}\"/>\n",
      number(width), number(height + stamps), hex(theme.window));
  Writer writer(out);
  for (const PicturePart& part : parts) {
    if (!part.title.empty()) {
      const float y = part.at.y - kPictureTitle / 2;
      out += fmt::format(
          "<text x=\"{}\" y=\"{}\" font-family=\"{}\" font-size=\"13\" fill=\"{}\"><tspan font-weight=\"bold\">{}</tspan>"
          "<tspan dx=\"10\" font-size=\"12\" fill=\"{}\">{}</tspan></text>\n",
          number(part.at.x + kMargin), number(y + 5), kSans, hex(theme.text), xml_text(part.title), hex(theme.secondary),
          xml_text(part.facts));
    }
    out += fmt::format("<g transform=\"translate({} {})\">\n", number(part.at.x), number(part.at.y));
    writer.scene(*part.scene);
    out += "</g>\n";
  }
  float y = height + kPictureStampLine / 2 + 2;
  for (const std::string& line : lines) {
    writer.text(line_of_text({kMargin, y}, line, 11, theme.secondary, false));
    y += kPictureStampLine;
  }
  return out + "</svg>\n";
}

std::vector<std::string> picture_stamp(const Frame& frame, std::string_view version) {
  std::vector<std::string> lines;
  if (frame.snapshot == nullptr) return lines;
  const Snapshot& s = *frame.snapshot;
  lines.push_back(fmt::format("kvscope {} · model {}: {} layers × {} KV heads{} · prompt of {} tokens, {} · runs follow {}", version,
                              s.model.name, s.model.n_layers, s.model.n_kv_heads, s.precision.empty() ? "" : ", " + s.precision,
                              format_count(s.n_prompt), s.prefill_mode ? "policies act once it is read" : "streamed token by token",
                              s.follow == "self" ? "their own text" : "the reference's text"));
  const LaneSnapshot* lane = lane_of(frame);
  const StepRecord* record = record_of(frame);
  if (lane != nullptr && record != nullptr) {
    lines.back() += fmt::format(" · step {} of {}", format_count(step_of(*lane, frame.selection)),
                                format_count(static_cast<std::int64_t>(lane->steps.size()) - 1));
  }
  std::string runs;
  for (std::size_t i = 0; i < s.lanes.size(); ++i) {
    runs += fmt::format("{}{}{} {}", runs.empty() ? "runs: " : " · ", static_cast<int>(i) == frame.selection.lane ? "shown " : "",
                        lane_letter(static_cast<int>(i)), s.lanes[i].spec);
    if (runs.size() > 150 && i + 1 < s.lanes.size()) {
      lines.push_back(runs + " ·");
      runs = "  ";
    }
  }
  if (runs.size() > 2) lines.push_back(runs);
  return lines;
}

std::vector<std::string> stamp_lines(std::span<const std::string> stamp, const std::function<bool(const std::string&)>& fits) {
  constexpr std::string_view kBetween = " · ";
  std::vector<std::string> lines;
  for (const std::string& whole : stamp) {
    std::string line;
    for (std::size_t at = 0; at <= whole.size();) {
      const std::size_t end = std::min(whole.find(kBetween, at), whole.size());
      const std::string fact = whole.substr(at, end - at);
      const std::string longer = line.empty() ? fact : line + std::string(kBetween) + fact;
      if (!line.empty() && !fits(longer)) {
        lines.push_back(line + " ·");
        line = "  " + fact;
      } else {
        line = longer;
      }
      at = end + kBetween.size();
    }
    lines.push_back(line);
  }
  return lines;
}

std::string to_csv(const Table& table) {
  std::string out;
  const auto line = [&out](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) out += ',';
      if (cells[i].find_first_of(",\"\n\r") == std::string::npos) {
        out += cells[i];
        continue;
      }
      out += '"';
      for (const char c : cells[i]) out += c == '"' ? "\"\"" : std::string(1, c);
      out += '"';
    }
    out += "\r\n";
  };
  line(table.columns);
  for (std::vector<std::string> row : table.rows) {
    for (std::string& cell : row) cell = plain_number(std::move(cell));
    line(row);
  }
  return out;
}

}  // namespace kvscope::viz
