// SPDX-License-Identifier: Apache-2.0
#include "trace/csv.h"

#include <cmath>
#include <vector>

#include "trace/json_text.h"
#include "trace/lane_summary.h"

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
      "policy,spec,slots,kl,nll,top1_same,local_rel_l2,local_l1_wo,attention_loss,bytes,tokens_per_s,theta,predictor_error,hidden_rel_l2\n";
  for (std::size_t l = 0; l < snapshot.lanes.size(); ++l) {
    const LaneSnapshot& lane = snapshot.lanes[l];
    const LaneSummary s = summarize(snapshot, l);
    out += csv_line(Row{lane.policy, lane.spec, cell(lane.slots), cell(s.kl), cell(s.nll), cell(s.top1_same), cell(s.local_rel_l2),
                        cell(s.local_l1_wo), cell(s.attention_loss), cell(lane.bytes), cell(s.tokens_per_s), cell(s.theta),
                        cell(s.predictor_error), cell(s.hidden_rel_l2)});
  }
  return out;
}

std::string steps_csv(const Snapshot& snapshot) {
  std::string out = "spec,step,position,next_token,nll,kl,top1_same,slots,events,local_rel_l2,attention_loss,theta,predictor_error";
  for (int l = 0; l < snapshot.model.n_layers; ++l) out += ",hidden_rel_l2_" + std::to_string(l);
  out += "\n";
  for (const LaneSnapshot& lane : snapshot.lanes) {
    for (const StepPtr& step : lane.steps) {
      double slots = 0, rel_l2 = 0, loss = 0, theta = 0, predictor = 0;
      std::size_t events = 0;
      for (const HeadRecord& head : step->heads) {
        slots += static_cast<double>(head.n_slots);
        rel_l2 += head.local_rel_l2;
        loss += head.attention_loss;
        theta += head.theta;
        predictor += head.predictor_error;
        events += head.events.size();
      }
      const double n = static_cast<double>(step->heads.size());  // 0 gives NaN: empty cells
      Row row{lane.spec,
              std::to_string(step->step),
              std::to_string(step->position),
              step->next_token < 0 ? "" : std::to_string(step->next_token),
              cell(step->nll),
              cell(step->kl),
              step->top1_same ? "true" : "false",
              cell(slots / n),
              n > 0 ? std::to_string(events) : "",
              cell(rel_l2 / n),
              cell(loss / n),
              cell(theta / n),
              cell(predictor / n)};
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
