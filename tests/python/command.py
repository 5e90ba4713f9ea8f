"""A program that is started for each message: the body tells it how to end.

    command.py LOG

The body is JSON: for each attempt {"exit": 3, "stderr": "..."}; the last one stands for all further attempts. LOG gets
a JSON line with what the program was told about the message.
"""

import json
import os
import sys

TOLD = ["REPRIEVE_ID", "REPRIEVE_ATTEMPT", "REPRIEVE_ROUTE", "REPRIEVE_REDELIVERED", "REPRIEVE_CONTENT_TYPE"]


def main():
    endings = json.load(sys.stdin)
    told = {name: os.environ.get(name) for name in TOLD}
    # One write of one line: several of these programs run at a time.
    with open(sys.argv[1], "a", encoding="utf-8") as log:
        log.write(json.dumps(told) + "\n")
    ending = endings[min(int(told["REPRIEVE_ATTEMPT"]), len(endings)) - 1]
    sys.stderr.write(ending.get("stderr", ""))
    sys.exit(ending["exit"])


if __name__ == "__main__":
    main()
