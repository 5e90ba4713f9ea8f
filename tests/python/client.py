"""A RabbitMQ client for tests that are written in another language.

    client.py URL

Reads one request a line from its input and answers each with a line: {"ok": ...} or {"error": "..."}.
"""

import json
import sys
import traceback

import amqp
import pika


class Raw(pika.BasicProperties):
    """Properties that are bytes already, whether or not they are well formed."""

    def __init__(self, raw):
        super().__init__()
        self.raw = raw

    def encode(self):
        return [self.raw]


class Client:
    def __init__(self, url):
        self.connection = amqp.connect(url)
        self.channel = self.connection.channel()
        # Publishing raises where the broker does not confirm, or has no queue for the message.
        self.channel.confirm_delivery()

    def declare(self, queue, arguments):
        self.channel.queue_declare(queue, durable=True, arguments=arguments)

    def publish(self, queue, messages):
        for written in messages:
            properties, body = amqp.to_message(written)
            self.channel.basic_publish("", queue, body, properties, mandatory=True)

    def publish_raw(self, queue, messages):
        """Each message is its properties, as they stand in a header frame, and its body: a character for each byte."""
        for properties, body in messages:
            raw = Raw(properties.encode("latin-1"))
            self.channel.basic_publish("", queue, body.encode("latin-1"), raw, mandatory=True)

    def publish_through(self, exchange, key, queue, message):
        """Through a fanout exchange to a queue, with a routing key of a character for each byte."""
        self.channel.exchange_declare(exchange, "fanout", durable=True)
        self.channel.queue_bind(queue, exchange)
        properties, body = amqp.to_message(message)
        self.channel.basic_publish(exchange, key.encode("latin-1"), body, properties, mandatory=True)

    def count(self, queue):
        """The messages that are ready."""
        return self.channel.queue_declare(queue, passive=True).method.message_count

    def take_all(self, queue):
        """Takes every message that is ready."""
        taken = []
        while True:
            method, properties, body = self.channel.basic_get(queue, auto_ack=True)
            if method is None:
                return taken
            taken.append(amqp.from_message(properties, body))

    def delete(self, names):
        """Deletes the queues and exchanges of these names. What is not there is as good as deleted."""
        for name in names:
            self.channel.queue_delete(name)
            self.channel.exchange_delete(name)


def main():
    client = Client(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"ok": getattr(client, request.pop("do"))(**request)}
        except pika.exceptions.AMQPError:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
