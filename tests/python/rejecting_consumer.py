"""A consumer that knows nothing of Reprieve: it acknowledges what it likes and rejects the rest.

    rejecting_consumer.py URL QUEUE LOG ACCEPTED

A message is acknowledged where ACCEPTED, a JSON object, says so by its id: at which arrival, from 1. LOG gets a line
of JSON for each arrival.
"""

import collections
import json
import sys
import time

import amqp


def main():
    url, queue, log, accepted = sys.argv[1:]
    accepted = json.loads(accepted)
    arrivals = collections.Counter()
    channel = amqp.connect(url).channel()
    channel.basic_qos(prefetch_count=1)
    with open(log, "a", encoding="utf-8") as file:
        for method, properties, body in channel.consume(queue):
            message = amqp.from_message(properties, body)
            name = properties.message_id
            arrivals[name] += 1
            line = {"at": time.time(), "id": name, "arrival": arrivals[name], "message": message}
            file.write(json.dumps(line) + "\n")
            file.flush()
            if accepted.get(name) == arrivals[name]:
                channel.basic_ack(method.delivery_tag)
            else:
                channel.basic_reject(method.delivery_tag, requeue=False)


if __name__ == "__main__":
    main()
