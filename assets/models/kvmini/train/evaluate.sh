#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# evaluate.sh KVSCOPE_CLI MODEL TEXTS RESULTS: what an exported model does with the full cache and with compressed ones, a file for each figure.
# TEXTS: folder with dracula-excerpt.txt and war-and-peace-excerpt.txt.
set -euo pipefail
cli=$1 model=$2 texts=$3 results=$4
mkdir -p "$results"
context=$(sed -n 's/.*"max_position_embeddings": *\([0-9]*\).*/\1/p' "$model/config.json")

lanes() {
  for policy in streaming h2o snapkv zeromerge keepkv; do echo "--lane" "$policy:ratio=$1"; done
  echo "--lane" "local:ratio=0.1"
}

for window in 512 1024 2048; do
  ((window <= context)) || continue
  for text in dracula war-and-peace; do
    "$cli" ppl --quiet --model "$model" --text "$texts/$text-excerpt.txt" --window "$window" --stride $((window / 2)) --tokens 8192 >"$results/ppl-$text-$window.txt"
  done
  # room for the question and for the 5 % by which a text may be longer
  "$cli" needle --quiet --model "$model" --context $((window == context ? window * 95 / 100 : window)) --samples 12 >"$results/needle-$window.txt"
done
# not at depth 1: what stands right before the question is among everybody's newest slots
depths=0,0.2,0.4,0.6,0.8
"$cli" needle --quiet --model "$model" --context 950 --samples 4 --depths $depths --question in-prompt $(lanes 0.2) >"$results/needle-in-prompt.txt"
"$cli" needle --quiet --model "$model" --context 950 --samples 4 --depths $depths --question after $(lanes 0.5) >"$results/needle-after.txt"
