//! The command line.

use std::fmt;
use std::time::Duration;

use crate::Result;

const USAGE: &str = "sorted_set [--port N] [--messages N] [--seconds N] [--consumers N] [--poll MS] [--period MS]
  --port N       use the running server on this port of this machine (default: a server of its own)
  --messages N   how many messages there are (default: 2000)
  --seconds N    over how many seconds they become due (default: 5)
  --consumers N  how many consumers there are (default: 4)
  --poll MS      how long a polling consumer rests when it has found nothing (default: 10)
  --period MS    how often the scheduled job runs (default: 2000; in life, once a minute)
DQ_MODULE names the module and DQ_SERVER the server that it starts (default: target/release/libdq.so, redis-server).";

/// What a person can choose.
pub struct Options {
    pub port: Option<u16>,
    pub messages: usize,
    pub seconds: u64,
    pub consumers: usize,
    pub poll: Duration,
    pub period: Duration,
}

impl Options {
    /// Reads the arguments that follow the program's name.
    pub fn parse(arguments: impl Iterator<Item = String>) -> Result<Options> {
        let words: Vec<String> = arguments.collect();
        let mut options = Options {
            port: None,
            messages: 2000,
            seconds: 5,
            consumers: 4,
            poll: Duration::from_millis(10),
            period: Duration::from_millis(2000),
        };
        for pair in words.chunks(2) {
            let [name, value] = pair else { return Err(USAGE.into()) };
            let number: u64 = value.parse().map_err(|_| format!("{value:?} is no number\n{USAGE}"))?;
            match name.as_str() {
                "--port" => options.port = Some(u16::try_from(number)?),
                "--messages" => options.messages = usize::try_from(number)?,
                "--seconds" => options.seconds = number,
                "--consumers" => options.consumers = usize::try_from(number)?,
                "--poll" => options.poll = Duration::from_millis(number),
                "--period" => options.period = Duration::from_millis(number),
                other => return Err(format!("{other:?} was not understood\n{USAGE}").into()),
            }
        }
        if options.messages == 0 || options.consumers == 0 || options.period.is_zero() {
            return Err(format!("messages, consumers and period must be at least 1\n{USAGE}").into());
        }
        Ok(options)
    }
}

impl fmt::Display for Options {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let Options { messages, seconds, consumers, poll, period, .. } = self;
        write!(
            out,
            "{messages} messages become due within {seconds} s, a quarter of them in bursts; {consumers} consumers.\n\
             A poller that finds nothing rests {poll:?}. The scheduled job runs every {period:?}, on two machines; in life it \
             would be\nevery minute, and late by up to a minute. Of movers that wait there are two as well."
        )
    }
}
