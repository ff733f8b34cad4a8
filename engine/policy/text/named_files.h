// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/budget_curves.h"
#include "core/feature_maps.h"
#include "core/head_table.h"
#include "core/head_vectors.h"
#include "core/hidden_scorer.h"
#include "core/kept_file.h"
#include "policy/catalog.h"

namespace kvscope {

/// A file that a key of a run names. Policies are handed what is in it; it is read where they are made (runtime/model/run_files.h).
struct NamedFile {
  std::string key;
  std::string name;         // as given, or the model's own
  bool of_model = false;    // the model's folder is the only place to look
  bool may_lack = false;    // the key means something else where there is none
  std::string source = {};  // where one comes from: said where there is none
  FileHolds holds = FileHolds::numbers;
  bool operator==(const NamedFile&) const = default;
};

/// Those that the keys of a specification name. Throws UsageError.
std::vector<NamedFile> files_named_by(const LaneSpec& spec);

/// Numbers of heads by key; none of a file that may lack and does.
using HeadTables = std::map<std::string, std::shared_ptr<const HeadTable>, std::less<>>;

/// What is in the files of one specification. Equal: the very same contents.
struct GivenFiles {
  HeadTables heads = {};
  std::shared_ptr<const HeadVectors> vectors = {};
  std::shared_ptr<const FeatureMapsFile> maps = {};
  std::shared_ptr<const HiddenScorer> scorer = {};
  std::shared_ptr<const BudgetCurves> curves = {};
  std::shared_ptr<const KeptFile> kept = {};
  bool operator==(const GivenFiles&) const = default;
};

/// One number per (layer, column) of the table that `key` named: a list [n_layers][n_columns], or the entries "layer-column". Layer-major.
/// Throws UsageError: another shape, a value that is no finite number.
std::vector<double> head_numbers(const std::string& key, const HeadTable& table, int n_layers, int n_columns);

}  // namespace kvscope
