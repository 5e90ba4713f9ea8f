//! How long records waited on a partition that no host took care of.

use std::iter::successors;

use super::log::Log;
use super::topics::PARTITIONS;
use crate::broker::Course;
use crate::stalls::{self, Sample, Stall};

const STEP: f64 = 0.5;

/// The longest time in which confirmed records of a partition of the source waited for their first attempt, and no attempt was
/// made on any of the partition's. Only what befalls the broker or a host that comes back at once excuses it: of any other the group has to take
/// the partitions over.
pub(super) fn longest(course: &Course<'_>, log: &Log) -> Option<Stall> {
    stalls::longest((0..PARTITIONS).filter_map(|partition| of_partition(partition, course, log)))
}

fn of_partition(partition: i32, course: &Course<'_>, log: &Log) -> Option<Stall> {
    let (mut arrived, mut begun, mut attempts) = (Vec::new(), Vec::new(), Vec::new());
    for (number, message) in course.messages {
        if let Some(confirmed) = message.confirmed.filter(|_| log.partition(*number) == Some(partition)) {
            let first = message.runs.first().map(|run| run.began);
            arrived.push(first.map_or(confirmed, |first| first.min(confirmed)));
            begun.extend(first);
            // Those of a message that was delayed may have been made on its copy.
            let on_source = if log.copies(*number).len() > 1 { 1 } else { message.runs.len() };
            attempts.extend(message.runs.iter().take(on_source).map(|run| run.began));
        }
    }
    arrived.sort_by(f64::total_cmp);
    begun.sort_by(f64::total_cmp);
    attempts.sort_by(f64::total_cmp);
    let ready = |at: f64| {
        let until = |moments: &[f64]| moments.partition_point(|moment| *moment <= at);
        u32::try_from(until(&arrived) - until(&begun)).ok()
    };
    let moments = successors(Some(0.0), |at| Some(at + STEP)).take_while(|at| *at <= course.seconds);
    let samples: Vec<Sample> = moments.map(|at| Sample { at, ready: ready(at) }).collect();
    let excuses: Vec<_> = course.faults.iter().collect();
    stalls::of_one(&format!("partition {partition}"), &samples, &attempts, &excuses)
}
