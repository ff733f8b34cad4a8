// SPDX-License-Identifier: Apache-2.0
#include "policy/text/named_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "policy/policy_pair.h"
#include "policy/policy_row.h"
#include "policy/text/params.h"

namespace kvscope {

namespace {

/// Of both. They look into one set of files, by key.
std::vector<NamedFile> files_of_pair(const PolicyPair& pair, const LaneSpec& spec) {
  std::vector<NamedFile> out = files_named_by(pair.prefill);
  for (NamedFile& file : files_named_by(pair.decode)) {
    const auto same = std::ranges::find(out, file.key, &NamedFile::key);
    if (same != out.end() && *same != file)
      throw UsageError(fmt::format("run {}: {}: expected one file for both policies, got {} and {}", quoted(spec.text), file.key,
                                   quoted(same->name), quoted(file.name)));
    if (same == out.end()) out.push_back(std::move(file));
  }
  return out;
}

}  // namespace

std::vector<NamedFile> files_named_by(const LaneSpec& spec) {
  if (const std::optional<PolicyPair> pair = pair_of(spec)) return files_of_pair(*pair, spec);
  const ResolvedLane lane = resolve_lane(spec);
  std::vector<NamedFile> out;
  for (const ParamInfo& p : lane.parts.params) {
    const std::string& value = lane.params.text(p.key);
    if (p.file_holds == FileHolds::kept) {
      if (value.empty())
        throw UsageError(fmt::format("run {}: {}: expected a file of kept tokens (kvscope.kept/1), got none", quoted(spec.text), p.key));
      out.push_back({.key = p.key, .name = value, .holds = FileHolds::kept});
    }
    if (p.file_of_model.empty() || value == p.without_file) continue;
    const bool of_model = value == kOfModel;
    out.push_back({.key = p.key,
                   .name = of_model ? p.file_of_model : value,
                   .of_model = of_model,
                   .may_lack = of_model && !p.without_file.empty(),
                   .source = p.file_source,
                   .holds = p.file_holds});
  }
  return out;
}

std::vector<double> head_numbers(const std::string& key, const HeadTable& table, int n_layers, int n_columns) {
  const auto refuse = [&](const std::string& got) {
    throw UsageError(
        fmt::format("{}: {}: expected numbers [{} layers][{} heads], got {}", key, quoted(table.path), n_layers, n_columns, got));
  };
  std::vector<double> out;
  switch (table.kind) {
    case HeadTable::Kind::list:
      if (table.rows.size() != static_cast<std::size_t>(n_layers)) refuse(fmt::format("{} rows", table.rows.size()));
      for (const auto& row : table.rows) {
        if (!row || row->size() != static_cast<std::size_t>(n_columns))
          refuse(row ? fmt::format("a row of {}", row->size()) : std::string("a row that is no list"));
        out.insert(out.end(), row->begin(), row->end());
      }
      break;
    case HeadTable::Kind::object:
      for (int l = 0; l < n_layers; ++l)
        for (int g = 0; g < n_columns; ++g) {
          const auto place = table.entries.find(fmt::format("{}-{}", l, g));
          if (place == table.entries.end()) refuse(fmt::format("no entry \"{}-{}\"", l, g));
          out.push_back(place->second);
        }
      if (table.entries.size() > out.size()) {
        const auto other = std::ranges::find_if(table.entries, [&](const auto& entry) {
          for (int l = 0; l < n_layers; ++l)
            for (int g = 0; g < n_columns; ++g)
              if (entry.first == fmt::format("{}-{}", l, g)) return false;
          return true;
        });
        refuse(fmt::format("{} entries, {} among them", table.entries.size(), quoted(other->first)));
      }
      break;
    case HeadTable::Kind::neither:
      refuse("neither a list nor an object");
  }
  for (std::size_t i = 0; i < out.size(); ++i)
    if (!std::isfinite(out[i]))
      refuse(fmt::format("no finite number in layer {}, head {}", i / static_cast<std::size_t>(n_columns),
                         i % static_cast<std::size_t>(n_columns)));
  return out;
}

}  // namespace kvscope
