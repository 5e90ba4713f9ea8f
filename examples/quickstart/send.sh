#!/bin/sh
# Sends each line of messages.txt: an id and a body. REPRIEVE names the program where it is not in the PATH.
set -eu
cd "$(dirname "$0")"
while read -r id body; do
    "${REPRIEVE:-reprieve}" send -c reprieve.toml --id "$id-$$" --content-type application/json orders "$body"
done < messages.txt
