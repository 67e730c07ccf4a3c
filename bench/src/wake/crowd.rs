//! Consumers that wait together, in one thread that sleeps until something comes for one of them.

use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Resource, getrlimit, setrlimit};

use super::deliveries::{Deliveries, until_ms};
use crate::error::Result;

/// One who waits on a socket.
pub trait Consumer {
    /// The socket on which it waits.
    fn socket(&self) -> &UnixStream;
    /// Takes what has come, notes it, and asks for more.
    fn receive(&mut self, deliveries: &mut Deliveries) -> Result<()>;
}

/// Serves the consumers until all jobs have come, or until then.
pub fn consume(consumers: &mut [impl Consumer], deliveries: &mut Deliveries, until: u64) -> Result<()> {
    while !deliveries.is_complete() {
        let left = until_ms(until)?;
        if left.is_zero() {
            return Ok(());
        }
        for place in ready(consumers.iter().map(Consumer::socket), left)? {
            consumers.get_mut(place).ok_or("a place without a consumer")?.receive(deliveries)?;
        }
    }
    Ok(())
}

/// Waits until something has come on some of the sockets, and tells on which; on none after `limit`.
pub fn ready<'a>(sockets: impl Iterator<Item = &'a UnixStream>, limit: Duration) -> Result<Vec<usize>> {
    let mut watched: Vec<PollFd<'_>> = sockets.map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
    let limit = Timespec::try_from(limit)?;
    retry_on_intr(|| poll(&mut watched, Some(&limit)))?;
    let places = watched.iter().enumerate().filter(|(_, socket)| !socket.revents().is_empty());
    Ok(places.map(|(place, _)| place).collect())
}

/// Raises the number of files that this process and its servers may have open as far as the system allows.
pub fn allow_many_connections() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        eprintln!("the limit of open files stays as it is: {error}");
    }
}
