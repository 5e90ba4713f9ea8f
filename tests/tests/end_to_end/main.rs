//! The `reprieve` program between a real RabbitMQ and handlers that are no code of ours: what becomes of each message
//! is told by the handler's own account and by pika, never by the program's events.

mod broker_trouble;
mod command;
mod flow;
mod judging;
mod killing;
mod outages;
mod outcomes;
mod raw_headers;
mod settings;
mod several_hosts;
mod stopping;
mod support;
mod suspects;
mod swapping;
mod tracing;
