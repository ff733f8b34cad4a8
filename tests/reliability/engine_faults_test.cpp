// SPDX-License-Identifier: Apache-2.0
// Every allocation of every reader, and every call by which a file is written, fails once.
#include <fstream>
#include <string>
#include <vector>

#include "arch/model_files.h"
#include "core/thread_pool.h"
#include "io/files.h"
#include "io/gguf_file.h"
#include "io/head_table_file.h"
#include "io/kept_file_reader.h"
#include "io/temp_folder.h"
#include "io/tensor_file.h"
#include "io/trained/budget_curves_file.h"
#include "io/trained/feature_maps_file.h"
#include "io/trained/head_vectors_file.h"
#include "io/trained/hidden_scorer_file.h"
#include "paths.h"
#include "policy/catalog.h"
#include "reliability/each_fault.h"
#include "trace/kept_writer.h"
#include "trace/sample_run.h"
#include "trace/trace_reader.h"
#include "trace/trace_writer.h"

namespace kvscope {
namespace {

using testing::each_fault;
using testing::Fault;
namespace fs = std::filesystem;

constexpr Fault kFaultsOfWriting[] = {Fault::allocation, Fault::write, Fault::sync, Fault::rename, Fault::open};

/// A file that is written over and over while something fails: it is always the old or the new one, and nothing stands beside it.
class Written : public ::testing::Test {
 protected:
  void always_whole(const std::function<void(const std::string& path)>& write, const std::string& whole) {
    const std::string path = folder / "f";
    for (const Fault fault : kFaultsOfWriting) {
      for (const int error : {ENOSPC, EIO}) {
        if (fault == Fault::allocation && error == EIO) continue;  // of memory there is one kind
        const auto old_or_new = [&] {
          const std::string now = read_text(path);
          EXPECT_TRUE(now == whole || now == "old") << now.size() << " bytes";
          EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
          folder.write("f", "old");
        };
        folder.write("f", "old");
        const long failed = each_fault(
            fault, error, [&] { write(path); }, old_or_new);
        EXPECT_GT(failed, 0) << "no call of kind " << static_cast<int>(fault);
      }
    }
  }
  const test::TempFolder folder;
};

TEST_F(Written, TextIsOldOrNew) {
  const std::string whole(200000, 'x');
  always_whole([&](const std::string& path) { write_atomically(path, whole); }, whole);
}

TEST_F(Written, TraceIsOldOrNew) {
  const Snapshot run = sample_run();
  const std::string whole = trace_text(run, {.detail = Detail::why});
  always_whole([&](const std::string& path) { write_atomically(path, trace_text(run, {.detail = Detail::why})); }, whole);
}

TEST_F(Written, TraceThatIsWrittenWhileItRunsIsOldOrNew) {
  const Snapshot run = sample_run();
  const test::TempFolder aside;
  const auto write = [&](const std::string& path) {
    TraceStream stream({.detail = Detail::slots}, run.measures, aside.path());
    for (std::size_t l = 0; l < run.lanes.size(); ++l)
      for (const StepPtr& step : run.lanes[l].steps) stream.take(static_cast<int>(l), *step);
    write_atomically(path, [&](const TakesText& take) { stream.finish(run, take); });
  };
  write(folder / "f");
  always_whole(write, read_text(folder / "f"));
}

TEST_F(Written, KeptTokensAreOldOrNew) {
  const Snapshot run = sample_run();
  const std::string whole = KeptWriter::text_of(run);
  always_whole([&](const std::string& path) { write_atomically(path, KeptWriter::text_of(run)); }, whole);
}

/// tokenizer.json, tokenizer.model and chat templates are not here: libraries read them that abort or lose memory (RELIABILITY.md).
/// Memory ends at every allocation, and reading of the file fails.
void read_again_and_again(const std::function<void()>& read) {
  EXPECT_GT(each_fault(Fault::allocation, ENOMEM, read), 0);
  each_fault(Fault::open, EIO, read);
}

TEST(Readers, GiveUpWithoutMemory) {
  const test::TempFolder folder;
  const std::string tiny = in_checkout("tests/golden/tiny-gqa/");
  read_again_and_again([&] { TensorFile::open(tiny + "model.safetensors"); });
  read_again_and_again([&] { GgufFile::open(in_checkout("tests/fuzz/seeds/gguf/small.gguf")); });
  read_again_and_again([&] { open_model(tiny); });
  read_again_and_again([&] { read_head_table(tiny + "headkv.json"); });
  read_again_and_again([&] { read_head_table(tiny + "duo.json"); });
  read_again_and_again([&] { read_head_vectors(tiny + "q_filters.safetensors"); });
  read_again_and_again([&] { read_feature_maps(tiny + "maps.safetensors"); });
  for (const char* scorer : {"kvzap", "kvzap_linear", "fastkvzip"})
    read_again_and_again([&] { read_hidden_scorer(tiny + scorer + ".safetensors"); });
  read_again_and_again([&] { read_budget_curves(tiny + "lukv_curves.safetensors"); });
  const std::string kept = folder.write("kept.json", KeptWriter::text_of(sample_run()));
  read_again_and_again([&] { read_kept_file(kept); });
  const std::string trace = folder.write("trace.json", trace_text(sample_run(), {.detail = Detail::why}));
  read_again_and_again([&] { read_trace_file(trace); });
  read_again_and_again([&] { parse_lane_specs({"full", "h2o:slots=4", "keepkv:ratio=0.5@evict=3,step=2"}); });
}

TEST(Threads, ThatCannotAllBeStartedAreEnded) {
  EXPECT_GT(each_fault(Fault::allocation, ENOMEM, [] { const ThreadPool pool(4); }), 0);
}

}  // namespace
}  // namespace kvscope
