#!/usr/bin/env bash
# Runs every fuzz target of a build folder for some seconds each: fuzz.sh FOLDER SECONDS.
# Seeds are tests/fuzz/corpus/TARGET/ if there is one; what is found goes to FOLDER/found/TARGET/, a crash also to
# stderr and exit 1.
set -euo pipefail

folder=$1
seconds=$2
shopt -s nullglob
targets=("$folder"/fuzz_*)
[[ ${#targets[@]} -gt 0 ]] || { echo "fuzz: no targets in $folder" >&2; exit 1; }

for target in "${targets[@]}"; do
  name=$(basename "$target")
  found="$folder/found/$name"
  mkdir -p "$found"
  seeds=(tests/fuzz/corpus/"$name"/*)  # nothing where there is no such folder
  [[ ${#seeds[@]} -eq 0 ]] || seeds=(tests/fuzz/corpus/"$name")
  log="$found.log"
  if ! "$target" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=1024 -print_final_stats=1 \
      -artifact_prefix="$found." "$found" "${seeds[@]}" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    echo "fuzz: $name failed; the input is beside $log" >&2
    exit 1
  fi
  echo "fuzz: $name, $(awk '/number_of_executed_units/ { print $2 }' "$log") runs, nothing found"
done
