//! The orders file: one order a line, without quoting.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::Result;

const HEAD: &str = "order_id,customer,amount_cents,timeout_ms,paid_after_ms";

/// An order, and what became of it in real life.
#[derive(Debug, PartialEq)]
pub struct Order {
    pub id: String,
    pub customer: String,
    pub amount_cents: u64,
    /// How long after the order the customer may pay.
    pub timeout_ms: u64,
    /// How long after the order the customer paid; before the time-out, or never.
    pub paid_after_ms: Option<u64>,
}

impl Order {
    /// The message that the time-out's job carries.
    pub fn message(&self) -> String {
        json!({"order_id": self.id, "customer": self.customer, "amount_cents": self.amount_cents}).to_string()
    }
}

/// The order that a message is about.
pub fn id_in(message: &[u8]) -> Result<String> {
    let message: Value = serde_json::from_slice(message)?;
    let id = message.get("order_id").and_then(Value::as_str);
    Ok(id.ok_or("a message without its order_id")?.to_owned())
}

/// Reads every order of a file.
pub fn read(file: &Path) -> Result<Vec<Order>> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut lines = text.lines();
    if lines.next() != Some(HEAD) {
        return Err(format!("{}: the first line must be {HEAD}", file.display()).into());
    }
    lines
        .zip(2..)
        .map(|(line, number)| {
            parse(line).map_err(|error| format!("{}:{number}: {error}", file.display()).into())
        })
        .collect()
}

fn parse(line: &str) -> Result<Order> {
    let fields: Vec<&str> = line.split(',').collect();
    let &[id, customer, amount, timeout, paid] = fields.as_slice() else {
        return Err(format!("{} fields instead of 5", fields.len()).into());
    };
    if id.is_empty() || id.contains(' ') {
        return Err("an order_id must be one word".into());
    }
    Ok(Order {
        id: id.to_owned(),
        customer: customer.to_owned(),
        amount_cents: amount.parse()?,
        timeout_ms: timeout.parse()?,
        paid_after_ms: if paid.is_empty() { None } else { Some(paid.parse()?) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_becomes_an_order() -> Result<()> {
        let order = parse("A-1,Ada Berg,990,700,")?;
        let expected = Order {
            id: "A-1".into(),
            customer: "Ada Berg".into(),
            amount_cents: 990,
            timeout_ms: 700,
            paid_after_ms: None,
        };
        assert_eq!(order, expected);
        assert_eq!(parse("A-1,Ada Berg,990,700,250")?.paid_after_ms, Some(250));
        Ok(())
    }

    #[test]
    fn a_line_that_is_no_order_is_refused() {
        for line in ["", "A-1,Ada Berg,990,700", "A-1,Ada Berg,990,soon,", "A 1,Ada Berg,990,700,"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_message_tells_its_order() -> Result<()> {
        let message = parse("A-1,\"Ada\" Berg,990,700,")?.message();
        assert_eq!(id_in(message.as_bytes())?, "A-1");
        Ok(())
    }
}
