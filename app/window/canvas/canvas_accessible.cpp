// SPDX-License-Identifier: Apache-2.0
#include "app/window/canvas/canvas_accessible.h"

#include <vector>

#include <QAccessible>
#include <QAccessibleWidget>
#include <QPointer>
#include <QWindow>

#include "app/window/canvas/canvas_widget.h"

namespace kvscope {

namespace {

/// The buttons among the marks of the last frame.
std::vector<const viz::Mark*> buttonsOf(const CanvasWidget& canvas) {
  std::vector<const viz::Mark*> out;
  for (const viz::Mark& mark : canvas.view().marks())
    if (mark.kind == "button") out.push_back(&mark);
  return out;
}

/// One of them, by its number: frames come and go, and their marks with them.
class CanvasButton final : public QAccessibleInterface, public QAccessibleActionInterface {
 public:
  CanvasButton(CanvasWidget* canvas, int number) : m_canvas(canvas), m_number(number) {}
  int number() const { return m_number; }
  bool isValid() const override { return m_canvas && mark() != nullptr; }
  QObject* object() const override { return nullptr; }
  QWindow* window() const override { return m_canvas ? m_canvas->window()->windowHandle() : nullptr; }
  QAccessibleInterface* parent() const override { return QAccessible::queryAccessibleInterface(m_canvas); }
  QAccessibleInterface* child(int) const override { return nullptr; }
  QAccessibleInterface* childAt(int, int) const override { return nullptr; }
  int childCount() const override { return 0; }
  int indexOfChild(const QAccessibleInterface*) const override { return -1; }
  QString text(QAccessible::Text kind) const override {
    const viz::Mark* const of = mark();
    return of && kind == QAccessible::Name ? QString::fromStdString(of->value.empty() ? of->label : of->value) : QString();
  }
  void setText(QAccessible::Text, const QString&) override {}
  QRect rect() const override {
    const viz::Mark* const of = mark();
    if (!of) return {};
    const QRect here = QRectF(QPointF(of->min.x, of->min.y), QPointF(of->max.x, of->max.y)).toRect();
    return {m_canvas->mapToGlobal(here.topLeft()), here.size()};
  }
  QAccessible::Role role() const override { return QAccessible::Button; }
  QAccessible::State state() const override {
    QAccessible::State out;
    out.invisible = !m_canvas || !m_canvas->isVisible();
    return out;
  }
  void* interface_cast(QAccessible::InterfaceType type) override {
    return type == QAccessible::ActionInterface ? static_cast<QAccessibleActionInterface*>(this) : nullptr;
  }
  QStringList actionNames() const override { return {pressAction()}; }
  void doAction(const QString& name) override {
    if (name == pressAction() && isValid()) m_canvas->click(m_canvas->mapFromGlobal(rect().center()));
  }
  QStringList keyBindingsForAction(const QString&) const override { return {}; }

 private:
  const viz::Mark* mark() const {
    const std::vector<const viz::Mark*> all = m_canvas ? buttonsOf(*m_canvas) : std::vector<const viz::Mark*>();
    return m_number < static_cast<int>(all.size()) ? all[static_cast<std::size_t>(m_number)] : nullptr;
  }
  QPointer<CanvasWidget> m_canvas;
  int m_number;
};

/// The cell under the keyboard cursor, spoken as the canvas's value; it begins the description, too, since AT-SPI hands on only values that
/// are numbers. Behind it what the whole picture shows.
class CanvasAccessible : public QAccessibleWidget {
 public:
  explicit CanvasAccessible(CanvasWidget* canvas) : QAccessibleWidget(canvas, QAccessible::Canvas), m_canvas(canvas) {}
  ~CanvasAccessible() override {
    for (const QAccessible::Id id : m_buttons) QAccessible::deleteAccessibleInterface(id);
  }
  int childCount() const override { return static_cast<int>(buttonsOf(*m_canvas).size()); }
  QAccessibleInterface* child(int number) const override {
    if (number < 0 || number >= childCount()) return nullptr;
    while (static_cast<int>(m_buttons.size()) <= number)
      m_buttons.push_back(QAccessible::registerAccessibleInterface(new CanvasButton(m_canvas, static_cast<int>(m_buttons.size()))));
    return QAccessible::accessibleInterface(m_buttons[static_cast<std::size_t>(number)]);
  }
  int indexOfChild(const QAccessibleInterface* of) const override {
    const auto* const button = dynamic_cast<const CanvasButton*>(of);
    return button ? button->number() : -1;
  }
  QAccessibleInterface* childAt(int x, int y) const override {
    for (int i = 0; i < childCount(); ++i)
      if (child(i)->rect().contains(x, y)) return child(i);
    return nullptr;
  }
  QString text(QAccessible::Text kind) const override {
    return kind == QAccessible::Value         ? m_canvas->cursorText()
           : kind == QAccessible::Description ? m_canvas->description()
                                              : QAccessibleWidget::text(kind);
  }

 private:
  CanvasWidget* m_canvas;
  mutable std::vector<QAccessible::Id> m_buttons;  // Qt's accessibility cache owns them
};

QAccessibleInterface* accessibleOf(const QString&, QObject* object) {
  auto* canvas = qobject_cast<CanvasWidget*>(object);
  return canvas ? new CanvasAccessible(canvas) : nullptr;  // Qt's accessibility cache owns it
}

}  // namespace

void nameCanvases() {
  static const bool installed = (QAccessible::installFactory(accessibleOf), true);
  (void)installed;
}

}  // namespace kvscope
