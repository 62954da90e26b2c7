//! The one table: what was measured, beside what, against which bar.

use crate::figure::{Bar, Figure};
use crate::machine::Machine;
use crate::timing::Pairs;
use serde_json::{Value, json};

/// A line of the table.
#[derive(Debug, Clone)]
struct Row {
    group: &'static str,
    name: String,
    ours: Option<Figure>,
    peer: Option<(String, Figure)>,
    ratio: Option<f64>,
    bar: String,
    outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Met,
    Missed,
    /// And why.
    Unmeasured(String),
    /// A session may not do it, and why.
    Refused(&'static str),
}

impl Outcome {
    fn word(&self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::Unmeasured(_) => "not measured",
            Self::Refused(_) => "refused",
        }
    }
}

/// All lines, and remarks that belong below them.
#[derive(Debug)]
pub(crate) struct Table {
    machine: Machine,
    rows: Vec<Row>,
    remarks: Vec<String>,
}

impl Table {
    pub(crate) fn new(machine: Machine) -> Self {
        Self { machine, rows: Vec::new(), remarks: Vec::new() }
    }

    /// An absolute figure.
    pub(crate) fn alone(&mut self, group: &'static str, name: impl Into<String>, ours: Figure, bar: Bar) {
        self.push(group, name.into(), ours, None, None, bar);
    }

    /// Ours beside `peer`, which both took turns.
    pub(crate) fn beside(
        &mut self,
        group: &'static str,
        name: impl Into<String>,
        peer: &str,
        pairs: &Pairs,
        bar: Bar,
    ) {
        let other = Some((peer.to_owned(), Figure::seconds(pairs.peer)));
        self.push(group, name.into(), Figure::seconds(pairs.ours), other, Some(pairs.ratio), bar);
    }

    /// What could not be measured, and why.
    pub(crate) fn missing(&mut self, group: &'static str, name: impl Into<String>, bar: &str, why: &str) {
        let outcome = Outcome::Unmeasured(why.to_owned());
        let (name, bar) = (name.into(), bar.to_owned());
        self.rows.push(Row { group, name, ours: None, peer: None, ratio: None, bar, outcome });
    }

    /// What a session was refused when it was to be measured, and why it is.
    pub(crate) fn refused(
        &mut self,
        group: &'static str,
        name: impl Into<String>,
        bar: &str,
        why: &'static str,
    ) {
        let (name, bar, outcome) = (name.into(), bar.to_owned(), Outcome::Refused(why));
        self.rows.push(Row { group, name, ours: None, peer: None, ratio: None, bar, outcome });
    }

    /// Something to know about the figures.
    pub(crate) fn remark(&mut self, words: impl Into<String>) {
        self.remarks.push(words.into());
    }

    fn push(
        &mut self,
        group: &'static str,
        name: String,
        ours: Figure,
        peer: Option<(String, Figure)>,
        ratio: Option<f64>,
        bar: Bar,
    ) {
        let outcome = match bar.met(ours, ratio) {
            Some(true) => Outcome::Met,
            Some(false) => Outcome::Missed,
            None => Outcome::Unmeasured("there is nothing to compare with".into()),
        };
        self.rows.push(Row { group, name, ours: Some(ours), peer, ratio, bar: bar.to_string(), outcome });
    }

    /// Everything could be measured.
    pub(crate) fn is_complete(&self) -> bool {
        self.rows.iter().all(|row| !matches!(row.outcome, Outcome::Unmeasured(_)))
    }

    /// The machine's own figures.
    pub(crate) fn machine(&self) -> String {
        self.machine.text()
    }

    /// For people.
    pub(crate) fn text(&self) -> String {
        let head = ["what", "ours", "peer or plain", "ratio", "bar", ""].map(str::to_owned);
        let lines: Vec<[String; 6]> = std::iter::once(head).chain(self.rows.iter().map(cells)).collect();
        let widths: Vec<usize> =
            (0..6).map(|at| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0)).collect();
        let mut text = String::new();
        for line in &lines {
            for (at, (cell, width)) in line.iter().zip(&widths).enumerate() {
                let pad = " ".repeat(width.saturating_sub(cell.chars().count()));
                let left = at == 0 || at == 5;
                text.push_str(&if left { format!("{cell}{pad}  ") } else { format!("{pad}{cell}  ") });
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        for remark in &self.remarks {
            text.push_str(&format!("note: {remark}\n"));
        }
        let count = |wanted: &str| self.rows.iter().filter(|row| row.outcome.word() == wanted).count();
        let (met, missed) = (count("met"), count("missed"));
        let (none, refused) = (count("not measured"), count("refused"));
        text.push_str(&format!("{met} met, {missed} missed, {none} not measured, {refused} refused\n"));
        text
    }

    /// For programs. `version` counts changes of the shape.
    pub(crate) fn json(&self, quick: bool) -> Value {
        let rows: Vec<Value> = self.rows.iter().map(row_json).collect();
        json!({
            "version": 1, "quick": quick, "machine": self.machine.json(), "rows": rows, "remarks": self.remarks,
        })
    }
}

fn cells(row: &Row) -> [String; 6] {
    let dash = || "-".to_owned();
    let peer = row.peer.as_ref().map_or_else(dash, |(name, figure)| format!("{name} {figure}"));
    // Two digits would say nothing of what is a hundredth and less.
    let ratio = row.ratio.map_or_else(dash, |ratio| match ratio {
        some if some > 0.0 && some < 0.05 => format!("1/{:.0}", 1.0 / some),
        some => format!("{some:.2}"),
    });
    let outcome = match &row.outcome {
        Outcome::Unmeasured(why) => format!("not measured: {why}"),
        Outcome::Refused(why) => format!("refused: {why}"),
        outcome => outcome.word().to_owned(),
    };
    let ours = row.ours.map_or_else(dash, |figure| figure.to_string());
    [format!("{}: {}", row.group, row.name), ours, peer, ratio, row.bar.clone(), outcome]
}

fn row_json(row: &Row) -> Value {
    let figure = |figure: &Figure| json!({"value": figure.value, "unit": figure.unit.name()});
    let why = match &row.outcome {
        Outcome::Unmeasured(why) => Some(why.as_str()),
        Outcome::Refused(why) => Some(*why),
        Outcome::Met | Outcome::Missed => None,
    };
    json!({
        "group": row.group,
        "name": row.name,
        "ours": row.ours.as_ref().map(figure),
        "peer": row.peer.as_ref().map(|(name, it)| json!({"name": name, "figure": figure(it)})),
        "ratio": row.ratio,
        "bar": row.bar,
        "outcome": row.outcome.word(),
        "why": why,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_bar_and_a_missing_peer_are_both_said() {
        let mut table = Table::new(Machine::default());
        let pairs = Pairs { ours: 2.0, peer: 1.0, ratio: 2.0 };
        table.beside("a", "slow", "plain", &pairs, Bar::Times(1.5));
        assert!(table.is_complete());
        table.missing("b", "peerless", "≤ 1 ×", "`bwrap` is not installed");
        assert!(!table.is_complete());
        table.refused("b", "forbidden", "≤ 1 ×", "a session may not");
        let text = table.text();
        assert!(text.contains("a: slow") && text.contains("missed"), "{text}");
        assert!(text.contains("not measured: `bwrap` is not installed"), "{text}");
        assert!(text.ends_with("0 met, 1 missed, 1 not measured, 1 refused\n"), "{text}");
        assert_eq!(table.json(false)["rows"][0]["outcome"], "missed");
        assert_eq!(table.json(false)["rows"][1]["ours"], Value::Null);
    }
}
