// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "app/window/shell/pages.h"
#include "viz/selection.h"

namespace kvscope {

class StartPlace;
struct WindowModel;

/// Where the lecture was entered from: what a lesson with text and runs of its own puts aside is that, not what scenes about the user's
/// own text have led to since.
class LectureEntry {
 public:
  LectureEntry(WindowModel& model, Pages& pages, const StartPlace& place) : m_model(model), m_pages(pages), m_place(place) {}
  /// The lecture is about to be shown.
  void take();
  /// The page that was left for the lecture.
  Page left() const;
  /// To that page, where the lecture was not the first, and what was looked at there as far as text and runs are still the same.
  void comeBack();

 private:
  WindowModel& m_model;
  Pages& m_pages;
  const StartPlace& m_place;
  Page m_left = Page::inspect;
  Page m_page = Page::lecture;  // a session, or the start, may begin with it
  std::string m_work;           // text and runs
  std::optional<viz::Selection> m_selection;
};

}  // namespace kvscope
