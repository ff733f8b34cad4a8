// SPDX-License-Identifier: Apache-2.0
#include "app/window/canvas/canvas_widget.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <QContextMenuEvent>
#include <QCoreApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWhatsThis>
#include <QWheelEvent>

#include "app/window/canvas/canvas_accessible.h"
#include "app/window/commands/commands.h"
#include "app/window/look/style.h"
#include "app/window/session/workspace.h"

namespace kvscope {

namespace {

constexpr int kSettlingFrames = 2;

Qt::CursorShape shapeOf(ImGuiMouseCursor cursor) {
  switch (cursor) {
    case ImGuiMouseCursor_ResizeNS:
      return Qt::SizeVerCursor;
    case ImGuiMouseCursor_ResizeEW:
      return Qt::SizeHorCursor;
    case ImGuiMouseCursor_Hand:
      return Qt::PointingHandCursor;
    case ImGuiMouseCursor_ResizeAll:
      return Qt::SizeAllCursor;
    default:
      return Qt::ArrowCursor;
  }
}

CanvasInput::Event eventAt(const QSinglePointEvent& event, CanvasInput::Event::Kind kind) {
  CanvasInput::Event result;
  result.kind = kind;
  result.at = ImVec2(static_cast<float>(event.position().x()), static_cast<float>(event.position().y()));
  result.shift = event.modifiers() & Qt::ShiftModifier;
  result.ctrl = event.modifiers() & Qt::ControlModifier;
  result.alt = event.modifiers() & Qt::AltModifier;
  return result;
}

}  // namespace

CanvasWidget::CanvasWidget(viz::View& view, Workspace& workspace, CanvasRenderer* renderer, QString reason, QWidget* parent)
    : QWidget(parent), m_view(view), m_workspace(workspace), m_renderer(renderer), m_reason(std::move(reason)) {
  nameCanvases();
  setObjectName(QString("canvas_") + view.id());
  setAttribute(Qt::WA_OpaquePaintEvent);
  setAttribute(Qt::WA_InputMethodEnabled, false);
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setAccessibleName(view.title());
  if (m_renderer) m_surface = std::make_unique<CanvasSurface>(*m_renderer);
  const auto redraw = [this] { drawFrames(1); };
  const auto refresh = [this] {
    drawFrames(1);
    Q_EMIT factsChanged();
    announce();
  };
  connect(&m_workspace, &Workspace::snapshotChanged, this, refresh);
  connect(&m_workspace, &Workspace::selectionChanged, this, refresh);
  connect(&m_workspace, &Workspace::hoverChanged, this, redraw);
  connect(&m_workspace, &Workspace::themeChanged, this, redraw);
  connect(&m_workspace, &Workspace::dimmedChanged, this, redraw);
  connect(&m_workspace, &Workspace::stepMarksChanged, this, redraw);
  connect(&m_workspace, &Workspace::waitingRunsChanged, this, redraw);
  connect(&m_workspace, &Workspace::teachingChanged, this, refresh);
  connect(&m_workspace, &Workspace::foundChanged, this, redraw);
  connect(&m_workspace, &Workspace::causesChanged, this, redraw);
}

CanvasWidget::~CanvasWidget() = default;

const CanvasSurface::Times& CanvasWidget::times() const {
  static const CanvasSurface::Times kNone;
  return m_surface ? m_surface->times() : kNone;
}

viz::Frame CanvasWidget::frame() const {
  viz::Frame frame;
  frame.snapshot = &m_workspace.snapshot();
  frame.selection = m_workspace.selection();
  frame.hover = m_workspace.hover();
  frame.step_marks = m_workspace.stepMarks();
  frame.waiting = m_workspace.waitingRuns();
  frame.found = m_workspace.found();
  frame.theme = &m_workspace.theme();
  frame.size = ImVec2(static_cast<float>(width()), static_cast<float>(height()));
  frame.has_focus = hasFocus() && m_by_key;
  frame.dim = m_workspace.dim();
  frame.scale = static_cast<float>(m_scale);
  frame.plain = m_plain;
  frame.emphasis = m_workspace.emphasis();
  frame.ghost_steps = m_workspace.ghostSteps();
  frame.causes = &m_workspace.causes();
  frame.edit_scope = m_workspace.editScope();
  if (m_renderer) {
    frame.fonts = m_renderer->fonts(devicePixelRatioF(), m_scale).fonts();
    frame.text = &m_renderer->text();
  }
  return frame;
}

void CanvasWidget::drawFrames(int frames) {
  m_to_draw = std::max(m_to_draw, frames);
  if (isVisible()) update();
}

void CanvasWidget::invalidate() { drawFrames(1); }

void CanvasWidget::choose(std::size_t option, int choice) {
  m_view.choose(option, choice);
  invalidate();
  Q_EMIT factsChanged();
}

void CanvasWidget::setLook(double scale, bool plain) {
  if (scale == m_scale && plain == m_plain) return;
  m_scale = scale;
  m_plain = plain;
  if (m_surface) m_surface->setTypeScale(scale);
  drawFrames(1);
}

void CanvasWidget::draw() {
  bool more = false;
  std::vector<viz::Intent> intents;
  m_picture = m_surface->frame(size(), devicePixelRatioF(), m_workspace.theme().panel, m_input, more,
                               [&](const viz::Fonts& fonts, viz::TextureStore& textures, viz::TextPainter& text) {
                                 viz::Frame now = frame();
                                 now.fonts = fonts;
                                 now.textures = &textures;
                                 now.text = &text;
                                 now.fine_marks = false;  // a reader of all of them asks for the scene
                                 m_view.draw(now, intents);
                               });
  ++m_frames_drawn;
  m_drawn_generation = m_workspace.snapshot().generation;
  setCursor(shapeOf(m_surface->cursor()));
  m_to_draw = std::max(m_to_draw - 1, 0);
  if (more) m_to_draw = std::max(m_to_draw, 1);
  // Some facts are known only once drawn (pixels a token). They, and answers, change other widgets; not from inside a paint event.
  QString now = facts();
  for (const viz::Option& option : m_view.options()) now += QString(" %1").arg(option.current);  // what the header's lists show
  if (now != m_drawn_facts) {
    m_drawn_facts = std::move(now);
    QMetaObject::invokeMethod(
        this, [this] { Q_EMIT factsChanged(); }, Qt::QueuedConnection);
  }
  if (!intents.empty())
    QMetaObject::invokeMethod(
        this, [this, intents] { handle(intents); }, Qt::QueuedConnection);
}

QImage CanvasWidget::still(qreal scale, viz::Scene* scene, const QSize& size, const viz::Theme& theme, bool alone) {
  const QImage picture = rendered(scale, scene, size, theme, alone);
  const int lacking = alone && m_surface ? static_cast<int>(std::ceil(m_view.lacking_height())) : 0;
  if (lacking <= 0) return picture;
  if (scene) *scene = {};
  return rendered(scale, scene, size + QSize(0, lacking), theme, alone);
}

QImage CanvasWidget::rendered(qreal scale, viz::Scene* scene, const QSize& size, const viz::Theme& theme, bool alone) {
  if (!m_surface) return {};
  bool more = false;
  CanvasInput nobody;
  std::vector<viz::Intent> ignored;
  const QImage picture = m_surface->frame(size, scale, theme.panel, nobody, more,
                                          [&](const viz::Fonts& fonts, viz::TextureStore& textures, viz::TextPainter& text) {
                                            viz::Scene unused;
                                            viz::SceneTextures kept(scene ? *scene : unused, &textures);
                                            viz::Frame now = frame();
                                            now.fonts = fonts;
                                            now.textures = &textures;
                                            now.text = &text;
                                            now.theme = &theme;
                                            now.size = ImVec2(static_cast<float>(size.width()), static_cast<float>(size.height()));
                                            now.hover = {};
                                            now.has_focus = false;
                                            now.dim = 0;
                                            now.alone = alone;
                                            if (scene) {
                                              now.scene = scene;
                                              now.textures = &kept;
                                              now.scene_textures = &kept;
                                            }
                                            m_view.draw(now, ignored);
                                          });
  invalidate();  // the mouse comes back
  return picture;
}

viz::Scene CanvasWidget::scene(bool alone) {
  viz::Scene scene;
  still(devicePixelRatioF(), &scene, size(), frameTheme(), alone);
  return scene;
}

const viz::Theme& CanvasWidget::frameTheme() const { return m_workspace.theme(); }

QImage CanvasWidget::picture(qreal scale, const QSize& size, const viz::Theme& theme) { return still(scale, nullptr, size, theme, true); }

void CanvasWidget::paintEvent(QPaintEvent*) {
  ++m_paints;
  const auto begin = std::chrono::steady_clock::now();
  QPainter painter(this);
  const viz::Theme& theme = m_workspace.theme();
  if (!m_surface) {
    painter.fillRect(rect(), toColor(theme.panel));
    painter.setPen(toColor(theme.secondary));
    painter.drawText(rect().adjusted(12, 12, -12, -12), Qt::AlignCenter | Qt::TextWordWrap, m_reason);
    return;
  }
  const QSize pixels = (QSizeF(size()) * devicePixelRatioF()).toSize();
  const bool drawn = m_to_draw > 0 || m_picture.size() != pixels;
  if (drawn) draw();
  if (m_picture.isNull())
    painter.fillRect(rect(), toColor(theme.panel));
  else
    painter.drawImage(QPoint(0, 0), m_picture);
  if (hasFocus() && m_by_key) {
    painter.setPen(QPen(toColor(theme.accent), 2));
    painter.drawRect(rect().adjusted(1, 1, -1, -1));
  }
  if (m_to_draw > 0) update();
  if (drawn) Q_EMIT painted(begin, m_surface->times().submit_ms);
}

void CanvasWidget::mouseButton(QMouseEvent* event, bool down) {
  const int button = event->button() == Qt::LeftButton     ? 0
                     : event->button() == Qt::RightButton  ? 1
                     : event->button() == Qt::MiddleButton ? 2
                                                           : -1;
  if (button < 0) {
    event->ignore();
    return;
  }
  CanvasInput::Event input = eventAt(*event, CanvasInput::Event::Kind::button);
  input.button = button;
  input.down = down;
  m_leaving = false;
  m_input.push(input);
  drawFrames(kSettlingFrames + 1);
}

void CanvasWidget::click(const QPoint& at) {
  for (const auto& [type, buttons] : {std::pair(QEvent::MouseMove, Qt::NoButton), std::pair(QEvent::MouseButtonPress, Qt::LeftButton),
                                      std::pair(QEvent::MouseButtonRelease, Qt::NoButton)}) {
    QMouseEvent event(type, at, mapToGlobal(at), type == QEvent::MouseMove ? Qt::NoButton : Qt::LeftButton, buttons, Qt::NoModifier);
    QCoreApplication::sendEvent(this, &event);
  }
}

void CanvasWidget::mouseMoveEvent(QMouseEvent* event) {
  m_leaving = false;
  m_mouse = event->position().toPoint();
  m_input.push(eventAt(*event, CanvasInput::Event::Kind::move));
  drawFrames(kSettlingFrames);
}

void CanvasWidget::mousePressEvent(QMouseEvent* event) {
  m_by_key = false;
  mouseButton(event, true);
}
void CanvasWidget::mouseReleaseEvent(QMouseEvent* event) { mouseButton(event, false); }
void CanvasWidget::mouseDoubleClickEvent(QMouseEvent* event) { mouseButton(event, true); }

void CanvasWidget::wheelEvent(QWheelEvent* event) {
  CanvasInput::Event input = eventAt(*event, CanvasInput::Event::Kind::wheel);
  input.dx = static_cast<float>(event->angleDelta().x()) / 120.f;
  input.dy = static_cast<float>(event->angleDelta().y()) / 120.f;
  m_input.push(input);
  drawFrames(kSettlingFrames + 1);
  event->accept();
}

void CanvasWidget::leaveEvent(QEvent* event) {
  if (!m_input.anyButtonDown()) {
    CanvasInput::Event input;
    input.kind = CanvasInput::Event::Kind::leave;
    m_input.push(input);
    m_leaving = true;
    m_tooltip.clear();
    m_workspace.setHover({});
    drawFrames(kSettlingFrames);
  }
  QWidget::leaveEvent(event);
}

void CanvasWidget::keyPressEvent(QKeyEvent* event) {
  if (!std::exchange(m_by_key, true)) drawFrames(1);
  const QString name = keyName(*event);
  if (!name.isEmpty() && takeKey(name.toStdString()))
    event->accept();
  else
    QWidget::keyPressEvent(event);
}

bool CanvasWidget::takeKey(const std::string& key) {
  if (!m_surface) return false;
  std::vector<viz::Intent> intents;
  {
    const ImGuiScope scope(m_surface->context());
    if (!m_view.key(frame(), key, intents)) return false;
  }
  drawFrames(kSettlingFrames);
  handle(intents);
  announce();
  return true;
}

void CanvasWidget::offer(const viz::OfferList& list) {
  auto* menu = new QMenu(this);
  menu->setAttribute(Qt::WA_DeleteOnClose);
  for (const viz::OfferList::Choice& choice : list.choices) {
    QAction* action = menu->addAction(asLabel(QString::fromStdString(choice.words)), this, [this, key = choice.key] { takeKey(key); });
    action->setCheckable(true);
    action->setChecked(menu->actions().size() - 1 == list.current);
    if (action->isChecked()) menu->setActiveAction(action);
  }
  m_input.reset();  // the menu takes the release of the button
  menu->popup(mapToGlobal(QPointF(list.x, list.y).toPoint()));
}

void CanvasWidget::contextMenuEvent(QContextMenuEvent* event) {
  m_input.reset();  // the menu takes the release of the button
  Q_EMIT contextMenuRequested(event->globalPos());
  event->accept();
}

void CanvasWidget::focusInEvent(QFocusEvent* event) {
  const Qt::FocusReason why = event->reason();
  if (why == Qt::TabFocusReason || why == Qt::BacktabFocusReason || why == Qt::ShortcutFocusReason) m_by_key = true;
  drawFrames(1);
  Q_EMIT focused();
  QWidget::focusInEvent(event);
}

void CanvasWidget::focusOutEvent(QFocusEvent* event) {
  // A tooltip or menu that opens must not cut a drag in two, anything else releases the buttons.
  if (event->reason() != Qt::PopupFocusReason) m_input.reset();
  drawFrames(1);
  QWidget::focusOutEvent(event);
}

void CanvasWidget::hideEvent(QHideEvent* event) {
  m_input.reset();
  for (viz::WantMeasure wanted : std::exchange(m_wanted, {})) {
    wanted.on = false;
    Q_EMIT measureWanted(wanted);
  }
  QWidget::hideEvent(event);
}

void CanvasWidget::changeEvent(QEvent* event) {
  if (event->type() == QEvent::EnabledChange || event->type() == QEvent::FontChange) drawFrames(1);
  QWidget::changeEvent(event);
}

bool CanvasWidget::event(QEvent* event) {
  if (event->type() == QEvent::QueryWhatsThis || event->type() == QEvent::WhatsThis) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const QString about = whatIsAt(help->pos());
    if (event->type() == QEvent::WhatsThis) QWhatsThis::showText(help->globalPos(), about, this);
    event->setAccepted(!about.isEmpty());
    return true;
  }
  if (event->type() == QEvent::ToolTip) {
    // Shown only when the mouse rests: tooltips that follow every move hide what they explain.
    const auto* help = static_cast<QHelpEvent*>(event);
    if (m_tooltip.isEmpty())
      QToolTip::hideText();
    else
      QToolTip::showText(help->globalPos() + QPoint(12, 12), m_tooltip, this);
    return true;
  }
  return QWidget::event(event);
}

void CanvasWidget::handle(const std::vector<viz::Intent>& intents) {
  for (const viz::Intent& intent : intents) handleOne(intent);
}

void CanvasWidget::handleOne(const viz::Intent& intent) {
  if (const auto* select = std::get_if<viz::Select>(&intent)) {
    m_workspace.setSelection(select->selection);
  } else if (const auto* hover = std::get_if<viz::HoverAt>(&intent)) {
    if (m_leaving) return;  // drawn before the mouse left
    m_workspace.setHover(hover->hover);
    QStringList lines;
    for (const std::string& line : hover->tooltip) lines << QString::fromStdString(line).toHtmlEscaped();
    QString text;
    if (!lines.isEmpty()) text = "<div style='white-space:pre'>" + lines.join("<br/>") + "</div>";
    if (text != m_tooltip && QToolTip::isVisible()) QToolTip::showText(mapToGlobal(m_mouse) + QPoint(12, 12), text, this);
    m_tooltip = text;
  } else if (const auto* step = std::get_if<viz::SetStep>(&intent)) {
    viz::Selection selection = m_workspace.selection();
    selection.step = step->step;
    m_workspace.setSelection(selection);
  } else if (std::get_if<viz::OpenInspector>(&intent)) {
    Q_EMIT openInspectorRequested();
  } else if (const auto* budget = std::get_if<viz::SetBudget>(&intent)) {
    Q_EMIT budgetRequested(budget->lane, budget->layer, budget->kv_head, budget->slots);
  } else if (const auto* remove = std::get_if<viz::RemoveLane>(&intent)) {
    Q_EMIT removeLaneRequested(remove->lane);
  } else if (const auto* cancel = std::get_if<viz::CancelRun>(&intent)) {
    Q_EMIT cancelRunRequested(cancel->id);
  } else if (const auto* list = std::get_if<viz::OfferList>(&intent)) {
    offer(*list);
  } else if (const auto* edit = std::get_if<viz::EditTokens>(&intent)) {
    Q_EMIT editRequested(edit->what);
  } else if (const auto* wanted = std::get_if<viz::WantMeasure>(&intent)) {
    std::erase_if(m_wanted, [&](const viz::WantMeasure& w) { return w.what == wanted->what; });
    using What = viz::WantMeasure::What;
    const bool stays = wanted->what == What::history || wanted->what == What::causes;  // whose runs were asked for and end by themselves
    if (wanted->on && !stays) m_wanted.push_back(*wanted);
    Q_EMIT measureWanted(*wanted);
  }
}

}  // namespace kvscope
