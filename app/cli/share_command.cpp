// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <fmt/core.h>

#include "app/cli/commands.h"
#include "app/cli/compute.h"
#include "app/cli/inputs.h"
#include "app/cli/interrupt.h"
#include "app/cli/session_input.h"
#include "core/error.h"
#include "io/files.h"
#include "io/terminal_text.h"
#ifdef KVSCOPE_SHARE
#include "app/share/page.h"
#include "app/share/stored_run.h"
#endif

namespace kvscope::cli {

#ifdef KVSCOPE_SHARE

namespace {

using namespace kvscope::share;

int n_after_prompt(const Snapshot& s) { return static_cast<int>(s.tokens.size()) - s.n_prompt; }

struct Shared {
  Snapshot snapshot;
  PageFacts facts;
};

Shared stored(const std::string& path) {
  StoredRun run = read_stored_run(path);
  Shared out{std::move(run.trace.snapshot), {}};
  out.facts.asked = {n_after_prompt(out.snapshot), run.temperature, run.trace.seed};
  out.facts.notes = std::move(run.trace.missing);
  out.facts.notes.insert(out.facts.notes.end(), run.trace.warnings.begin(), run.trace.warnings.end());
  return out;
}

Shared computed(const Arguments& a, const CancelToken& cancel) {
  PageFacts facts;
  facts.asked = {0, a.temperature, a.seed};
  std::string model = a.model;
  if (a.session) {
    const SessionInput session = read_session_input(*a.session);
    facts.asked = {0, session.request.temperature, session.request.seed};
    if (model.empty()) model = session.model;
  }
  Result result = compute(a, Detail::why, /*shadow=*/true, MeasureSet::all(), cancel);
  facts.asked.n_generate = n_after_prompt(result.snapshot);
  facts.files = model_hashes(model.empty() ? embedded_model() : model);
  return {std::move(result.snapshot), std::move(facts)};
}

}  // namespace

int share(const Arguments& a) {
  check_target(a.out);
  check_not_read(a, a.out);
  const Interrupt interrupt;
  const Shared shared = a.results ? stored(*a.results) : computed(a, interrupt.token());
  const std::string page = replay_page(shared.snapshot, shared.facts);
  interrupt.token().check();
  std::fprintf(stderr, "kvscope-cli: %s\n", for_terminal(what_a_page_tells(shared.snapshot, a.out)).c_str());
  {
    const Interrupt::Critical writing;
    write_atomically(a.out, page);
  }
  return a.quiet ? 0 : print(fmt::format("{}: {} bytes\n", a.out, page.size()));
}

#else

int share(const Arguments&) {
  throw UsageError("share: expected a kvscope-cli with the views, got one without; build it with -DKVSCOPE_VIZ=ON");
}

#endif

}  // namespace kvscope::cli
