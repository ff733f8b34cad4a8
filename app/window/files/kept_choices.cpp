// SPDX-License-Identifier: Apache-2.0
#include "app/window/files/kept_choices.h"

#include <algorithm>
#include <utility>

#include "app/window/canvas/canvas_widget.h"
#include "app/window/canvas/canvases.h"
#include "app/window/session/hand/hand_edits.h"
#include "app/window/session/start_place.h"
#include "app/window/shell/panel_paint.h"

namespace kvscope {

namespace {

/// Calls use(canvas, place among its options, option) for every choice that a session keeps.
template <typename F>
void forKeptChoices(const Canvases& canvases, F use) {
  for (CanvasWidget* canvas : canvases.all()) {
    const std::vector<viz::Option> options = canvas->view().options();
    for (std::size_t i = 0; i < options.size(); ++i)
      if (options[i].kept) use(*canvas, i, options[i]);
  }
}

constexpr const char *kWhatIf = "what_if", *kHold = "edits hold in";
constexpr std::pair<HandEdits::Scope, const char*> kScopes[] = {{HandEdits::Scope::head, "selected head"},
                                                                {HandEdits::Scope::layer, "all heads of its layer"}};

void restoreScope(const std::vector<ViewChoice>& kept, HandEdits& edits) {
  HandEdits::Scope scope = HandEdits::Scope::all;
  for (const auto& [of, words] : kScopes)
    if (std::ranges::find(kept, ViewChoice{kWhatIf, kHold, words}) != kept.end()) scope = of;
  edits.setScope(scope);
}

}  // namespace

std::vector<ViewChoice> keptChoices(const Canvases& canvases, const HandEdits& edits) {
  std::vector<ViewChoice> out;
  for (const auto& [scope, words] : kScopes)
    if (edits.scope() == scope) out.push_back({kWhatIf, kHold, words});
  forKeptChoices(canvases, [&](CanvasWidget& canvas, std::size_t, const viz::Option& option) {
    if (option.current > 0)
      out.push_back({canvas.view().id(), qs(option.name), qs(option.choices[static_cast<std::size_t>(option.current)])});
  });
  return out;
}

void restoreChoices(const Canvases& canvases, const std::vector<ViewChoice>& kept) {
  forKeptChoices(canvases, [&](CanvasWidget& canvas, std::size_t place, const viz::Option& option) {
    int wanted = 0;
    for (const ViewChoice& of : kept) {
      const auto choice = std::ranges::find(option.choices, of.choice.toStdString());
      const bool meant = of.view == canvas.view().id() && of.option == qs(option.name);
      if (meant && choice != option.choices.end()) wanted = static_cast<int>(choice - option.choices.begin());
    }
    canvas.choose(place, wanted);
  });
}

void restoreChoices(const Canvases& canvases, const std::vector<ViewChoice>& kept, const StartPlace& place, HandEdits& edits) {
  restoreChoices(canvases, kept);
  restoreScope(kept, edits);
  QObject::connect(
      &place, &StartPlace::reached, &canvases.main(), [&canvases, kept] { restoreChoices(canvases, kept); }, Qt::SingleShotConnection);
}

}  // namespace kvscope
