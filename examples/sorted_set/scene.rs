//! One way of delivering all messages, played from the first `ZADD` to the last delivery.

use std::thread;
use std::time::Duration;

use crate::Result;
use crate::arguments::Options;
use crate::server::Server;
use crate::timetable::{add_all, now_us};
use crate::worker::{Progress, Role, Work, Worker};

/// How many movers there are: a scheduled job runs on more than one machine, so that one may fail.
const MOVERS: usize = 2;
/// How long after the last due time, and the scheduled job's next run, messages are given up for lost.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long after the last message a second delivery of one could still come.
const AFTERMATH: Duration = Duration::from_millis(100);

/// A way of delivering messages.
pub struct Scene {
    pub name: &'static str,
    /// Whether DQ does it.
    pub is_ours: bool,
    pub consumer: Role,
    pub mover: Option<Role>,
}

impl Scene {
    /// Plays it; what each worker did.
    pub fn play(&self, server: &Server, options: &Options) -> Result<Vec<Work>> {
        let progress = Progress::default();
        let mut roles = vec![self.consumer; options.consumers];
        roles.extend(self.mover.iter().cycle().take(if self.mover.is_some() { MOVERS } else { 0 }));
        let mut director = server.connect()?;
        let workers = roles.iter().map(|_| {
            let connection = server.connect()?;
            Ok(Worker { connection, options, progress: &progress, work: Work::default() })
        });
        let workers = workers.collect::<Result<Vec<_>>>()?;
        let last_due_ms = add_all(&mut director, options)?;
        let patience = PATIENCE + 2 * options.period;
        let deadline_us = last_due_ms * 1000 + u64::try_from(patience.as_micros())?;
        thread::scope(|scope| {
            let running: Vec<_> = workers
                .into_iter()
                .zip(&roles)
                .map(|(mut worker, role)| scope.spawn(move || role(&mut worker).map(|()| worker.work)))
                .collect();
            let is_in_time = || now_us().is_ok_and(|now_us| now_us < deadline_us);
            while progress.delivered() < options.messages
                && is_in_time()
                && !running.iter().any(|worker| worker.is_finished())
            {
                thread::sleep(Duration::from_millis(5));
            }
            thread::sleep(AFTERMATH);
            progress.end();
            running.into_iter().map(|worker| worker.join().map_err(|_| "a worker panicked")?).collect()
        })
    }
}
