// SPDX-License-Identifier: Apache-2.0
#include "trace/csv.h"

#include <cmath>
#include <vector>

#include "snapshot/figures.h"
#include "trace/json_text.h"

namespace kvscope {

namespace {

using Row = std::vector<std::string>;

std::string cell(double value) { return std::isfinite(value) ? number_text(value) : ""; }

}  // namespace

std::string csv_line(std::span<const std::string> cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += ',';
    if (cells[i].find_first_of(",\"\r\n") == std::string::npos) {
      line += cells[i];
      continue;
    }
    line += '"';
    for (const char c : cells[i]) line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += '"';
  }
  return line + "\n";
}

std::string lanes_csv(const Snapshot& snapshot) {
  std::string out =
      "policy,spec,slots,kl,nll,top1_same,local_rel_l2,local_l1_wo,attention_loss,bytes,tokens_per_s,theta,predictor_error,hidden_rel_l2,"
      "kv_bytes\n";
  for (const LaneSnapshot& lane : snapshot.lanes) {
    const RunFigures f = run_figures(snapshot, lane);
    out += csv_line(Row{lane.policy, lane.spec, cell(f.slots), cell(f.kl.mean()), cell(f.nll.mean()), cell(f.top1_share()),
                        cell(f.local_rel_l2.mean()), cell(f.local_l1_wo.mean()), cell(f.attention_loss.mean()), cell(f.allocated),
                        cell(f.tokens_per_s()), cell(f.theta.mean()), cell(f.predictor_error.mean()), cell(f.hidden_rel_l2.mean()),
                        cell(f.bytes)});
  }
  return out;
}

std::string steps_csv(const Snapshot& snapshot) {
  std::string out = "spec,step,position,next_token,nll,kl,top1_same,slots,events,local_rel_l2,attention_loss,theta,predictor_error";
  for (int l = 0; l < snapshot.model.n_layers; ++l) out += ",hidden_rel_l2_" + std::to_string(l);
  out += "\n";
  for (const LaneSnapshot& lane : snapshot.lanes) {
    for (std::size_t i = 0; i < lane.steps.size(); ++i) {
      const StepPtr& step = lane.steps[i];
      const RunFigures f = run_figures(snapshot, lane, static_cast<int>(i), static_cast<int>(i));
      Row row{lane.spec,
              std::to_string(step->step),
              std::to_string(step->position),
              step->next_token < 0 ? "" : std::to_string(step->next_token),
              cell(step->nll),
              cell(step->kl),
              step->top1_same ? "true" : "false",
              cell(f.held.mean()),
              step->heads.empty() ? "" : std::to_string(f.evicted + f.merged + f.restored),
              cell(f.local_rel_l2.mean()),
              cell(f.attention_loss.mean()),
              cell(f.theta.mean()),
              cell(f.predictor_error.mean())};
      for (int l = 0; l < snapshot.model.n_layers; ++l) {
        row.push_back(static_cast<std::size_t>(l) < step->hidden_rel_l2.size() ? cell(step->hidden_rel_l2[static_cast<std::size_t>(l)])
                                                                               : "");
      }
      out += csv_line(row);
    }
  }
  return out;
}

}  // namespace kvscope
