#!/bin/sh
# Produces each line of messages.txt as it stands, as any other sender does.
set -eu
cd "$(dirname "$0")"
while read -r body; do
    curl -fsS -X POST "${NARAD:-http://127.0.0.1:7942}/v1/topics/orders/produce" -H 'content-type: application/json' -d "$body"
done < messages.txt
