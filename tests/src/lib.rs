//! What the tests share: peers that are not our own code, and policies that no compiler makes.

pub mod collector;
pub mod judged_again;
pub mod kafka;
pub mod narad;
pub mod rabbitmq;
pub mod small_policy;
