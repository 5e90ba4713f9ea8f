"""Messages as JSON, with the AMQP type of every header written out.

A body is a text of the characters 0 to 255, one for each byte. A header's value is an object with one member, whose
name is its type: {"text": "a"}, {"int": 1}, {"long": 1}, {"bool": true}, {"null": null}, {"bytes": "\\u00ff"},
{"timestamp": 1700000000}, {"decimal": "1.25"}, {"list": [...]} and {"table": {...}}.
"""

import datetime
import decimal

import pika
from pika.compat import long

PROPERTIES = [
    "content_type",
    "content_encoding",
    "delivery_mode",
    "priority",
    "correlation_id",
    "reply_to",
    "expiration",
    "message_id",
    "timestamp",
    "type",
    "user_id",
    "app_id",
    "cluster_id",
]


def connect(url):
    parameters = pika.URLParameters(url)
    # Nobody answers heartbeats between two requests.
    parameters.heartbeat = 0
    return pika.BlockingConnection(parameters)


def to_value(written):
    [(kind, value)] = written.items()
    makers = {
        "text": str,
        "int": int,
        "long": long,
        "bool": bool,
        "null": lambda _: None,
        "bytes": lambda text: text.encode("latin-1"),
        "timestamp": lambda seconds: datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc),
        "decimal": decimal.Decimal,
        "list": lambda values: [to_value(value) for value in values],
        "table": to_table,
    }
    return makers[kind](value)


def to_table(written):
    return {name: to_value(value) for name, value in written.items()}


def from_value(value):
    # A bool and a long are ints too, so they come first.
    if value is None:
        return {"null": None}
    if isinstance(value, bool):
        return {"bool": value}
    if isinstance(value, long):
        return {"long": int(value)}
    if isinstance(value, int):
        return {"int": value}
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    if isinstance(value, datetime.datetime):
        return {"timestamp": int(value.timestamp())}
    if isinstance(value, decimal.Decimal):
        return {"decimal": str(value)}
    if isinstance(value, list):
        return {"list": [from_value(item) for item in value]}
    return {"table": from_table(value)}


def from_table(table):
    return {name: from_value(value) for name, value in (table or {}).items()}


def to_message(written):
    headers = to_table(written["headers"])
    return pika.BasicProperties(headers=headers, **written["properties"]), written["body"].encode("latin-1")


def from_message(properties, body):
    named = {name: getattr(properties, name) for name in PROPERTIES}
    return {
        "properties": {name: value for name, value in named.items() if value is not None},
        "headers": from_table(properties.headers),
        "body": body.decode("latin-1"),
    }
