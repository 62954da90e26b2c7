//! Moments: UTC, microseconds, one spelling.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::time::SystemTime;

/// A moment, to the microsecond. As text always 27 characters: `2026-01-02T03:04:05.000006Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(Timestamp);

impl Time {
    /// Takes the one spelling; `None` for every other, even of the same moment.
    pub fn parse(text: &str) -> Option<Self> {
        let time = Self(text.parse().ok()?);
        (time.to_string() == text).then_some(time)
    }

    /// The moment for arithmetic.
    pub fn timestamp(self) -> Timestamp {
        self.0
    }
}

impl From<Timestamp> for Time {
    /// What is finer than a microsecond is cut off.
    fn from(time: Timestamp) -> Self {
        Self(Timestamp::from_microsecond(time.as_microsecond()).unwrap_or(Timestamp::UNIX_EPOCH))
    }
}

impl From<SystemTime> for Time {
    /// A clock that stands before 1970 or after 9999 counts as 1970: a record must be written even then.
    fn from(time: SystemTime) -> Self {
        Timestamp::try_from(time)
            .ok()
            .filter(|time| *time >= Timestamp::UNIX_EPOCH)
            .map_or(Self(Timestamp::UNIX_EPOCH), Self::from)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}", self.0)
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("not a time in UTC with microseconds"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_time_has_one_spelling() {
        let time = Time::from(SystemTime::UNIX_EPOCH + Duration::new(1_767_323_045, 6_999));
        assert_eq!(time.to_string(), "2026-01-02T03:04:05.000006Z");
        assert_eq!(Time::parse("2026-01-02T03:04:05.000006Z"), Some(time));
        for other in
            ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000006+00:00", "2026-01-02t03:04:05.000006Z", ""]
        {
            assert_eq!(Time::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_clock_before_the_epoch_still_gives_a_time() {
        let before = SystemTime::UNIX_EPOCH - Duration::from_secs(5);
        assert_eq!(Time::from(before).to_string(), "1970-01-01T00:00:00.000000Z");
    }
}
