// SPDX-License-Identifier: Apache-2.0
// The models that lie on this machine. Of weights only headers are read.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <filesystem>

#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/progress.h"
#include "app/cli/table.h"
#include "core/error.h"
#include "found/list_models.h"
#include "found/usual_places.h"
#include "io/terminal_text.h"
#include "snapshot/number_text.h"

namespace kvscope::cli {

namespace {

using Json = nlohmann::ordered_json;

Json or_null(double bytes) { return std::isnan(bytes) ? Json(nullptr) : Json(static_cast<std::int64_t>(bytes)); }

Json models_json(const Arguments& a, const std::vector<ModelPlace>& places, const std::vector<FoundModel>& models) {
  Json list = Json::array(), looked_in = Json::array();
  for (const ModelPlace& place : places) looked_in.push_back({{"found_in", place.label}, {"path", place.path}});
  for (const FoundModel& m : models) {
    Json bytes = Json::object();
    for (std::size_t i = 0; i < kFoundContexts.size(); ++i) bytes[std::to_string(kFoundContexts[i])] = or_null(m.run_bytes[i]);
    list.push_back({{"name", m.name},
                    {"found_in", m.place},
                    {"path", m.path},
                    {"family", m.family.empty() ? Json(nullptr) : Json(m.family)},
                    {"numbers", m.numbers.empty() ? Json(nullptr) : Json(m.numbers)},
                    {"disk_bytes", or_null(m.disk_bytes)},
                    {"weight_bytes", or_null(m.weight_bytes)},
                    {"max_positions", m.max_positions > 0 ? Json(m.max_positions) : Json(nullptr)},
                    {"bytes_at", std::move(bytes)},
                    {"opens", m.opens()},
                    {"problem", m.opens() ? Json(nullptr) : Json(m.problem)}});
  }
  return {{"schema", "kvscope.models/1"}, {"precision", name_of(a.precision)}, {"looked_in", looked_in}, {"models", list}};
}

std::string size_or_dash(double bytes) { return std::isnan(bytes) || bytes <= 0 ? "–" : format_bytes(bytes); }

/// A row of the table with the path on a line of its own: the words after --model.
std::string opening_text(const std::vector<const FoundModel*>& models, DType precision) {
  std::vector<std::vector<std::string>> rows = {{"model", "found in", "family", "weights", "on disk", "2K", "8K", "32K"}};
  for (const FoundModel* m : models) {
    rows.push_back({m->name, m->place, m->family, m->numbers, size_or_dash(m->disk_bytes)});
    for (const double bytes : m->run_bytes) rows.back().push_back(size_or_dash(bytes));
  }
  const std::string table = aligned(rows, 4);
  std::string out;
  std::size_t from = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t to = table.find('\n', from) + 1;
    out += table.substr(from, to - from);
    if (i > 0) out += fmt::format("  {}\n", models[i - 1]->path);
    from = to;
  }
  return out +
         fmt::format("2K, 8K, 32K: memory of the weights and the full cache ({}) after so many tokens; –: the model was made for fewer\n",
                     name_of(precision));
}

std::string models_text(const Arguments& a, const std::vector<ModelPlace>& places, const std::vector<FoundModel>& models) {
  std::vector<const FoundModel*> opening;
  std::string others;
  int n_others = 0;
  for (const FoundModel& m : models) {
    if (m.opens()) {
      opening.push_back(&m);
      continue;
    }
    ++n_others;
    std::string facts = m.place;
    for (const std::string& fact : {m.family, m.numbers, m.disk_bytes > 0 ? format_bytes(m.disk_bytes) : std::string()})
      if (!fact.empty()) facts += ", " + fact;
    others += fmt::format("  {} ({})\n    {}\n", m.name, facts, m.problem);
  }
  std::string out = opening.empty() ? "" : opening_text(opening, a.precision);
  if (n_others > 0)
    out += fmt::format("{}{} {} not open:\n{}", out.empty() ? "" : "\n", n_others, n_others == 1 ? "model does" : "models do", others);
  std::vector<std::string> paths;
  for (const ModelPlace& place : places) paths.push_back(place.path);
  return out + fmt::format("{} {}; --dir DIR looks into another folder, and what was opened before is in the window's list\n",
                           models.empty() ? "no model found in" : "\nlooked in", fmt::join(paths, ", "));
}

}  // namespace

int models(const Arguments& a) {
  std::vector<ModelPlace> places;
  for (const std::string& folder : a.folders) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(folder, ignored))
      throw UsageError(fmt::format("models: --dir: expected a folder, got {}, which is {}", folder,
                                   std::filesystem::exists(folder, ignored) ? "none" : "not there"));
    std::error_code gone;  // of the working directory
    const std::filesystem::path path = std::filesystem::absolute(folder, gone);
    if (gone) throw UsageError(fmt::format("--dir {}: the working directory is no more; expected a folder from / on", folder));
    places.push_back({"folder", path.lexically_normal().string()});
  }
  for (ModelPlace& place : usual_places()) places.push_back(std::move(place));
  const Interrupt interrupt;
  std::vector<FoundModel> found;
  {
    Progress progress(a.quiet);
    ListOptions options;
    options.precision = a.precision;
    options.cancel = &interrupt.token();
    options.on_model = [&](const FoundModel& model, std::size_t done, std::size_t all) {
      progress.show(for_terminal(model.name), static_cast<double>(done) / static_cast<double>(all));
    };
    found = list_models(places, options);
  }
  return print(a.json ? models_json(a, places, found).dump(1, ' ', false, Json::error_handler_t::replace) + "\n"
                      : for_terminal(models_text(a, places, found)));
}

}  // namespace kvscope::cli
