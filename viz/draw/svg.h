// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "viz/canvas.h"
#include "viz/draw/scene.h"

namespace kvscope::viz {

/// A canvas on the page of an exported picture.
struct PicturePart {
  const Scene* scene = nullptr;
  ImVec2 at;                 // of its top left corner
  std::string title, facts;  // printed above it, in a line of kPictureTitle pixels
};
inline constexpr float kPictureTitle = 30;
/// Height of one line of the settings below a picture.
inline constexpr float kPictureStampLine = 16;

/// What a picture was made of, as lines of text: program and version, model, prompt, step, shown run, all runs.
std::vector<std::string> picture_stamp(const Frame& frame, std::string_view version);
/// The same in lines that fit: each is broken between its facts, where `fits` says that what it is given does not. A fact is never cut.
std::vector<std::string> stamp_lines(std::span<const std::string> stamp, const std::function<bool(const std::string&)>& fits);

/// Standalone SVG 1.1: shapes and real text, cells as paths, titles above the parts and the stamp below all of them.
std::string to_svg(std::span<const PicturePart> parts, const Theme& theme, std::span<const std::string> stamp);

/// Text for XML content and attributes: reserved characters escaped, what XML 1.0 cannot hold (controls, broken UTF-8, U+FFFE) as U+FFFD.
std::string xml_text(std::string_view utf8);

/// RFC 4180 with a header line and numbers as programs read them, as the command line writes it; what the note says is for who looks at the
/// table.
std::string to_csv(const Table& table);

}  // namespace kvscope::viz
