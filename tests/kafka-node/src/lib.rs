//! An Apache Kafka of one's own: started, stopped, killed and started again on its data, by tests, the torture rig and
//! chores.
//!
//! It is one node that is broker and controller at once, on 127.0.0.1, without authentication. The jars are those that
//! `cargo xtask kafka` brought to `target/kafka/jars`. Everything here blocks.

mod configuration;
mod greeting;
mod java;
mod keeper;
mod node;
mod ports;

use std::env;
use std::path::{Path, PathBuf};

pub use configuration::{Proxied, Settings};
pub use greeting::answers;
pub use java::{JARS_VARIABLE, java};
pub use keeper::sweep;
pub use node::Node;
pub use ports::free_ports;

/// Where Kafka's jars and the data of nodes are, beneath the workspace's `target`.
#[must_use]
pub fn folder() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("this crate is two folders deep in the workspace").join("target/kafka")
}
