#!/usr/bin/env python3
"""A handler that fails on purpose: each order says in its body what is to go wrong with it."""

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ADDRESS = ("127.0.0.1", 9000)
# Longer than the route waits for an answer.
TOO_LONG_S = 4


class Orders(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        attempt = int(self.headers.get("reprieve-attempt", 1))
        try:
            plan = json.loads(body)["plan"]
        except (ValueError, KeyError, TypeError):
            plan = "invalid"
        print(f"{self.headers.get('reprieve-id')}  attempt {attempt}  {plan}", flush=True)

        if plan == "slow" and attempt < 3:
            time.sleep(TOO_LONG_S)
            self.close_connection = True  # nobody listens any more
        elif plan == "flaky" and attempt < 3:
            self.answer(503, {"reprieve-error-kind": "warehouse-busy"}, b"the warehouse does not answer")
        elif plan == "limited" and attempt < 2:
            self.answer(429, {"retry-after": "2"}, b"too many orders")
        elif plan == "broken":
            self.close_connection = True  # without a word
        elif plan == "invalid":
            problem = {"type": "urn:orders:validation", "title": "Not an order", "detail": "it has no item"}
            self.answer(422, {"content-type": "application/problem+json"}, json.dumps(problem).encode())
        else:
            self.answer(204)

    def answer(self, status, headers=None, body=b""):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        # 204 has no body, and must not say how long it is.
        if status != 204:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """The line that each attempt prints says more."""


if __name__ == "__main__":
    print(f"handling orders at http://{ADDRESS[0]}:{ADDRESS[1]}/orders", flush=True)
    ThreadingHTTPServer(ADDRESS, Orders).serve_forever()
