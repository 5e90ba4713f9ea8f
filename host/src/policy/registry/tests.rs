//! Swapping, as an operator does it: with files in a folder and settings in a configuration.

mod candidates;
mod cases;
mod changes;
mod last_good;
mod settings;
mod support;
mod tiny_policy;
mod trouble;
mod trust;
