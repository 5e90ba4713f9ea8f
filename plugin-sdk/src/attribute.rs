//! Names of a failure's attributes: facts that the interface has no field for.
//!
//! A policy gets those that it asks for in [`needs`](crate::Policy::needs), and reads them with
//! [`Failure::attribute`](crate::Failure::attribute). One that does not apply to a message is left out. A host may
//! give more than are named here, and an older one fewer: it warns of a policy that asks for one it does not know.
//!
//! ```
//! use reprieve_sdk::{Failure, attribute};
//!
//! let failure = Failure::new("timeout").with_attribute(attribute::REDRIVES, "2");
//! assert_eq!(failure.attribute(attribute::REDRIVES), Some("2"));
//! ```

/// When the message first failed on this route, in milliseconds since the Unix epoch, in decimal: the time of this
/// failure where it is the first. A redriven message begins anew.
pub const FIRST_FAILED_AT: &str = "first-failed-at";

/// How often the message was put back from a dead-letter topic, in decimal, from 1. Left out where it never was.
pub const REDRIVES: &str = "redrives";

/// The exchange that the message was first published to, empty for the default one. Left out on a broker without
/// exchanges, and on a route without a handler, where a message comes by way of a dead-letter exchange.
pub const EXCHANGE: &str = "exchange";

/// The routing key that the message was first published with. Left out where [`EXCHANGE`] is.
pub const ROUTING_KEY: &str = "routing-key";

/// The sender's name for the kind of message (AMQP's property `type`). Left out where the sender gave none.
pub const MESSAGE_TYPE: &str = "message-type";
