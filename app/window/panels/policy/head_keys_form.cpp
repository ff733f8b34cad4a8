// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/policy/head_keys_form.h"

#include <algorithm>
#include <utility>

#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/window/panels/policy/policy_form_field.h"
#include "app/window/session/session_controller.h"
#include "app/window/session/workspace.h"
#include "app/window/shell/panel_paint.h"
#include "core/error.h"
#include "policy/catalog.h"
#include "policy/text/head_keys.h"
#include "viz/draw/format.h"

namespace kvscope {

namespace {

/// The value that a head has of a key; "": the run's.
std::string valueIn(const std::vector<HeadKey>& given, const std::string& key, int layer, int head) {
  std::string value;
  for (const HeadKey& k : given)
    if (k.key == key && k.has(layer, head)) value = k.value;
  return value;
}

}  // namespace

HeadKeysForm::HeadKeysForm(Workspace& workspace, SessionController& controller, QWidget* parent)
    : QWidget(parent),
      m_workspace(workspace),
      m_controller(controller),
      m_heading(new QLabel(this)),
      m_list(new QLabel(this)),
      m_grid(new QGridLayout),
      m_reset(new QToolButton(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 6, 0, 0);
  column->setSpacing(6);
  for (QLabel* label : {m_heading, m_list}) {
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
  }
  m_list->setObjectName("secondary");
  m_grid->setHorizontalSpacing(8);
  m_grid->setVerticalSpacing(6);
  m_grid->setColumnStretch(1, 1);
  m_grid->setColumnMinimumWidth(0, 56);
  m_reset->setText("As the run");
  m_reset->setToolTip("All heads take the run's values again");
  m_reset->setAccessibleName(m_reset->toolTip());
  column->addWidget(m_heading);
  column->addLayout(m_grid);
  auto* set = new QHBoxLayout;
  set->addWidget(m_list, 1);
  set->addWidget(m_reset, 0, Qt::AlignTop);
  column->addLayout(set);
  connect(m_reset, &QToolButton::clicked, this, &HeadKeysForm::resetAll);
  connect(&controller, &SessionController::requestChanged, this, &HeadKeysForm::refresh);
  connect(&workspace, &Workspace::selectionChanged, this, [this] {
    for (ParamEditor* editor : m_fields) editor->endTyping();
    refresh();
  });
  connect(&workspace, &Workspace::snapshotChanged, this, &HeadKeysForm::refresh);
  refresh();
}

const LaneSpec& HeadKeysForm::spec() const {
  static const LaneSpec none;
  const auto& lanes = m_controller.request().lanes;
  const int lane = m_workspace.selection().lane;
  return lane >= 1 && lane < static_cast<int>(lanes.size()) ? lanes[static_cast<std::size_t>(lane)] : none;
}

ParamEditor* HeadKeysForm::field(const std::string& key) const {
  const auto place = std::ranges::find(m_fields, key, [](const ParamEditor* f) { return f->info().key; });
  return place == m_fields.end() ? nullptr : *place;
}

QString HeadKeysForm::overriddenWords() const { return m_list->isHidden() ? QString() : m_list->text(); }

void HeadKeysForm::refresh() {
  if (m_refreshing) return;
  m_refreshing = true;
  const viz::Selection& s = m_workspace.selection();
  const auto head = selectedHead(m_workspace.snapshot(), s.layer, s.kv_head);
  std::vector<std::string> keys;
  std::vector<HeadKey> given;
  if (!spec().name.empty()) {  // a policy that this build does not know has nothing to set
    keys = head_keys_of(spec());
    given = given_head_keys(spec());
  }
  rebuildFields(keys);
  setVisible(!m_fields.empty());
  m_heading->setText(head ? "only in " + qs(viz::head_name(*s.layer, *s.kv_head)) : QString("only in one head: select it"));
  for (ParamEditor* editor : m_fields) {
    editor->show(head ? valueIn(given, editor->info().key, *s.layer, *s.kv_head) : std::string());
    editor->widget()->setEnabled(head.has_value());
  }
  QStringList set;
  for (const HeadKey& k : given) set << QString("%1: %2 %3").arg(qs(viz::head_name(k.layer, k.kv_head)), qs(k.key), qs(k.value));
  m_list->setText(set.join(" · "));
  m_list->setVisible(!set.isEmpty());
  m_reset->setVisible(!set.isEmpty());
  m_refreshing = false;
}

/// A field's default is the run's value: what the head has without one of its own.
void HeadKeysForm::rebuildFields(const std::vector<std::string>& keys) {
  std::vector<ParamInfo> wanted;
  std::string of;
  if (!keys.empty()) {
    const LaneSpec& parsed = spec();
    of = parsed.name;
    for (ParamInfo info : params_of(parsed)) {
      if (std::ranges::find(keys, info.key) == keys.end()) continue;
      for (const auto& [key, value] : parsed.given)
        if (key == info.key) info.default_text = value;
      of += " " + info.key + "=" + info.default_text;
      wanted.push_back(std::move(info));
    }
  }
  if (of == m_fields_of) return;
  m_fields_of = of;
  for (ParamEditor* editor : std::exchange(m_fields, {})) editor->takeAway();
  for (const ParamInfo& info : wanted) {
    auto* editor = new ParamEditor(info, this, *m_grid, ParamEditor::kRows * static_cast<int>(m_fields.size()));
    editor->widget()->setAccessibleName(qs(info.key) + " of the selected head alone");
    connect(editor, &ParamEditor::edited, this, [this, key = qs(info.key)](const QString& value) {
      if (!m_refreshing) set(key, value);
    });
    setTabOrder(m_fields.empty() ? m_reset : m_fields.back()->resetButton(), editor->widget());
    setTabOrder(editor->widget(), editor->resetButton());
    m_fields.push_back(editor);
  }
  if (!m_fields.empty()) setTabOrder(m_fields.back()->resetButton(), m_reset);
}

void HeadKeysForm::set(const QString& key, const QString& value) {
  const viz::Selection& s = m_workspace.selection();
  if (spec().name.empty() || !selectedHead(m_workspace.snapshot(), s.layer, s.kv_head)) return;
  const std::string name = key.toStdString(), place = head_key(name, *s.layer, *s.kv_head);
  try {
    LaneSpec wanted = with_param(spec(), place, value.toStdString());
    // In a layer that has a value of its own, a head is as the run again by having the run's written.
    if (const ParamEditor* editor = field(name);
        value.isEmpty() && editor && !valueIn(given_head_keys(wanted), name, *s.layer, *s.kv_head).empty())
      wanted = with_param(wanted, place, editor->info().default_text);
    send(wanted);
  } catch (const Error& error) {
    Q_EMIT m_controller.refused(QString::fromUtf8(error.what()));
  }
}

void HeadKeysForm::resetAll() {
  if (spec().name.empty()) return;
  LaneSpec wanted = spec();
  for (const HeadKey& k : given_head_keys(wanted)) wanted = with_param(wanted, head_key(k.key, k.layer, k.kv_head), {});
  send(wanted);
}

void HeadKeysForm::send(const LaneSpec& wanted) {
  if (wanted != spec()) m_controller.setLaneSpec(m_workspace.selection().lane, wanted);
}

}  // namespace kvscope
