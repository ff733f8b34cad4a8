// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <QApplication>
#include <QTest>

#include "app/window/look/style.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "policy/catalog.h"
#include "viz/synthetic.h"

/// Failures show the text, not its code units.
inline void PrintTo(const QString& text, std::ostream* out) { *out << '"' << text.toStdString() << '"'; }

namespace kvscope {

/// A workspace with a synthetic run (6 x 4 heads, 167 + 12 tokens, lanes full, window, heavy, merging at 42 slots) and a session without a
/// model: requests change, nothing is computed.
class PanelTest : public ::testing::Test {
 protected:
  PanelTest() { applyTheme(*qApp, workspace.theme()); }

  /// Publishes the run and asks for the same prompt and lanes. No head is selected; lane 3 (merging) is.
  void publish(Snapshot snapshot) {
    RunRequest request;
    request.prompt = snapshot.prompt;
    for (const LaneSnapshot& lane : snapshot.lanes) request.lanes.push_back(lane_spec_of_result(lane.spec));
    controller.replaceRequest(request);
    workspace.setSnapshot(std::make_shared<const Snapshot>(std::move(snapshot)));
    viz::Selection selection;
    selection.lane = static_cast<int>(workspace.snapshot().lanes.size()) - 1;
    workspace.setSelection(selection);
  }
  void selectHead(int layer, int kvHead) {
    viz::Selection selection = workspace.selection();
    selection.layer = layer;
    selection.kv_head = kvHead;
    workspace.setSelection(selection);
  }
  void selectStep(int step) {
    viz::Selection selection = workspace.selection();
    selection.step = step;
    workspace.setSelection(selection);
  }
  static void show(QWidget& widget, int width, int height) {
    widget.resize(width, height);
    widget.show();
    QApplication::processEvents();
  }
  /// A prompt as given, one token per entry, after a token for the beginning.
  static Snapshot textOf(const std::vector<std::string>& pieces) {
    synthetic::Shape shape;
    shape.n_prompt = static_cast<int>(pieces.size()) + 1;
    shape.n_generated = 1;
    shape.slots = std::max(2, shape.n_prompt / 2);
    shape.sinks = 1;
    shape.recent = 1;
    Snapshot s = synthetic::make_snapshot(shape);
    s.prompt.clear();
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      TokenInfo& token = s.tokens[i + 1];
      token.bytes = pieces[i];
      token.text_begin = static_cast<int>(s.prompt.size());
      s.prompt += pieces[i];
      token.text_end = static_cast<int>(s.prompt.size());
    }
    return s;
  }
  /// Widgets that take the focus, but tell a screen reader nothing.
  static std::vector<std::string> unnamed(QWidget& root) {
    std::vector<std::string> found;
    for (const QWidget* w : root.findChildren<QWidget*>()) {
      if (w->focusPolicy() == Qt::NoFocus || !w->accessibleName().isEmpty() || w->objectName().startsWith("qt_") ||
          w->inherits("QComboBoxListView"))
        continue;
      const QWidget* parent = w->parentWidget();  // the inner line of a spin box speaks with its box
      if (parent && parent != &root && !parent->accessibleName().isEmpty() && parent->inherits("QAbstractSpinBox")) continue;
      if (!w->property("text").toString().isEmpty()) continue;  // a button or label reads itself
      found.push_back(std::string(w->metaObject()->className()) + " " + w->objectName().toStdString());
    }
    return found;
  }

  Workspace workspace;
  SessionController controller{workspace};
};

}  // namespace kvscope
