//! Numbers and tables as the page shows them.

use std::time::Duration;

use crate::statistics::Spread;

/// A whole number with a comma between thousands.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A ratio or another small number, with two decimals.
pub fn decimal(number: f64) -> String {
    format!("{number:.2}")
}

/// A large number, whole and grouped.
pub fn whole(number: f64) -> String {
    grouped(number.round() as u64)
}

/// Median and ends, like `1.62 (1.55..1.70)`; a dash for nothing.
pub fn spread(spread: Option<Spread>, number: fn(f64) -> String) -> String {
    spread.map_or("-".to_string(), |spread| {
        format!("{} ({}..{})", number(spread.median), number(spread.low), number(spread.high))
    })
}

/// The median alone; a dash for nothing.
pub fn median(spread: Option<Spread>, number: fn(f64) -> String) -> String {
    spread.map_or("-".to_string(), |spread| number(spread.median))
}

/// Milliseconds with three decimals.
pub fn milliseconds(duration: Duration) -> String {
    format!("{:.3}", duration.as_secs_f64() * 1e3)
}

/// A table whose first column is text and whose other columns are numbers.
pub fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let marks: Vec<&str> =
        head.iter().enumerate().map(|(place, _)| if place == 0 { "---" } else { "---:" }).collect();
    let mut lines = vec![line(head), format!("| {} |", marks.join(" | "))];
    lines.extend(rows.iter().map(|row| line(row)));
    format!("{}\n", lines.join("\n"))
}

/// Words as owned strings, for heads of tables.
pub fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| word.to_string()).collect()
}

fn line(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}

/// Returns what a page says of itself when it comes from a smoke test; nothing otherwise.
pub fn smoke_test(quick: bool) -> &'static str {
    if quick {
        "\nThis was a smoke test (`--quick`): the numbers say that it runs, not how fast.\n"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::{grouped, owned, table};

    #[test]
    fn thousands_are_grouped() {
        let numbers = [0, 999, 1_000, 12_345, 1_234_567];
        assert_eq!(numbers.map(grouped), ["0", "999", "1,000", "12,345", "1,234,567"]);
    }

    #[test]
    fn a_table_has_a_head_and_rows() {
        let text = table(&owned(&["what", "n"]), &[owned(&["a", "1"])]);
        assert_eq!(text, "| what | n |\n| --- | ---: |\n| a | 1 |\n");
    }
}
