//! How fast letters go back.

use std::time::Duration;

/// The time from one letter to the next, written as a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rate(pub(super) Duration);

/// `50/s`, `600/m` or `1000/h`; the number is above zero.
pub(super) fn parse_rate(text: &str) -> Result<Rate, String> {
    let cure = || "write a number and a unit, such as 50/s, 600/m or 1000/h".to_owned();
    let (number, unit) = text.split_once('/').ok_or_else(cure)?;
    let number: u32 = number.trim().parse().map_err(|_| cure())?;
    let unit = match unit.trim() {
        "s" => Duration::from_secs(1),
        "m" | "min" => Duration::from_secs(60),
        "h" => Duration::from_secs(60 * 60),
        _ => return Err(cure()),
    };
    unit.checked_div(number).map(Rate).ok_or_else(cure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_in_a_unit_of_time() {
        assert_eq!(parse_rate("50/s"), Ok(Rate(Duration::from_millis(20))));
        assert_eq!(parse_rate("30/m"), Ok(Rate(Duration::from_secs(2))));
        assert_eq!(parse_rate("1/h"), Ok(Rate(Duration::from_secs(3600))));
        for wrong in ["50", "0/s", "-1/s", "fast/s", "5/d", "/"] {
            assert!(parse_rate(wrong).unwrap_err().contains("50/s"), "{wrong}");
        }
    }
}
