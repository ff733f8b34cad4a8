// SPDX-License-Identifier: Apache-2.0
#include "app/window/look/spoken.h"

#include <QAbstractItemView>
#include <QAccessible>
#include <QAccessibleWidget>
#include <QComboBox>
#include <QLineEdit>
#include <QToolButton>

namespace kvscope {

namespace {

constexpr const char* kSpoken = "spoken";

class SpokenText : public QAccessibleWidget {
 public:
  explicit SpokenText(QWidget* text) : QAccessibleWidget(text, QAccessible::Notification) {}
  QString text(QAccessible::Text kind) const override {
    const QString words = QAccessibleWidget::text(kind);  // a tooltip may say nothing else
    return kind == QAccessible::Description && words == widget()->accessibleName() ? QString() : words;
  }
};

/// As Qt's own, but for the name.
class NamedList : public QAccessibleWidget {
 public:
  explicit NamedList(QComboBox* box) : QAccessibleWidget(box, QAccessible::ComboBox), m_box(box) {}

  QString text(QAccessible::Text kind) const override {
    if (kind == QAccessible::Value) return m_box->currentText();
    const QString label = m_box->accessibleName(), words = QAccessibleWidget::text(kind);
    if (kind == QAccessible::Description && words == label) return {};
    if (kind != QAccessible::Name) return words;
    return label.isEmpty() ? m_box->currentText() : label + ": " + m_box->currentText();
  }
  int childCount() const override { return m_box->isEditable() ? 2 : 1; }
  QAccessibleInterface* child(int i) const override {
    return i == 0                          ? QAccessible::queryAccessibleInterface(m_box->view())
           : i == 1 && m_box->isEditable() ? QAccessible::queryAccessibleInterface(m_box->lineEdit())
                                           : nullptr;
  }
  int indexOfChild(const QAccessibleInterface* part) const override {
    if (part->object() == m_box->view()) return 0;
    return m_box->isEditable() && part->object() == m_box->lineEdit() ? 1 : -1;
  }
  QAccessible::State state() const override {
    QAccessible::State out = QAccessibleWidget::state();
    out.expandable = out.hasPopup = true;
    out.expanded = m_box->view()->isVisible();
    out.editable = m_box->isEditable();
    return out;
  }
  QStringList actionNames() const override { return QStringList{showMenuAction(), pressAction()} + QAccessibleWidget::actionNames(); }
  void doAction(const QString& name) override {
    if (name != showMenuAction() && name != pressAction()) return QAccessibleWidget::doAction(name);
    m_box->view()->isVisible() ? m_box->hidePopup() : m_box->showPopup();
  }

 private:
  QComboBox* m_box;
};

QAccessibleInterface* interfaceOf(const QString& kind, QObject* object) {
  if (kind == "QComboBox")
    if (auto* box = qobject_cast<QComboBox*>(object)) return new NamedList(box);  // Qt's accessibility cache owns it
  auto* widget = qobject_cast<QWidget*>(object);
  return widget && widget->property(kSpoken).toBool() ? new SpokenText(widget) : nullptr;
}

}  // namespace

void nameLists() {
  static const bool installed = (QAccessible::installFactory(interfaceOf), true);
  (void)installed;
}

void offerClear(QLineEdit& field) {
  field.setClearButtonEnabled(true);
  for (QToolButton* button : field.findChildren<QToolButton*>()) button->setAccessibleName("Clear");
}

void setSpoken(QWidget& text) {
  nameLists();
  text.setProperty(kSpoken, true);
}

void speak(QWidget& text) {
  text.setProperty(kReadAloud, text.accessibleName());
  if (!QAccessible::isActive() || text.accessibleName().isEmpty()) return;
  QAccessibleEvent alert(&text, QAccessible::Alert);
  QAccessible::updateAccessibility(&alert);
  if (!text.isVisible()) return;
  QAccessibleEvent shown(&text, QAccessible::ObjectShow);
  QAccessible::updateAccessibility(&shown);
}

}  // namespace kvscope
