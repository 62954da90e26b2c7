//! The program itself: how large it is, and how long it takes to say its version.

use crate::figure::{Bar, Figure, Unit};
use crate::scene::{Bench, Scene, quiet};
use crate::table::Table;
use crate::timing::{Pairs, seconds};
use anyhow::Result;

pub(super) fn run(group: &'static str, bench: &Bench, table: &mut Table) -> Result<()> {
    let size = std::fs::metadata(&bench.remit)?.len() as f64;
    let bar = Bar::AtMost(Figure::new(25e6, Unit::Bytes));
    table.alone(group, "size of the program", Figure::new(size, Unit::Bytes), bar);

    let scene = Scene::new(bench, bench.disk())?;
    let (mut ours, mut plain) = (Vec::new(), Vec::new());
    for _ in 0..bench.rounds(101) {
        ours.push(seconds(|| quiet(scene.remit().arg("--version")))?);
        plain.push(seconds(|| quiet(&mut scene.plain("true")))?);
    }
    let bar = Bar::AtMost(Figure::seconds(3e-3));
    table.beside(group, "`remit --version`, whole process", "`true`", &Pairs::of(&ours, &plain)?, bar);
    Ok(())
}
