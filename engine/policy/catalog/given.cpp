// SPDX-License-Identifier: Apache-2.0
#include "policy/catalog/keys.h"
#include "policy/catalog/parts.h"
#include "policy/catalog/rows.h"
#include "policy/selections/given_selection.h"

namespace kvscope {
namespace {

GivenRun run_of(const PartSetup& s) { return {s.files.kept, s.params.text("run")}; }

}  // namespace

std::vector<PolicyRow> given_rows() {
  std::vector<PolicyRow> rows;
  rows.push_back(
      {.info = {.name = "given",
                .title = "Given",
                .idea = "Keeps exactly what a file says: the decisions of another program, measured and shown like any run's.",
                .ranking = "none: the file names the positions that stay; its scores are shown where it has them",
                .merging = std::string(kEvicted),
                .params = {{.key = "file",
                            .kind = ParamInfo::Kind::text,
                            .help = "file of kept tokens (kvscope.kept/1, TRACE.md section 6), made with the same prompt",
                            .file_holds = FileHolds::kept},
                           {.key = "run", .kind = ParamInfo::Kind::text, .help = "name of the run in the file (default: the first)"}}},
       .ranking = by_nothing,
       .selection = [](const PartSetup& s) -> std::unique_ptr<Selection> { return std::make_unique<GivenSelection>(run_of(s)); },
       .allocation = [](const PartSetup& s) -> std::unique_ptr<Allocation> { return std::make_unique<GivenAllocation>(run_of(s)); },
       .merger = evict,
       .has_budget = false,
       .takes_group = false,
       .reads_attention = false,
       .from_file = true});
  return rows;
}

}  // namespace kvscope
