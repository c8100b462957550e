#!/usr/bin/env bash
# Runs the gate with the action's inputs, which come as variables INPUT_…: nothing of them is read as code.
set -uo pipefail

output="${INPUT_OUTPUT:-modelmeter-check}"
mkdir -p "$output"
arguments=("$INPUT_MODEL" --github
    --output-ci "$output/check.json" --junit "$output/check.xml" --markdown "$output/check.md")
# Limits and further arguments are lists; words in quotes stay together.
if [ -n "${INPUT_THRESHOLD:-}" ]; then
    mapfile -t limits < <(xargs -n1 printf '%s\n' <<<"$INPUT_THRESHOLD")
    for limit in "${limits[@]}"; do arguments+=(--threshold "$limit"); done
fi
[ -n "${INPUT_AGAINST:-}" ] && arguments+=(--against "$INPUT_AGAINST")
[ -n "${INPUT_BASELINE:-}" ] && arguments+=(--baseline "$INPUT_BASELINE")
[ -n "${INPUT_REGRESSION_ALERT:-}" ] && arguments+=(--regression-alert "$INPUT_REGRESSION_ALERT")
[ "${INPUT_STRICT:-false}" = true ] && arguments+=(--strict)
if [ -n "${INPUT_ARGUMENTS:-}" ]; then
    mapfile -t more < <(xargs -n1 printf '%s\n' <<<"$INPUT_ARGUMENTS")
    arguments+=("${more[@]}")
fi

modelmeter check "${arguments[@]}"
status=$?

case $status in
    0) ruling=held ;;
    1) ruling=failed ;;
    4) ruling=cannot-tell ;;
    *) ruling=error ;;
esac
if [ -n "${GITHUB_OUTPUT:-}" ]; then
    printf 'ruling=%s\nreport=%s\n' "$ruling" "$output" >>"$GITHUB_OUTPUT"
fi
# What cannot be told is a warning in the job, not a failure; `strict` makes it one.
[ "$status" -eq 4 ] && exit 0
exit "$status"
