// SPDX-License-Identifier: Apache-2.0
#include "app/window/look/style.h"

#include <algorithm>

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QApplication>
#include <QDirIterator>
#include <QFontDatabase>
#include <QKeyEvent>
#include <QPalette>
#include <QPointer>
#include <QProxyStyle>
#include <QRegularExpression>
#include <QScreen>
#include <QStandardPaths>

#include "app/window/look/windows.h"

namespace kvscope {

namespace {

constexpr int kBodyType = 13;   // px: type of controls
constexpr int kListFrame = 28;  // px: border, padding and scroll bar of a list of choices
constexpr int kThinLine = 2;    // px: borders stay as thin as they are at every scale

QFont family(const QStringList& wanted, int px, bool bold) {
  QFont font;
  font.setFamilies(wanted);
  font.setPixelSize(px);
  font.setBold(bold);
  return font;
}

QString css(viz::Rgb c) { return toColor(c).name(); }

QString css(viz::Rgb c, double alpha) { return QString("rgba(%1,%2,%3,%4)").arg(c.r()).arg(c.g()).arg(c.b()).arg(alpha, 0, 'f', 3); }

// %name% is replaced by the colour of that name.
const char* const kSheet = R"(
* { outline: none; }
QWidget { color: %text%; selection-background-color: %accent30%; selection-color: %text%; }
QMainWindow, QDialog, #inspectArea { background: %window%; }
QToolTip { background: %raised%; color: %text%; border: 1px solid %line%; padding: 6px 8px; }
QMenuBar { background: %window%; border: none; padding: 0 0 0 4px; }
QMenuBar::item { background: transparent; padding: 5px 9px; border-radius: 4px; color: %secondary%; }
QMenuBar::item:selected, QMenuBar::item:pressed { background: %raised%; color: %text%; }
QMenu { background: %raised%; border: 1px solid %line%; padding: 4px; }
QMenu::item { padding: 5px 28px 5px 24px; border-radius: 4px; }
QMenu::item:selected { background: %hover%; }
QMenu::item:disabled { color: %disabled%; }
QMenu::separator { height: 1px; background: %line%; margin: 4px 6px; }
#passingWords { background: %raised%; color: %text%; border: 1px solid %accent%; border-radius: 5px; padding: 5px 9px; }
#menuRow { background: %window%; }
#toolRow { background: %panel%; border-top: 1px solid %line%; border-bottom: 1px solid %line%; }
#crumbRow { background: %window%; }
#crumbRow #facts { font-size: 12px; }
#toolRow #secondary { font-size: 12px; }
#crumbRow, #messageBar { border-bottom: 1px solid %line%; }
#messageBar { background: %raised%; border-left: 3px solid %changed%; }
#messageBar[news="true"] { border-left-color: %secondary%; }
#palette { background: %panel%; border: 1px solid %accent%; border-radius: 8px; }
#palette QTreeView::item { background: %panel%; min-height: 24px; padding: 0 8px; }
#palette QTreeView::item:selected { background: %hover%; color: %text%; }
#searchBar { background: %raised%; border-bottom: 1px solid %line%; }
#statusRow { background: %panel%; border-top: 1px solid %line%; }
#statusRow QLabel { color: %secondary%; font-size: 11px; }
#facts, #modelFacts, #secondary { color: %secondary%; }
#separator { background: %line%; }
QPushButton, QToolButton { background: %raised%; border: 1px solid %line%; border-radius: 5px; padding: 0 10px; min-height: 26px; }
QPushButton:hover, QToolButton:hover { background: %hover%; }
QPushButton:pressed, QToolButton:pressed, QToolButton:checked { background: %hover%; border-color: %accent%; }
QPushButton:disabled, QToolButton:disabled { color: %disabled%; }
QPushButton:focus, QToolButton:focus { border: 2px solid %text%; padding: 0 9px; min-height: 24px; }
QToolButton#flat, QPushButton#flat { background: transparent; border-color: transparent; color: %secondary%; }
QToolButton#flat:hover, QPushButton#flat:hover { background: %raised%; color: %text%; }
QToolButton#flat:focus, QPushButton#flat:focus { border-color: %text%; }
QToolButton#flat:checked { background: %raised%; border-color: %accent%; color: %text%; }
QToolButton#square { padding: 0; min-width: 26px; max-width: 26px; min-height: 26px; max-height: 26px; }
QToolButton#square:focus { min-width: 24px; max-width: 24px; min-height: 24px; max-height: 24px; }
QFileDialog QToolButton { padding: 0; min-width: 26px; max-width: 26px; min-height: 26px; max-height: 26px; }
QToolButton#header { background: transparent; border: 1px solid transparent; border-radius: 4px; padding: 0; min-width: 22px; max-width: 22px; min-height: 22px; max-height: 22px; }
QToolButton#header:hover { background: %raised%; }
QToolButton#header:focus { border: 2px solid %text%; min-width: 20px; max-width: 20px; min-height: 20px; max-height: 20px; }
QToolButton#headerText { background: transparent; border: 1px solid transparent; border-radius: 4px; padding: 0 6px; min-height: 22px; max-height: 22px; color: %secondary%; font-size: 12px; }
QToolButton#headerText:hover { background: %raised%; color: %text%; }
QToolButton#headerText[toggle="true"]:checked { background: %accent10%; border-color: %line%; color: %accent%; }
QToolButton#headerText[toggle="true"]:checked:disabled { background: transparent; border-color: transparent; color: %disabled%; }
QToolButton#headerText:focus { border: 2px solid %text%; padding: 0 5px; min-height: 20px; max-height: 20px; }
QPushButton#primary { background: %accent%; border-color: %accent%; color: %on_accent%; font-weight: bold; padding: 0 12px; }
QPushButton#primary:hover { background: %accentHover%; }
QPushButton#primary:focus { border: 2px solid %text%; padding: 0 11px; }
QPushButton#primary:disabled { background: %raised%; border-color: %line%; color: %disabled%; }
QPushButton#link { background: transparent; border: none; padding: 0; min-height: 0; color: %accent%; text-align: left; text-decoration: underline; }
QPushButton#link:focus { border-bottom: 2px solid %accent%; }
QPushButton#chip { border-radius: 4px; padding: 0 8px; min-height: 20px; max-height: 20px; font-size: 12px; }
QPushButton#chip[twoLines="true"] { min-height: 28px; max-height: 28px; font-size: 11px; }
QPushButton#chipActive { border-radius: 4px; padding: 0 8px; min-height: 20px; max-height: 20px; font-size: 12px; border-color: %accent%; color: %accent%; background: %accent10%; }
QPushButton#chipNow { border-radius: 4px; padding: 0 8px; min-height: 20px; max-height: 20px; font-size: 12px; font-weight: bold; border-color: %accent%; color: %on_accent%; background: %accent%; }
QPushButton#chip:focus, QPushButton#chipNow:focus, QPushButton#chipActive:focus { border: 2px solid %text%; padding: 0 7px; min-height: 18px; max-height: 18px; }
QPushButton#chip[twoLines="true"]:focus { min-height: 26px; max-height: 26px; }
QComboBox { combobox-popup: 0; background: %raised%; border: 1px solid %line%; border-radius: 4px; padding: 0 8px; min-height: 26px; }
QComboBox:hover { background: %hover%; }
QComboBox:focus, QComboBox:on { border-color: %accent%; }
QComboBox:disabled { color: %disabled%; }
QComboBox::drop-down { border: none; width: 22px; }
QComboBox::down-arrow { image: url(:/kvscope/chevron-%tone%.png); width: 12px; height: 12px; }
QComboBox#header { padding: 0 6px; min-height: 20px; font-size: 12px; }
QComboBox#header::drop-down { width: 18px; }
QComboBox QAbstractItemView { background: %raised%; border: 1px solid %line%; padding: 4px; selection-background-color: %hover%; selection-color: %text%; }
QComboBox QAbstractItemView::item { min-height: 22px; padding: 0 6px; }
QTabBar { qproperty-elideMode: ElideNone; }
QTabBar::tab { background: %window%; color: %secondary%; border: 1px solid %line%; border-top: none; padding: 3px 8px; font-size: 12px; }
QTabBar QToolButton { padding: 0; min-height: 16px; }
QTabBar::tab:selected { background: %panel%; color: %text%; }
QSpinBox, QDoubleSpinBox, QLineEdit { background: %raised%; border: 1px solid %line%; border-radius: 4px; padding: 0 6px; min-height: 26px; }
QLineEdit#header { min-height: 20px; max-height: 20px; font-size: 12px; }
QSpinBox:focus, QDoubleSpinBox:focus, QLineEdit:focus { border-color: %accent%; }
QLineEdit[refused="true"], QComboBox[refused="true"], QSpinBox[refused="true"], QDoubleSpinBox[refused="true"] { border-color: %changed%; }
#refusal { color: %changed%; }
QSpinBox:disabled, QDoubleSpinBox:disabled, QLineEdit:disabled { color: %disabled%; }
QSpinBox::up-button, QDoubleSpinBox::up-button { subcontrol-origin: border; subcontrol-position: top right; width: 18px; border: none; }
QSpinBox::down-button, QDoubleSpinBox::down-button { subcontrol-origin: border; subcontrol-position: bottom right; width: 18px; border: none; }
QSpinBox::up-arrow, QDoubleSpinBox::up-arrow { image: url(:/kvscope/chevron-up-%tone%.png); width: 9px; height: 9px; }
QSpinBox::down-arrow, QDoubleSpinBox::down-arrow { image: url(:/kvscope/chevron-%tone%.png); width: 9px; height: 9px; }
QSlider { min-height: 22px; }
QSlider::groove:horizontal { height: 4px; border-radius: 2px; background: %line%; }
QSlider::sub-page:horizontal { height: 4px; border-radius: 2px; background: %accent%; }
QSlider::handle:horizontal { width: 12px; height: 12px; margin: -6px 0; border-radius: 7px; border: 2px solid %accent%; background: %panel%; }
QSlider::handle:horizontal:hover, QSlider::handle:horizontal:focus { background: %accent%; }
QSlider::sub-page:horizontal:disabled { background: %line%; }
QSlider::handle:horizontal:disabled { border-color: %disabled%; }
QCheckBox, QRadioButton { border: 2px solid transparent; border-radius: 4px; padding: 1px 4px 1px 1px; }
QCheckBox:focus, QRadioButton:focus { border-color: %text%; }
QCheckBox::indicator, QRadioButton::indicator { width: 12px; height: 12px; border: 1px solid %secondary%; border-radius: 3px; background: %panel%; }
QRadioButton::indicator { border-radius: 7px; }
QCheckBox::indicator:checked { border-color: %accent%; background: %accent%; image: url(:/kvscope/check-%tone%.png); }
QRadioButton::indicator:checked { border: 4px solid %accent%; width: 6px; height: 6px; }
QCheckBox::indicator:disabled, QRadioButton::indicator:disabled { border-color: %disabled%; }
QCheckBox::indicator:checked:disabled { background: %disabled%; }
QRadioButton::indicator:checked:disabled { border-color: %disabled%; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: %line%; border-radius: 3px; margin: 2px; min-height: 24px; min-width: 24px; }
QScrollBar::handle:hover { background: %disabled%; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QTableView, QTreeView, QListView { background: %panel%; alternate-background-color: %window%; border: none; gridline-color: %line%; }
QHeaderView::section { background: %panel%; color: %secondary%; border: none; border-bottom: 1px solid %line%; padding: 3px 6px; font-size: 11px; }
QTableCornerButton::section { background: %panel%; border: none; }
QPlainTextEdit, QTextEdit, QTextBrowser { background: %panel%; border: none; }
QProgressBar { background: transparent; border: none; max-height: 2px; }
QProgressBar::chunk { background: %accent%; }
QProgressBar#loadingBar { background: %line%; max-height: 4px; border-radius: 2px; }
QScrollArea, QScrollArea > QWidget > QWidget { background: transparent; border: none; }
#panelHeader { background: %panel%; border: 1px solid %line%; border-top-left-radius: 6px; border-top-right-radius: 6px; }
#panelHeader[floating="true"] { background: %hover%; border-color: %secondary%; }
#panelBody { background: %panel%; border: 1px solid %line%; border-top: none; border-bottom-left-radius: 6px; border-bottom-right-radius: 6px; }
#panelBody[floating="true"] { border-color: %secondary%; }
#panelTitle { font-weight: bold; font-size: 12px; }
#panelHeader #facts { font-size: 12px; }
#lectureRow { background: %window%; border-bottom: 1px solid %line%; }
#lectureCaption { background: %panel%; border-top: 1px solid %line%; }
#lecturePanel { background: %panel%; border: 1px solid %line%; border-radius: 5px; }
#lecturePanel[marked="true"] { border-color: %accent%; }
#lectureTitle { font-size: 14px; font-weight: bold; }
#lectureFacts { font-size: 14px; color: %secondary%; }
#lectureFacts[marked="true"] { color: %accent%; }
#lecturePanel QPushButton#chipActive { font-size: 14px; }
#lectureRow QLabel, #lectureRow QComboBox, #lectureRow QPushButton, #lectureCaption QPushButton { font-size: 16px; }
#lectureSmall { font-size: 16px; color: %secondary%; }
QToolButton#lectureSmall { background: transparent; border: none; padding: 0 16px 0 0; text-align: left; }
QToolButton#lectureSmall:hover, QToolButton#lectureSmall:focus { color: %text%; }
QToolButton#lectureSmall::menu-indicator { subcontrol-position: right center; }
QToolButton#lectureButton { background: transparent; padding: 0; min-width: 24px; max-width: 24px; min-height: 24px; max-height: 24px; }
QToolButton#lectureButton:hover { background: %raised%; }
QToolButton#lectureButton:checked { background: %accent10%; border-color: %accent%; }
QToolButton#lectureButton::menu-indicator { image: none; width: 0; }
#card { background: %panel%; border: 1px solid %line%; border-radius: 8px; }
#card:hover { background: %raised%; border-color: %disabled%; }
#card:focus { border: 2px solid %accent%; }
#card:disabled { background: %window%; }
#cardTitle { font-size: 16px; font-weight: bold; background: transparent; }
#cardText { color: %secondary%; background: transparent; }
#cardTitle:disabled, #cardText:disabled { color: %disabled%; }
#tourBubble { background: %raised%; border: 1px solid %accent%; border-radius: 8px; }
#tourFrame { background: transparent; border: 2px solid %accent%; border-radius: 8px; }
QMainWindow::separator { background: %window%; width: 8px; height: 8px; }
QMainWindow::separator:hover { background: %line%; }
)";

/// Fusion with mnemonics underlined only while Alt asks for them, and lists of choices that are as wide as the longest of them.
class WindowStyle : public QProxyStyle {
 public:
  WindowStyle() : QProxyStyle("fusion") {}
  using QProxyStyle::polish;
  void polish(QWidget* widget) override {
    QProxyStyle::polish(widget);
    const auto is = [widget](auto... kinds) { return (widget->inherits(kinds) || ...); };
    if (is("QComboBoxPrivateContainer", "QDialog", "QDockWidget", "QPushButton", "QToolButton")) widget->installEventFilter(this);
  }
  bool eventFilter(QObject* watched, QEvent* event) override {
    if (event->type() == QEvent::KeyPress && qobject_cast<QAbstractButton*>(watched))
      return press(*static_cast<QWidget*>(watched), *static_cast<QKeyEvent*>(event));
    if (auto* shown = event->type() == QEvent::Show ? qobject_cast<QWidget*>(watched) : nullptr; shown && shown->isWindow())
      shown->inherits("QComboBoxPrivateContainer") ? widen(*shown) : keepOnScreen(*shown);
    return QProxyStyle::eventFilter(watched, event);
  }
  int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget, QStyleHintReturn* data) const override {
    if (hint == SH_Menu_Scrollable) return 1;  // not a second column where the screen is low
    return hint == SH_UnderlineShortcut ? 0 : QProxyStyle::styleHint(hint, option, widget, data);
  }

 private:
  /// Enter does to a button that has the keyboard what Space does, as on other desktops.
  static bool press(QWidget& button, const QKeyEvent& event) {
    const bool enter = event.key() == Qt::Key_Return || event.key() == Qt::Key_Enter;
    if (!enter || event.isAutoRepeat() || (event.modifiers() & ~Qt::KeypadModifier) != 0) return false;
    const QPointer<QWidget> still(&button);  // what it does may take it away
    for (const QEvent::Type type : {QEvent::KeyPress, QEvent::KeyRelease}) {
      QKeyEvent space(type, Qt::Key_Space, Qt::NoModifier, " ");
      if (still) QApplication::sendEvent(still, &space);
    }
    return true;
  }
  /// Qt makes the list of a box as wide as the box.
  static void widen(QWidget& popup) {
    const auto* list = popup.findChild<QAbstractItemView*>();
    if (!list) return;
    const QRect room = popup.screen()->availableGeometry();
    const int width = std::min(room.width(), list->sizeHintForColumn(0) + kListFrame);
    if (width <= popup.width()) return;
    popup.setGeometry(std::clamp(popup.x(), room.left(), room.right() - width + 1), popup.y(), width, popup.height());
  }
};

viz::Rgb between(viz::Rgb a, viz::Rgb b, double t) {
  const auto channel = [t](int x, int y) { return static_cast<std::uint32_t>(x + (y - x) * t + 0.5); };
  return {channel(a.r(), b.r()) << 16 | channel(a.g(), b.g()) << 8 | channel(a.b(), b.b())};
}

}  // namespace

QFont uiFont(int px, bool bold) { return family({"Noto Sans", "DejaVu Sans"}, px, bold); }

QFont monoFont(int px, bool bold) {
  QFont font = family({"Noto Sans Mono", "DejaVu Sans Mono", "Noto Color Emoji", "Noto Sans CJK SC", "Noto Sans"}, px, bold);
  font.setStyleHint(QFont::Monospace);
  return font;
}

QString findFontFile(const QString& file) {
  for (const QString& folder : QStandardPaths::standardLocations(QStandardPaths::FontsLocation)) {
    QDirIterator it(folder, {file}, QDir::Files, QDirIterator::Subdirectories | QDirIterator::FollowSymlinks);
    if (it.hasNext()) return it.next();
  }
  return {};
}

QString styleSheet(const viz::Theme& theme, double scale) {
  QString sheet = QString::fromUtf8(kSheet);
  const std::pair<const char*, QString> colours[] = {
      {"window", css(theme.window)},
      {"panel", css(theme.panel)},
      {"raised", css(theme.raised)},
      {"line", css(theme.line)},
      {"text", css(theme.text)},
      {"secondary", css(theme.secondary)},
      {"disabled", css(theme.disabled)},
      {"accent", css(theme.accent)},
      {"on_accent", css(theme.on_accent)},
      {"changed", css(theme.changed)},
      {"hover", css(between(theme.raised, theme.line, 0.6))},
      {"accentHover", css(between(theme.accent, theme.text, 0.15))},
      {"accent30", css(theme.accent, 0.30)},
      {"accent10", css(theme.accent, 0.10)},
      {"tone", theme.dark ? "dark" : "light"},
  };
  for (const auto& [name, value] : colours) sheet.replace(QString("%%1%").arg(name), value);
  if (scale == 1) return sheet;
  static const QRegularExpression kSize("(\\d+(?:\\.\\d+)?)px");
  // A font given to a widget does not reach the children that a style sheet dresses; one in the sheet does.
  QString scaled = QString("QWidget { font-size: %1px; }\n").arg(qRound(kBodyType * scale));
  qsizetype from = 0;
  for (auto it = kSize.globalMatch(sheet); it.hasNext();) {
    const QRegularExpressionMatch match = it.next();
    const double size = match.captured(1).toDouble();
    const qsizetype line = sheet.lastIndexOf('\n', match.capturedStart()) + 1;
    const bool thin = size <= kThinLine && !QStringView(sheet).mid(line).startsWith(u"QSlider::handle");  // which is round only as a whole
    scaled += sheet.mid(from, match.capturedStart() - from) + QString("%1px").arg(thin ? qRound(size) : qRound(size * scale));
    from = match.capturedEnd();
  }
  scaled += sheet.mid(from);
  return scaled.replace("/chevron-", "/large-chevron-").replace("/check-", "/large-check-");  // a picture is made smaller only
}

static void setPaletteAndFont(QApplication& app, const viz::Theme& theme) {
  if (!app.property("kvscopeStyle").toBool()) {
    app.setStyle(new WindowStyle);  // the application owns it
    app.setProperty("kvscopeStyle", true);
  }
  QPalette palette;
  const auto set = [&palette](QPalette::ColorRole role, viz::Rgb c) { palette.setColor(role, toColor(c)); };
  set(QPalette::Window, theme.window);
  set(QPalette::WindowText, theme.text);
  set(QPalette::Base, theme.panel);
  set(QPalette::AlternateBase, theme.window);
  set(QPalette::Text, theme.text);
  set(QPalette::Button, theme.raised);
  set(QPalette::ButtonText, theme.text);
  set(QPalette::BrightText, theme.changed);
  set(QPalette::ToolTipBase, theme.raised);
  set(QPalette::ToolTipText, theme.text);
  set(QPalette::PlaceholderText, theme.disabled);
  set(QPalette::Highlight, theme.accent);
  set(QPalette::HighlightedText, theme.on_accent);
  set(QPalette::Link, theme.accent);
  set(QPalette::Mid, theme.line);
  set(QPalette::Dark, theme.line);
  set(QPalette::Light, theme.raised);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    palette.setColor(QPalette::Disabled, role, toColor(theme.disabled));
  app.setPalette(palette);
  app.setFont(uiFont(kBodyType));
}

void beginTheme(QApplication& app, const viz::Theme& theme) {
  app.setStyleSheet({});
  setPaletteAndFont(app, theme);
}

void applyTheme(QApplication& app, const viz::Theme& theme) {
  const QString sheet = styleSheet(theme);
  if (app.styleSheet() == sheet) return;  // Qt would give every widget its style anew
  setPaletteAndFont(app, theme);
  app.setStyleSheet(sheet);
}

}  // namespace kvscope
