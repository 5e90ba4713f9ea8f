//! Reading a topic for people who look at it or put it back.
//!
//! `look`: by replay, which takes nothing. `take`: with leases, which are given back at the end.

mod look;
mod take;

pub(super) use self::look::Look;
pub(super) use self::take::Take;
