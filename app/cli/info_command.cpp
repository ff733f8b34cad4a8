// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <numeric>
#include <optional>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "app/cli/commands.h"
#include "app/cli/inputs.h"
#include "app/cli/table.h"
#include "backend/backend.h"
#include "core/cache_bytes.h"
#include "core/error.h"
#include "policy/catalog.h"
#include "policy/lowest_goes.h"
#include "policy/policy.h"
#include "policy/policy_words.h"
#include "runtime/model/devices.h"
#include "snapshot/number_text.h"

namespace kvscope::cli {

namespace {

using Json = nlohmann::ordered_json;

const char* kind_name(ParamInfo::Kind kind) {
  switch (kind) {
    case ParamInfo::Kind::count_or_fraction:
      return "count or fraction of the budget";
    case ParamInfo::Kind::count:
      return "count";
    case ParamInfo::Kind::number:
      return "number";
    case ParamInfo::Kind::choice:
      return "choice";
    case ParamInfo::Kind::text:
      return "text";
  }
  return "";
}

std::string range_text(const ParamInfo& p) {
  if (p.kind == ParamInfo::Kind::choice) return fmt::format("{}", fmt::join(p.choices, "|"));
  if (p.kind == ParamInfo::Kind::text) return "text";
  return fmt::format("{}..{}", p.min, p.max);
}

std::vector<PolicyInfo> all_policies() {
  std::vector<PolicyInfo> out(policies().begin(), policies().end());
  out.push_back(given_policy());
  return out;
}

/// Without keys. Throws UsageError: it needs a file.
std::unique_ptr<Policy> made_for_a_small_model(const PolicyInfo& policy) {
  static const ModelConfig model = [] {
    ModelConfig m;
    m.n_layers = m.n_heads = m.n_kv_heads = 1;
    m.head_dim = m.dim = 32;
    return m;
  }();
  return Policy::make(
      {.spec = parse_lane_spec(policy.takes_budget ? policy.name + ":slots=64" : policy.name), .model = &model, .n_prompt = 256});
}

std::string looks_at(const PolicyInfo& policy) {
  try {
    return kvscope::looks_at(*made_for_a_small_model(policy));
  } catch (const Error&) {
    return "a file made for the model";
  }
}

/// What every decode step brings from a device to the host, which keeps the statistics of slots and chooses among them: of every slot and
/// query head one number each. Of a policy as it is without keys. nullopt: it needs a file.
std::optional<std::vector<std::string>> step_reads(const PolicyInfo& policy) {
  try {
    const auto made = made_for_a_small_model(policy);
    std::vector<std::string> out;
    if (made->every_step() && made->needs().reads_a()) out.emplace_back("attention");
    if (made->every_step() && made->needs().reads_z()) out.emplace_back("logits");
    return out;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// A device can do that itself where the records hold no more than what went.
bool device_keeps_slots(const PolicyInfo& policy) {
  try {
    const auto made = made_for_a_small_model(policy);
    SlotState full;
    const auto n = static_cast<std::size_t>(made->budget(0, 0).value_or(0));
    full.pos.resize(n);
    std::iota(full.pos.begin(), full.pos.end(), 0);
    full.residual.resize(n);  // behind the sinks as many slots collect others as the policy has places for
    std::size_t at = n - std::min(n, static_cast<std::size_t>(std::max(0, made->ceiling(0, 0))));
    for (; !lowest_goes(*made, 0, 0, full); ++at) {
      if (at >= n) return false;
      full.residual[at] = 1;
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::string step_reads_text(const PolicyInfo& policy) {
  const auto reads = step_reads(policy);
  if (!reads) return "on a device: needs its file";
  if (reads->empty()) return "on a device: a step brings nothing to the host";
  const std::string rows = fmt::format("{} of every slot to the host, a number for each query head", fmt::join(*reads, " and "));
  if (device_keeps_slots(policy))
    return "on a device: a full cache is ranked there; where more is recorded than what went, a step brings " + rows;
  return fmt::format("on a device: a step brings {}: there it is ranked, for more counts than one sum or the last rows of attention", rows);
}

/// With bytes where that is a key, too: slots and ratio are what takes_budget says.
std::vector<ParamInfo> keys_of(const PolicyInfo& policy) {
  std::vector<ParamInfo> out = policy.params;
  for (const ParamInfo& budget : budget_params())
    if (budget.key == "bytes" && policy.takes_bytes) out.push_back(budget);
  return out;
}

Json policies_json() {
  Json list = Json::array();
  for (const PolicyInfo& p : all_policies()) {
    Json keys = Json::array();
    for (const ParamInfo& k : keys_of(p)) {
      Json key{{"key", k.key}, {"kind", kind_name(k.kind)}, {"default", k.default_text}};
      if (k.kind == ParamInfo::Kind::choice) {
        key["choices"] = k.choices;
      } else if (k.kind != ParamInfo::Kind::text) {
        key["min"] = k.min;
        key["max"] = k.max;
      }
      key["help"] = k.help;
      for (const auto& [word, help] : k.described) key["described"][word] = help;
      if (!k.only_with.empty()) key["only_with"] = k.only_with;
      keys.push_back(std::move(key));
    }
    list.push_back({{"name", p.name},
                    {"title", p.title},
                    {"paper", p.paper},
                    {"idea", p.idea},
                    {"ranking", p.ranking},
                    {"merging", p.merging},
                    {"statistic", p.statistic},
                    {"looks_at", looks_at(p)},
                    {"sees_question_in_prefill", p.sees_question_in_prefill},
                    {"takes_budget", p.takes_budget},
                    {"keys", std::move(keys)}});
    if (!p.computed.empty()) list.back()["computed"] = p.computed;
    const auto reads = step_reads(p);
    list.back()["device_step_reads"] = reads ? Json(*reads) : Json(nullptr);
    list.back()["device_keeps_slots"] = device_keeps_slots(p);
  }
  return {{"schema", "kvscope.policies/1"}, {"policies", std::move(list)}};
}

std::string policies_text() {
  std::string out =
      "Every policy takes slots=N (per head), ratio=R (of the prompt's tokens) or bytes=R (of their keys and values) as its budget, but for those "
      "that let no slot go, some of which take bytes, and one whose decisions a file brings.\n";
  for (const PolicyInfo& p : all_policies()) {
    out += fmt::format("\n{}  {}{}\n  {}\n", p.name, p.title, p.paper.empty() ? "" : " (" + p.paper + ")", p.idea);
    std::vector<std::vector<std::string>> rows;
    for (const ParamInfo& k : keys_of(p)) {
      const std::string with = k.only_with.empty() ? "" : fmt::format("; with {}", k.only_with);
      const bool is_list = k.kind == ParamInfo::Kind::choice && !k.described.empty();
      rows.push_back(
          {"   ", k.key, k.default_text.empty() ? "" : "[" + k.default_text + "]", is_list ? "one of" : range_text(k), k.help + with});
      for (const auto& [word, help] : k.described) rows.push_back({"   ", "", "", "  " + word, help});
    }
    if (!p.computed.empty()) out += fmt::format("  computed {}\n", p.computed);
    if (p.name != reference_policy()) out += fmt::format("  looks at {}\n", looks_at(p));
    out += "  " + step_reads_text(p) + "\n";
    if (!rows.empty()) out += aligned(rows, 5);
  }
  return out;
}

/// Bytes of the weights by the type they are stored in.
std::map<std::string, std::size_t> weights_by_dtype(const ModelFiles& model) {
  std::map<std::string, std::size_t> bytes;
  for (const TensorFile& file : model.files) {
    for (const auto& [name, tensor] : file.tensors()) bytes[std::string(name_of(tensor.dtype))] += tensor.bytes.size();
  }
  return bytes;
}

Json cuda_json() {
  const CudaStatus s = cuda_status();
  if (!s.usable) return {{"usable", false}, {"why_not", s.why_not}};
  return {{"usable", true},       {"device", s.device},           {"capability", s.capability / 10.0}, {"driver", s.driver},
          {"runtime", s.runtime}, {"total_bytes", s.total_bytes}, {"free_bytes", s.free_bytes}};
}

std::string cuda_text() {
  const CudaStatus s = cuda_status();
  if (!s.usable) return fmt::format("cuda cannot be used: {}", s.why_not);
  return fmt::format("cuda: {}, {} of {} free, driver for CUDA {}.{}", s.device, format_bytes(static_cast<double>(s.free_bytes)),
                     format_bytes(static_cast<double>(s.total_bytes)), s.driver / 1000, s.driver % 1000 / 10);
}

std::string rotation(const Rope& rope) {
  const RopeScaling& s = rope.scaling;
  const std::string base =
      fmt::format("rotary base {}{}", rope.theta, rope.dims > 0 ? fmt::format(" for {} dimensions of a head", rope.dims) : "");
  switch (s.kind) {
    case RopeScaling::Kind::none:
      return base;
    case RopeScaling::Kind::linear:
      return fmt::format("{}, scaled by {}", base, s.factor);
    case RopeScaling::Kind::llama3:
      return fmt::format("{}, llama3 scaling by {}", base, s.factor);
    case RopeScaling::Kind::yarn:
      return fmt::format("{}, yarn scaling by {}", base, s.factor);
    case RopeScaling::Kind::longrope:
      return rope.up_to > 0 ? fmt::format("{}, longrope for prompts of up to {} tokens", base, rope.up_to)
                            : fmt::format("{}, longrope for longer ones", base);
  }
  return base;
}

std::string rotations(const ModelConfig& c) {
  std::vector<std::string> all;
  for (const Rope& rope : c.ropes) all.push_back(rotation(rope));
  int plain = 0;
  for (int l = 0; l < c.n_layers; ++l) plain += c.layer(l).rope < 0;
  if (plain > 0) all.push_back(fmt::format("{} layers without rotation", plain));
  return fmt::format("{}", fmt::join(all, "; "));
}

/// [n_layers], tokens that a query sees; null: all before it.
Json windows_json(const ModelConfig& c) {
  Json out = Json::array();
  for (int l = 0; l < c.n_layers; ++l) out.push_back(c.window(l) > 0 ? Json(c.window(l)) : Json(nullptr));
  return out;
}

std::string windows(const ModelConfig& c) {
  int n = 0, window = 0;
  for (int l = 0; l < c.n_layers; ++l) {
    n += c.window(l) > 0;
    window = std::max(window, c.window(l));
  }
  return n > 0 ? fmt::format(", of which {} see the newest {} tokens only", n == c.n_layers ? "all" : std::to_string(n), window) : "";
}

Json model_json(const Arguments& a, const ModelFiles& model) {
  const ModelConfig& c = model.config;
  return {{"schema", "kvscope.info/1"},
          {"folder", model.folder},
          {"model",
           {{"name", c.name},
            {"arch", c.arch},
            {"n_layers", c.n_layers},
            {"n_heads", c.n_heads},
            {"n_kv_heads", c.n_kv_heads},
            {"head_dim", c.head_dim},
            {"dim", c.dim},
            {"hidden_dim", c.hidden_dim},
            {"vocab_size", c.vocab_size},
            {"max_positions", c.max_positions},
            {"norm_eps", c.norm_eps},
            {"windows", windows_json(c)},
            {"rope_theta", c.ropes.front().theta},
            {"tied_embeddings", c.tied_embeddings},
            {"bos_id", c.bos_id},
            {"eos_id", c.eos_id},
            {"end_ids", model.end_ids}}},
          {"tokenizer", model.has_tokenizer ? Json(model.tokenizer->vocab_size()) : Json(nullptr)},
          {"weight_bytes", model.weight_bytes},
          {"weight_bytes_by_dtype", weights_by_dtype(model)},
          {"precision", name_of(a.precision)},
          {"kv_bytes_per_token", full_cache_bytes(c, a.precision, 1)},
          {"backends", KVSCOPE_BACKENDS},
          {"cuda", cuda_json()}};
}

std::string model_text(const Arguments& a, const ModelFiles& model) {
  const ModelConfig& c = model.config;
  std::vector<std::string> weights;
  for (const auto& [dtype, bytes] : weights_by_dtype(model))
    weights.push_back(fmt::format("{} {}", dtype, format_bytes(static_cast<double>(bytes))));
  std::vector<std::string_view> decoded;
  for (const DType type : decoded_on_cuda(model)) decoded.push_back(name_of(type));
  const double kv = full_cache_bytes(c, a.precision, 1);
  const std::string begin = c.bos_id < 0 ? "none" : std::to_string(c.bos_id);
  const std::string end = model.end_ids.empty() ? "none" : fmt::format("{}", fmt::join(model.end_ids, " "));
  return aligned({{"model", fmt::format("{} ({})", c.name, c.arch)},
                  {"folder", model.folder},
                  {"layers", fmt::format("{}{}", c.n_layers, windows(c))},
                  {"heads", fmt::format("{} query heads, {} KV heads of {} dimensions ({} query heads share one)", c.n_heads, c.n_kv_heads,
                                        c.head_dim, c.group())},
                  {"width", fmt::format("{}, feed-forward {}", c.dim, c.hidden_dim)},
                  {"positions", fmt::format("{} tokens, {}", c.max_positions, rotations(c))},
                  {"vocabulary", fmt::format("{} tokens, BOS {}, EOS {}; {}", c.vocab_size, begin, end,
                                             model.has_tokenizer ? model.tokenizer_file : "no tokenizer: token ids only")},
                  {"weights", fmt::format("{}: {}{}{}", format_bytes(static_cast<double>(model.weight_bytes)), fmt::join(weights, ", "),
                                          c.tied_embeddings ? "; embedding and output layer shared" : "",
                                          decoded.empty() ? "" : fmt::format("; a CUDA device decodes {}", fmt::join(decoded, ", ")))},
                  {"KV cache", fmt::format("{} per token in {}: {} for {} tokens", format_bytes(kv), name_of(a.precision),
                                           format_bytes(full_cache_bytes(c, a.precision, c.max_positions)), c.max_positions)},
                  {"backends", KVSCOPE_BACKENDS},
                  {"device", "cpu"},
                  {"", cuda_text()}},
                 2);
}

}  // namespace

int info(const Arguments& a) {
  if (a.list_policies) return print(a.json ? policies_json().dump(1) + "\n" : policies_text());
  const ModelFiles model = open_model_of(a);
  return print(a.json ? model_json(a, model).dump(1, ' ', false, Json::error_handler_t::replace) + "\n" : model_text(a, model));
}

}  // namespace kvscope::cli
