//! `reprieve dead-letters` on a real RabbitMQ.

mod circle;
mod hand_backs;
mod killing;
mod peeking;
mod policies;
mod redriving;
mod stage;
