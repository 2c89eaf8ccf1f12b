//! The whole brain, wired as in the daemon, in virtual time.

#[path = "../common/mod.rs"]
mod common;

mod anatomy;
mod attention;
mod body;
mod bridges;
mod carry;
mod channels;
mod concepts;
mod crash;
mod cues;
mod deliberation;
mod encoder;
mod energy;
mod fear;
mod fear_curve;
mod goals;
mod hands;
mod introspection;
mod memory;
mod model;
mod model_faults;
mod multistep;
mod numbers;
mod preemption;
mod rails;
mod replay;
mod retake;
mod review;
mod seeds;
mod simulation;
mod skill;
mod sleep;
mod stove;
mod structured_output;
mod thread;
mod times;
mod tls;
mod tool_index;
mod tool_servers;
mod tools;
mod utterances;
mod what_if;
mod what_is_shown;
mod why;
