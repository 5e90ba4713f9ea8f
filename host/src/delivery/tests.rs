//! The rules of settlement, as they show in the machine alone.

mod arrivals;
mod attributes;
mod copies;
mod orders_of_events;
mod overrides;
mod settlement;
mod world;
