//! Figures with their units, and bars that they are held against.

use std::fmt;

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Shown as ns, µs, ms or s.
    Seconds,
    /// Shown as MB (10⁶).
    Bytes,
    /// Shown as KiB.
    Kibibytes,
    /// Something a second.
    PerSecond,
    /// Bytes a second, shown as MB/s (10⁶).
    BytesPerSecond,
    /// A plain count.
    Count,
}

/// A number and what it counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figure {
    pub(crate) value: f64,
    pub(crate) unit: Unit,
}

impl Figure {
    pub(crate) fn seconds(value: f64) -> Self {
        Self { value, unit: Unit::Seconds }
    }

    pub(crate) fn new(value: f64, unit: Unit) -> Self {
        Self { value, unit }
    }
}

impl Unit {
    /// The name in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Bytes => "bytes",
            Self::Kibibytes => "kibibytes",
            Self::PerSecond => "per second",
            Self::BytesPerSecond => "bytes per second",
            Self::Count => "count",
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.value;
        match self.unit {
            Unit::Seconds => {
                let (scaled, name) = match value.abs() {
                    at if at < 1e-6 => (value * 1e9, "ns"),
                    at if at < 1e-3 => (value * 1e6, "µs"),
                    at if at < 1.0 => (value * 1e3, "ms"),
                    _ => (value, "s"),
                };
                let digits = if scaled.abs() < 10.0 { 2 } else { 1 };
                write!(to, "{scaled:.digits$} {name}")
            }
            Unit::Bytes => write!(to, "{:.1} MB", value / 1e6),
            Unit::Kibibytes => write!(to, "{value:.0} KiB"),
            Unit::PerSecond => write!(to, "{value:.0} /s"),
            Unit::BytesPerSecond => write!(to, "{:.0} MB/s", value / 1e6),
            Unit::Count => write!(to, "{value:.0}"),
        }
    }
}

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Bar {
    /// Ours at most this.
    AtMost(Figure),
    /// Ours at least this.
    AtLeast(Figure),
    /// Ours exactly this.
    Exactly(Figure),
    /// Ours at most so many times the other.
    Times(f64),
    /// Ours so many times faster than the other.
    Faster(f64),
}

impl Bar {
    /// Whether ours, and how many times the other it is, meets it; none if the figure that it needs is not there.
    pub(crate) fn met(self, ours: Figure, ratio: Option<f64>) -> Option<bool> {
        match self {
            Self::AtMost(most) => Some(ours.value <= most.value),
            Self::AtLeast(least) => Some(ours.value >= least.value),
            Self::Exactly(wanted) => Some((ours.value - wanted.value).abs() < 0.5),
            Self::Times(most) => ratio.map(|ratio| ratio <= most),
            Self::Faster(least) => ratio.map(|ratio| ratio > 0.0 && 1.0 / ratio >= least),
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(figure) => write!(to, "≤ {figure}"),
            Self::AtLeast(figure) => write!(to, "≥ {figure}"),
            Self::Exactly(figure) => write!(to, "= {figure}"),
            Self::Times(most) => write!(to, "≤ {most} ×"),
            Self::Faster(least) => write!(to, "{least} × faster"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_shown_in_the_unit_that_fits() {
        let shown = |seconds: f64| Figure::seconds(seconds).to_string();
        assert_eq!(shown(4.2e-7), "420.0 ns");
        assert_eq!(shown(2.5e-6), "2.50 µs");
        assert_eq!(shown(0.0123), "12.3 ms");
        assert_eq!(shown(3.0), "3.00 s");
    }

    #[test]
    fn a_bar_is_met_on_its_edge_and_missed_beyond() {
        let ours = Figure::seconds(2.0);
        assert_eq!(Bar::AtMost(Figure::seconds(2.0)).met(ours, None), Some(true));
        assert_eq!(Bar::AtMost(Figure::seconds(1.9)).met(ours, None), Some(false));
        assert_eq!(Bar::AtLeast(Figure::seconds(2.1)).met(ours, None), Some(false));
        assert_eq!(Bar::Times(5.0).met(ours, Some(5.0)), Some(true));
        assert_eq!(Bar::Times(5.0).met(ours, Some(5.1)), Some(false));
        assert_eq!(Bar::Faster(8.0).met(ours, Some(0.125)), Some(true));
        assert_eq!(Bar::Faster(8.0).met(ours, Some(0.126)), Some(false));
        assert_eq!(
            Bar::Exactly(Figure::new(8.0, Unit::Count)).met(Figure::new(7.0, Unit::Count), None),
            Some(false)
        );
    }

    #[test]
    fn a_ratio_that_is_not_there_meets_nothing() {
        assert_eq!(Bar::Times(5.0).met(Figure::seconds(1.0), None), None);
    }
}
