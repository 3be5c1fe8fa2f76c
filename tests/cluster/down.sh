#!/bin/bash
# Stops only the processes that up.sh FOLDER has started.
set -uo pipefail
folder=$(realpath "$1")
source "$folder/environment"
scancel --state=RUNNING --state=PENDING --user=root 2>/dev/null
for file in "$folder"/n?.pid "$folder"/slurmctld.pid "$folder"/munged.pid; do
  [ -s "$file" ] || continue
  pid=$(cat "$file")
  kill "$pid" 2>/dev/null
  for _ in $(seq 20); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.2
  done
done
exit 0
