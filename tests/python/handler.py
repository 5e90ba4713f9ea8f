"""An HTTP handler that answers by a script and keeps its own account of what it was asked.

    handler.py SCRIPT LOG

SCRIPT is a JSON file: for each message id the list of its answers, one for each run of that message; the last one
stands for all further runs. An answer is

    {"status": 429, "kind": "rate-limit", "text": "slow down", "retry_after": 1, "wait_for": "FILE"}

of which all but the status may be left out. With "wait_for" it is given once that file is there.

LOG gets a JSON line when a request comes, and another one before its answer is sent. The port is printed once it listens.
"""

import collections
import http.server
import json
import os
import sys
import threading
import time


class Account:
    """What was asked and answered, on disk at once."""

    def __init__(self, path):
        self.file = open(path, "a", encoding="utf-8")
        self.lock = threading.Lock()
        self.runs = collections.Counter()

    def begin(self, entry):
        """Notes that a request came; gives which run of its message that is, from 1."""
        with self.lock:
            self.runs[entry["id"]] += 1
            entry["run"] = self.runs[entry["id"]]
            self.write({"event": "asked", **entry})
            return entry["run"]

    def end(self, entry, status):
        with self.lock:
            self.write({"event": "answered", "status": status, **entry})

    def write(self, line):
        self.file.write(json.dumps({"at": time.time(), **line}) + "\n")
        self.file.flush()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # The answer goes out as one packet, and at once.
    wbufsize = -1
    disable_nagle_algorithm = True
    account = None
    script = None

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        entry = {
            "id": self.headers["reprieve-id"],
            "attempt": int(self.headers["reprieve-attempt"]),
            "redelivered": self.headers["reprieve-redelivered"] == "true",
            "route": self.headers["reprieve-route"],
            "path": self.path,
            # Only a copy that came out of a tier has it.
            "tier": self.headers["reprieve-header-reprieve-tier"],
            "traceparent": self.headers["traceparent"],
            "body": body.decode("latin-1"),
        }
        run = self.account.begin(entry)
        answers = self.script.get(entry["id"], [{"status": 501, "kind": "not-in-the-script"}])
        answer = answers[min(run, len(answers)) - 1]
        while "wait_for" in answer and not os.path.exists(answer["wait_for"]):
            time.sleep(0.005)
        self.account.end(entry, answer["status"])
        self.answer(answer)

    def answer(self, answer):
        text = answer.get("text", "").encode()
        self.send_response(answer["status"])
        if "kind" in answer:
            self.send_header("reprieve-error-kind", answer["kind"])
        if "retry_after" in answer:
            self.send_header("retry-after", str(answer["retry_after"]))
        self.send_header("content-type", "text/plain")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *arguments):
        """Nothing on stderr for a request: the account has it."""


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, request, client_address):
        # A host that was killed does not wait for its answer.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def main():
    script, log = sys.argv[1:]
    with open(script, encoding="utf-8") as file:
        Handler.script = json.load(file)
    Handler.account = Account(log)
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
