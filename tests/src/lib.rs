//! What the tests share: peers that are not our own code.

pub mod rabbitmq;
