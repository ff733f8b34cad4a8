// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "remote/bytes.h"
#include "snapshot/snapshot.h"

namespace kvscope::remote {

/// What an engine elsewhere sends of a result. A step goes in two parts: first what the pictures of the caches are made of (which slots
/// there are, what became of the tokens, figures), then the numbers by slot and by token, which are many times as much.

/// What belongs to the model is there already, is not there, or follows.
enum class Shared : std::uint8_t { same, none, follows };

/// Everything of a step but its heads; then their number.
void put_step(Writer& out, const StepRecord& step);
StepRecord get_step(Reader& in, std::size_t most_heads);

/// Pos, votes, events and figures of one head.
void put_outline(Writer& out, const HeadRecord& head);
void get_outline(Reader& in, HeadRecord& head);
/// Attention, scores and errors of one head, what merges computed, and the numbers of its events, whose outline is there. Until they come
/// they are as where nothing was captured: not available, never 0.
void put_numbers(Writer& out, const HeadRecord& head);
void get_numbers(Reader& in, HeadRecord& head);

/// Facts and figures of a run; neither its steps nor its fates, which follow from them.
void put_lane(Writer& out, const LaneSnapshot& lane);
LaneSnapshot get_lane(Reader& in);

/// Everything of a snapshot but runs, prompt, tokens, and what belongs to the model: characters, chat template, vocabulary.
void put_facts(Writer& out, const Snapshot& snapshot);
void get_facts(Reader& in, Snapshot& snapshot);

void put_tokens(Writer& out, const std::vector<TokenInfo>& tokens, std::size_t from);
std::vector<TokenInfo> get_tokens(Reader& in);
bool same_token(const TokenInfo& a, const TokenInfo& b);

void put_characters(Writer& out, const HeadCharacters& characters);
HeadCharacters get_characters(Reader& in);

}  // namespace kvscope::remote
