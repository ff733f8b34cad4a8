// SPDX-License-Identifier: Apache-2.0
#include "app/window/panels/policy/policy_presets.h"

#include <sstream>

#include <QInputDialog>
#include <QMenu>

#include "app/window/commands/commands.h"
#include "app/window/panels/policy/policy_form.h"
#include "app/window/session/kept_settings.h"
#include "app/window/session/session_controller.h"
#include "app/window/shell/panel_paint.h"
#include "core/assets.h"
#include "core/error.h"
#include "io/files.h"
#include "policy/catalog.h"

namespace kvscope {

namespace {

constexpr std::size_t kMostBytes = 1u << 16;
constexpr int kMostKept = 100;
const char* const kKey = "presets";
const char* const kBetween = " | ";

}  // namespace

QString builtInPresets() { return QString::fromStdString(asset("lanes/presets.txt")); }
QString builtInComparisons() { return QString::fromStdString(asset("lanes/comparisons.txt")); }

QList<Preset> readPresets(const QString& path) {
  QList<Preset> out;
  for (const Comparison& one : readComparisons(path)) out.push_back({one.name, one.specs.join(kBetween)});
  return out;
}

QList<Comparison> readComparisons(const QString& path) {
  QList<Comparison> out;
  std::istringstream lines(read_text(path.toStdString(), kMostBytes));
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const std::size_t colon = line.find(": ");
    const std::string where = path.toStdString() + ":" + std::to_string(number);
    if (colon == 0 || colon == std::string::npos)
      throw Error(where + ": expected \"name: specification\", got \"" + line.substr(0, 80) + "\"");
    out.push_back({qs(line.substr(0, colon)), qs(line.substr(colon + 2)).split(kBetween)});
    for (const QString& spec : out.back().specs) {
      try {
        parse_lane_spec(spec.toStdString());
      } catch (const Error& error) {
        throw Error(where + ": " + error.what());
      }
    }
  }
  return out;
}

PresetButton::PresetButton(SessionController& controller, PolicyForm& form, QWidget* parent)
    : QToolButton(parent), m_controller(controller), m_form(form), m_menu(new QMenu(this)) {
  setObjectName("headerText");
  setText("Presets ▾");
  setAccessibleName("presets of the policy");
  setToolTip("Settings by name for the selected run; keep your own");
  setToolButtonStyle(Qt::ToolButtonTextOnly);
  try {
    m_shipped = readPresets(builtInPresets());
  } catch (const Error& error) {
    m_problem = QString::fromUtf8(error.what());
  }
  connect(m_menu, &QMenu::aboutToShow, this, &PresetButton::fill);
  connect(this, &QToolButton::clicked, this, [this] { m_menu->popup(mapToGlobal(QPoint(0, height()))); });
}

void PresetButton::setSettings(KeptSettings* settings) {
  m_settings = settings;
  m_kept.clear();
  if (!settings) return;
  const int n = std::min(settings->beginReadArray(kKey), kMostKept);
  for (int i = 0; i < n; ++i) {
    settings->setArrayIndex(i);
    Preset preset{settings->value("name").toString(), settings->value("spec").toString()};
    try {
      parse_lane_spec(preset.spec.toStdString());
      if (!preset.name.isEmpty()) m_kept.push_back(std::move(preset));
    } catch (const Error&) {  // of another version, or damaged: the others hold
    }
  }
  settings->endArray();
}

void PresetButton::fill() {
  m_menu->clear();
  const std::string now = m_form.spec().text;
  const QString view_only = m_controller.whyViewOnly();
  const bool can = m_form.lane() > 0 && !now.empty() && view_only.isEmpty();
  const auto add = [&](const Preset& preset) {
    QAction* action = m_menu->addAction(asLabel(preset.name) + '\t' + preset.spec, this, [this, spec = preset.spec] { apply(spec); });
    action->setCheckable(true);
    action->setChecked(preset.spec.toStdString() == now);
    action->setEnabled(can);
  };
  if (!can)
    m_menu->addAction(view_only.isEmpty() ? QString("The reference keeps everything: select another run") : view_only)->setEnabled(false);
  if (!m_problem.isEmpty()) m_menu->addAction(m_problem)->setEnabled(false);
  for (const Preset& preset : m_shipped) add(preset);
  if (!m_kept.isEmpty()) m_menu->addSection("Yours");
  for (const Preset& preset : m_kept) add(preset);
  m_menu->addSeparator();
  m_menu->addAction("Keep these settings…", this, &PresetButton::ask)->setEnabled(can);
  QMenu* forget_menu = m_menu->addMenu("Forget");
  forget_menu->setEnabled(!m_kept.isEmpty());
  for (const Preset& preset : m_kept) forget_menu->addAction(asLabel(preset.name), this, [this, name = preset.name] { forget(name); });
}

void PresetButton::ask() {
  bool accepted = false;
  const QString name =
      QInputDialog::getText(window(), "Keep these settings", "Name of " + qs(m_form.spec().text), QLineEdit::Normal, {}, &accepted);
  if (accepted) keep(name);
}

void PresetButton::apply(const QString& spec) {
  if (m_form.lane() > 0) m_controller.setLaneSpec(m_form.lane(), spec);
}

void PresetButton::keep(const QString& name) {
  const QString spec = qs(m_form.spec().text).section('@', 0, 0);
  const QString plain = name.simplified().left(80);
  if (plain.isEmpty() || spec.isEmpty() || m_form.lane() < 1) return;
  m_kept.removeIf([&](const Preset& p) { return p.name == plain; });
  m_kept.push_back({plain, spec});
  write(QString("the preset «%1»").arg(plain));
}

void PresetButton::forget(const QString& name) {
  m_kept.removeIf([&](const Preset& p) { return p.name == name; });
  write(QString("that the preset «%1» is forgotten").arg(name));
}

void PresetButton::write(const QString& what) {
  if (!m_settings) return;
  m_settings->remove(kKey);
  m_settings->beginWriteArray(kKey, static_cast<int>(m_kept.size()));
  for (int i = 0; i < m_kept.size(); ++i) {
    m_settings->setArrayIndex(i);
    m_settings->setValue("name", m_kept[i].name);
    m_settings->setValue("spec", m_kept[i].spec);
  }
  m_settings->endArray();
  m_settings->keepNow(what);
}

}  // namespace kvscope
