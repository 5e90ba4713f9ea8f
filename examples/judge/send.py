#!/usr/bin/env python3
"""Sends three orders: one that is fine, one that fails twice, one that always fails."""

import os
import uuid

import pika

URL = os.environ.get("AMQP_URL", "amqp://guest:guest@127.0.0.1:5672/%2f")

with pika.BlockingConnection(pika.URLParameters(URL)) as connection:
    channel = connection.channel()
    channel.confirm_delivery()
    for body in ("fine", "flaky", "hopeless"):
        properties = pika.BasicProperties(message_id=f"{body}-{uuid.uuid4().hex[:6]}", delivery_mode=2)
        channel.basic_publish("", "orders", body, properties, mandatory=True)
        print("sent", properties.message_id)
