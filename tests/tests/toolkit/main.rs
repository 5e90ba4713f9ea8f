//! The commands for who writes a policy, as somebody uses them who has nothing but the program, cargo and the SDK: in a
//! folder outside of the repository.
//!
//! * `new`, `build`: from a name to a file that a host loads.
//! * `examine`: whether a file is right, what it says of itself, and what its decisions are and cost.
//! * `cases`: whether a policy's verdicts are the expected ones.
//! * `timeline`: what becomes of a message, drawn.
//! * `failing_builds`, `toolchains`: what there is to read where there is no such file.
//! * `folder`: what these tests are made with.

mod build;
mod cases;
mod examine;
mod failing_builds;
mod folder;
mod new;
mod timeline;
mod toolchains;
