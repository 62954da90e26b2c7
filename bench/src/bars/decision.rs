//! A decision with its reasons, at 10, 1,000 and 10,000 rules: 90 % name a path, 8 % have a `*` in a component, 2 %
//! are unanchored. Paths have six components; rules hit some of them and miss others.

use super::sources::{actions, policy};
use crate::figure::{Bar, Figure};
use crate::scene::Bench;
use crate::table::Table;
use crate::timing::{Pairs, seconds};
use anyhow::{Result, ensure};
use remit_core::{Action, Effect, Verb};
use remit_policy::{Facts, Policy, decide};
use std::hint::black_box;

const SIZES: [u64; 3] = [10, 1_000, 10_000];

pub(super) fn run(group: &'static str, bench: &Bench, table: &mut Table) -> Result<()> {
    let policies: Result<Vec<Policy>> = SIZES.iter().map(|rules| policy(*rules)).collect();
    let policies = policies?;
    for (verb, name) in [(Verb::Read, "reads"), (Verb::Write, "writes")] {
        let asked: Result<Vec<Vec<Action>>> = SIZES.iter().map(|rules| actions(*rules, verb)).collect();
        let asked = asked?;
        for (policy, actions) in policies.iter().zip(&asked) {
            let allowed = actions.iter().filter(|action| effect(policy, action) == Effect::Allow).count();
            ensure!(
                allowed > 0 && allowed < actions.len(),
                "{allowed} of {} {name} are allowed",
                actions.len()
            );
        }
        let mut took: Vec<Vec<f64>> = vec![Vec::new(); SIZES.len()];
        for _ in 0..bench.rounds(60) {
            for ((policy, actions), each) in policies.iter().zip(&asked).zip(&mut took) {
                each.push(round(policy, actions)?);
            }
        }
        let bar = Bar::AtMost(Figure::seconds(0.5e-6));
        for (rules, each) in SIZES.iter().zip(&took) {
            table.alone(
                group,
                format!("{name}, {rules} rules"),
                Figure::seconds(crate::timing::median(each)),
                bar,
            );
        }
        if let [few, .., many] = took.as_slice() {
            let pairs = Pairs::of(many, few)?;
            table.beside(
                group,
                format!("{name}, 10,000 rules beside 10"),
                "10 rules",
                &pairs,
                Bar::Times(2.0),
            );
        }
    }
    Ok(())
}

fn effect(policy: &Policy, action: &Action) -> Effect {
    decide(policy, &Facts::default(), action).effect
}

/// Seconds a decision.
fn round(policy: &Policy, actions: &[Action]) -> Result<f64> {
    let took = seconds(|| {
        for action in actions {
            black_box(decide(policy, &Facts::default(), black_box(action)));
        }
        Ok(())
    })?;
    Ok(took / actions.len() as f64)
}
