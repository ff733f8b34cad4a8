// SPDX-License-Identifier: Apache-2.0
#include "app/window/lecture/lecture_entry.h"

#include "app/window/session/request_key.h"
#include "app/window/session/start_place.h"
#include "app/window/session/window_model.h"

namespace kvscope {

void LectureEntry::take() {
  m_left = m_pages.page();
  m_page = m_place.taken() ? m_left : Page::lecture;
  m_work = workKey(m_model.controller.request());
  m_selection.reset();
  if (m_place.taken()) m_selection = m_model.workspace.selection();
}

Page LectureEntry::left() const { return m_left == Page::welcome ? Page::inspect : m_left; }

void LectureEntry::comeBack() {
  m_pages.show(m_page == Page::welcome ? Page::inspect : m_page);
  if (m_selection && workKey(m_model.controller.request()) == m_work) m_model.workspace.setSelection(*m_selection);
}

}  // namespace kvscope
