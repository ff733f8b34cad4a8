// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "viz/canvas.h"
#include "viz/reduce/slot.h"

namespace kvscope::viz {

/// Where a head's queries point and how far away they look: the cloud of the selected head, which is the same in every run of a prompt.
struct QueryPick {
  const QueryCloud* cloud = nullptr;
  std::string missing;  // why there is none; empty: there is one, or it is on its way
};
QueryPick pick_queries(const Snapshot& snapshot, const HeadPick& head);

int query_heads(const QueryCloud& cloud);
/// Length of the mean of the queries of query head g at frequency f, and root mean square length of the queries.
double mean_length(const QueryCloud& cloud, int g, int f);
double typical_length(const QueryCloud& cloud, int g, int f);
/// Tokens after which the frequency has turned once.
double wavelength(const QueryCloud& cloud, int f);
/// "5", "8–11", "96 and more": the distances of a stretch.
std::string distance_text(const QueryCloud& cloud, int stretch);

/// "L2 · H1 · expected score highest 8–11 tokens away, measured 1 · attention most 0, 41.0 %".
std::string query_facts(const QueryCloud& cloud);
/// What the picture says of one frequency, and of one stretch of distances.
std::vector<std::string> frequency_lines(const QueryCloud& cloud, int f);
std::vector<std::string> distance_lines(const QueryCloud& cloud, int stretch);
/// A row for every frequency and query head, then one for every stretch of distances.
Table query_table(const QueryPick& pick);

}  // namespace kvscope::viz
