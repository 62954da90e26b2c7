//! The engine beside general ones on the same rules and the same requests: folders for one agent, one rule in ten
//! takes a folder inside a granted one away. Each engine has to give the right answers before it is timed.
//!
//! The others are given what they need at its best: their requests are made before the clock starts, and each rule
//! is written in the form that its engine is fastest with (a prefix, no regular expression). Rego is there twice: as
//! people write it first, a look through all rules, and with the rules as a table that is asked for each folder
//! above the path. They answer more general questions than ours, and none gives the rule's place with the answer.

#[cfg(feature = "peers")]
mod casbin;
#[cfg(feature = "peers")]
mod cedar;
#[cfg(feature = "peers")]
mod rego;

use crate::scene::Bench;
use crate::table::Table;
use anyhow::Result;

#[cfg(not(feature = "peers"))]
pub(super) fn run(group: &'static str, _: &Bench, table: &mut Table) -> Result<()> {
    table.remark(format!(
        "{group}: by name only, since its peers take minutes to build: `cargo xtask bench {group}`"
    ));
    Ok(())
}

#[cfg(feature = "peers")]
pub(super) fn run(group: &'static str, bench: &Bench, table: &mut Table) -> Result<()> {
    peers::run(group, bench, table)
}

#[cfg(feature = "peers")]
mod peers {
    use super::super::sources::{self, Rule};
    use super::{casbin::Casbin, cedar::Cedar, rego::Rego};
    use crate::figure::Bar;
    use crate::scene::Bench;
    use crate::table::Table;
    use crate::timing::{Pairs, seconds};
    use anyhow::{Result, ensure};
    use remit_core::{Effect, Verb};
    use remit_policy::{Facts, decide};
    use std::hint::black_box;

    /// An engine with its rules and requests loaded.
    pub(in super::super) trait Engine {
        /// Whether each request is allowed, in order.
        fn answers(&mut self) -> Result<Vec<bool>>;
    }

    const SIZES: [usize; 3] = [10, 1_000, 10_000];

    pub(super) fn run(group: &'static str, bench: &Bench, table: &mut Table) -> Result<()> {
        for size in SIZES {
            let rules = sources::folders(size);
            let asked = sources::asked(&rules);
            let wanted: Vec<bool> = asked.iter().map(|(_, allowed)| *allowed).collect();
            let paths: Vec<String> = asked.into_iter().map(|(path, _)| path).collect();
            let mut ours = Ours::new(&rules, &paths)?;
            ensure!(ours.answers()? == wanted, "the engine answers {:?}, not {wanted:?}", ours.answers()?);
            let peers: [(&str, Box<dyn Engine>); 4] = [
                ("cedar-policy", Box::new(Cedar::new(&rules, &paths)?)),
                ("regorus", Box::new(Rego::scan(&rules, &paths)?)),
                ("regorus, indexed", Box::new(Rego::indexed(&rules, &paths)?)),
                ("casbin", Box::new(Casbin::new(&rules, &paths)?)),
            ];
            // A hundred times at 1,000 rules is what is wanted; at the others, to be the faster one.
            let bar = Bar::Faster(if size == 1_000 { 100.0 } else { 1.0 });
            for (name, mut peer) in peers {
                ensure!(peer.answers()? == wanted, "{name} answers {:?}, not {wanted:?}", peer.answers()?);
                let (mut own, mut other) = (Vec::new(), Vec::new());
                for _ in 0..bench.rounds(20) {
                    own.push(each(&mut ours, paths.len(), 200)?);
                    other.push(each(peer.as_mut(), paths.len(), 1)?);
                }
                table.beside(group, format!("{size} rules"), name, &Pairs::of(&own, &other)?, bar);
            }
        }
        Ok(())
    }

    /// Seconds an answer, over so many goes.
    fn each(engine: &mut dyn Engine, requests: usize, goes: usize) -> Result<f64> {
        let took = seconds(|| {
            for _ in 0..goes {
                black_box(engine.answers()?);
            }
            Ok(())
        })?;
        Ok(took / (requests * goes) as f64)
    }

    struct Ours {
        policy: remit_policy::Policy,
        actions: Vec<remit_core::Action>,
    }

    impl Ours {
        fn new(rules: &[Rule], paths: &[String]) -> Result<Self> {
            let actions = paths.iter().map(|path| sources::action(path, Verb::Read));
            Ok(Self { policy: sources::of_folders(rules)?, actions: actions.collect::<Result<_>>()? })
        }
    }

    impl Engine for Ours {
        fn answers(&mut self) -> Result<Vec<bool>> {
            let decided = self.actions.iter().map(|action| decide(&self.policy, &Facts::default(), action));
            Ok(decided.map(|decision| decision.effect == Effect::Allow).collect())
        }
    }
}
