//! A shop's payment time-outs: the delay queue's main job, done on real input by real processes.
//!
//! An order that is not paid in time must be given up. The shop pushes a time-out for each order and cancels it when
//! the payment comes; four workers compete for those that become due, under a lease; one of them is killed while it
//! holds some. Every process writes down what it saw, and the end is a table made from these ledgers alone.
//!
//! `director` plays it all and starts this program again as the `shop` and as each `worker`. `make demo` runs it.

mod arguments;
mod clock;
mod director;
mod ledger;
mod order;
mod report;
mod server;
mod shop;
mod staff;
mod worker;

use std::error::Error;
use std::process::ExitCode;

use arguments::Role;

/// What can go wrong here is told to a person, as text.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("orders: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode> {
    match Role::from_arguments(std::env::args().skip(1))? {
        Role::Director(options) => director::run(&options),
        Role::Shop(place, orders) => shop::run(&place, &orders).map(|()| ExitCode::SUCCESS),
        Role::Worker(place, stop) => worker::run(&place, &stop).map(|()| ExitCode::SUCCESS),
    }
}
