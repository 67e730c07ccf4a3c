//! The producer: pushes a time-out for every order, and cancels it when the order is paid.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use redis::Connection;

use crate::Result;
use crate::arguments::Place;
use crate::ledger::{Event, Ledger};
use crate::order::{self, Order};

/// Runs until the last payment has come.
pub fn run(place: &Place, orders: &Path) -> Result<()> {
    let mut connection = redis::Client::open(place.server.as_str())?.get_connection()?;
    let mut ledger = Ledger::open(&place.ledger)?;
    let mut payments = Vec::new();
    for order in order::read(orders)? {
        push(&mut connection, &place.key, &order)?;
        ledger.write(&[Event::Pushed { id: order.id.clone() }])?;
        if let Some(paid_after_ms) = order.paid_after_ms {
            payments.push((Instant::now() + Duration::from_millis(paid_after_ms), order.id));
        }
    }
    payments.sort();
    for (time, id) in payments {
        thread::sleep(time.saturating_duration_since(Instant::now()));
        let was = cancel(&mut connection, &place.key, &id)?;
        ledger.write(&[Event::Cancelled { id, was }])?;
    }
    Ok(())
}

fn push(connection: &mut Connection, key: &str, order: &Order) -> Result<()> {
    let (id, outcome): (String, String) = redis::cmd("DQ.PUSH")
        .arg(key)
        .arg(order.message())
        .arg("DELAY")
        .arg(order.timeout_ms)
        .arg("ID")
        .arg(&order.id)
        .query(connection)?;
    if id != order.id || outcome != "created" {
        return Err(format!("pushing {} answered {id}, {outcome}", order.id).into());
    }
    Ok(())
}

/// The state that the job was in, or `gone`.
fn cancel(connection: &mut Connection, key: &str, id: &str) -> Result<String> {
    let (was,): (Option<String>,) = redis::cmd("DQ.CANCEL").arg(key).arg(id).query(connection)?;
    Ok(was.unwrap_or_else(|| "gone".into()))
}
