// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include <QPoint>
#include <QWidget>

#include "app/window/shell/panel_paint.h"
#include "snapshot/fates.h"

namespace kvscope {

class Workspace;

/// What the colours behind the text mean: the categories while one head is selected, the ramp for all heads.
class CategoryLegend : public QWidget {
  Q_OBJECT

 public:
  explicit CategoryLegend(Workspace& workspace, QWidget* parent = nullptr);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {120, sizeHint().height()}; }
  /// The words for text that was not read yet at the shown step, in its own ink; empty: all of the prompt was.
  QString unreadWords() const;
  QString wordOf(Category category) const;
  /// The one that a scene is about: it is underlined, and the others' swatches step back as they do in the pictures.
  std::optional<Category> lit() const;
  /// For an audience: as large as the text, however narrow.
  void setPlain() { m_plain = true; }

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  /// Where the swatches begin, and the words for unread text behind them.
  struct Entries {
    std::vector<QPoint> at;
    int lines = 1, after_swatch = 0;
    bool small = false;
  };
  Entries lay() const;
  Type type(bool small) const;

  Workspace& m_workspace;
  bool m_plain = false;
};

}  // namespace kvscope
