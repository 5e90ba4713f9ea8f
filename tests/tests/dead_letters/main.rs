//! `reprieve dead-letters` on a real RabbitMQ.

mod circle;
mod hand_backs;
mod killing;
mod peeking;
mod redriving;
mod stage;
