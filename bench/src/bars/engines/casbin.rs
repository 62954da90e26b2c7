//! casbin: a line for each rule, the folder by `keyMatch`; one that denies beats those that allow.

use super::peers::Engine;
use crate::bars::sources::Rule;
use anyhow::{Context as _, Result, ensure};
use casbin::{CoreApi as _, DefaultModel, Enforcer, MemoryAdapter, MgmtApi as _};

const MODEL: &str = "\
[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act, eft
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = r.sub == p.sub && r.act == p.act && keyMatch(r.obj, p.obj)
";

pub(super) struct Casbin {
    enforcer: Enforcer,
    paths: Vec<String>,
}

impl Casbin {
    pub(super) fn new(rules: &[Rule], paths: &[String]) -> Result<Self> {
        let lines = rules.iter().map(|Rule { folder, granted }| {
            let effect = if *granted { "allow" } else { "deny" };
            ["worker", &format!("{folder}/*"), "read", effect].map(str::to_owned).to_vec()
        });
        let lines: Vec<Vec<String>> = lines.collect();
        let clock = tokio::runtime::Builder::new_current_thread().build().context("no runtime")?;
        let enforcer = clock.block_on(async {
            let model = DefaultModel::from_str(MODEL).await?;
            let mut enforcer = Enforcer::new(model, MemoryAdapter::default()).await?;
            ensure!(enforcer.add_policies(lines).await?, "casbin did not take the rules");
            anyhow::Ok(enforcer)
        })?;
        Ok(Self { enforcer, paths: paths.to_vec() })
    }
}

impl Engine for Casbin {
    fn answers(&mut self) -> Result<Vec<bool>> {
        let answers = self.paths.iter().map(|path| self.enforcer.enforce(("worker", path.as_str(), "read")));
        Ok(answers.collect::<Result<_, _>>()?)
    }
}
