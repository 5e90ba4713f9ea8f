#!/usr/bin/env python3
"""A plain consumer, which knows nothing of Reprieve: what it cannot process, it rejects."""

import os

import pika

URL = os.environ.get("AMQP_URL", "amqp://guest:guest@127.0.0.1:5672/%2f")

failures = {}


def process(message_id, body):
    """Fails for ever on `hopeless`, and twice on `flaky`."""
    failed = failures.get(message_id, 0)
    if body == b"hopeless" or (body == b"flaky" and failed < 2):
        failures[message_id] = failed + 1
        raise RuntimeError("the warehouse does not answer")


def on_message(channel, delivery, properties, body):
    try:
        process(properties.message_id, body)
    except RuntimeError as error:
        print(f"{properties.message_id}  rejected: {error}", flush=True)
        channel.basic_reject(delivery.delivery_tag, requeue=False)
    else:
        print(f"{properties.message_id}  done", flush=True)
        channel.basic_ack(delivery.delivery_tag)


def main():
    connection = pika.BlockingConnection(pika.URLParameters(URL))
    channel = connection.channel()
    channel.queue_declare("orders.failed", durable=True)
    # The usual way to park what was rejected: the default exchange, to another queue.
    dead_letter = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders.failed"}
    channel.queue_declare("orders", durable=True, arguments=dead_letter)
    channel.basic_qos(prefetch_count=10)
    channel.basic_consume("orders", on_message)
    print("consuming orders", flush=True)
    try:
        channel.start_consuming()
    except KeyboardInterrupt:
        connection.close()


if __name__ == "__main__":
    main()
