// SPDX-License-Identifier: Apache-2.0
#include "trace/sweep_reader.h"

#include <sys/stat.h>

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "core/error.h"
#include "io/files.h"
#include "trace/sweep_store.h"

namespace kvscope {

namespace {

struct Found {
  std::string path;
  timespec written;
};

/// What sweeps in the folder consist of, those that began last at the end.
std::vector<Found> contents_in(const std::string& folder) {
  std::vector<Found> out;
  each_name(folder, [&](std::string_view name) {
    struct stat info {};
    const std::string path = in_folder(folder, name);
    if (is_sweep_contents_name(name) && ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode)) out.push_back({path, info.st_mtim});
    return true;
  });
  std::ranges::sort(out, [](const Found& a, const Found& b) {
    if (a.written.tv_sec != b.written.tv_sec) return a.written.tv_sec < b.written.tv_sec;
    return a.written.tv_nsec != b.written.tv_nsec ? a.written.tv_nsec < b.written.tv_nsec : a.path < b.path;
  });
  return out;
}

/// Changes with the file; empty: there is none.
std::string stamp_of(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return "";
  return fmt::format("{} {} {}.{}", info.st_ino, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

}  // namespace

bool SweepReader::is_store(const std::string& folder) {
  bool found = false;
  each_name(folder, [&](std::string_view name) { return !(found = is_sweep_contents_name(name)); });
  return found;
}

SweepReader::SweepReader(std::string folder) : folder_(std::move(folder)) {
  const std::vector<Found> sweeps = contents_in(folder_);
  if (sweeps.empty())
    throw Error(
        fmt::format("{}: expected a folder that kvscope-cli sweep --store fills, found none of its sweep-*.json; if an earlier "
                    "version filled it, the same command once more adds it and computes nothing again",
                    folder_));
  n_sweeps_ = sweeps.size();
  contents_ = read_sweep_contents(read_text(sweeps.back().path, kMaxSweepContentsBytes), sweeps.back().path);
  results_.resize(contents_.keys.size());
}

SweepReader::Taken SweepReader::take(std::size_t most) {
  Taken out;
  if (n_there_ == results_.size()) return out;
  std::unordered_set<std::string> names;
  each_name(folder_, [&](std::string_view name) { return names.emplace(name), true; });
  std::size_t n = 0;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const std::string& key = contents_.keys[i];
    const auto known = stamps_.find(i);
    if (results_[i] || (!names.contains(sweep_item_name(key)) && known == stamps_.end())) continue;
    const std::string path = in_folder(folder_, sweep_item_name(key)), stamp = stamp_of(path);
    if (known != stamps_.end() && known->second == stamp) continue;
    if (n++ == most) {
      out.more = true;
      break;
    }
    out.changed = true;
    problems_.erase(i);
    stamps_.erase(i);
    if (stamp.empty()) continue;  // gone
    try {
      results_[i] = load_sweep_item(path, key);
      ++n_there_;
    } catch (const Error& error) {
      problems_[i] = error.what();
      stamps_[i] = stamp;
    }
  }
  return out;
}

}  // namespace kvscope
