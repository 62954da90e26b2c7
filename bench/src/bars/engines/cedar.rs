//! cedar-policy: a `permit` or `forbid` for each rule, the folder by `like`.

use super::peers::Engine;
use crate::bars::sources::Rule;
use anyhow::{Result, anyhow};
use cedar_policy::{
    Authorizer, Context, Decision, Entities, EntityUid, PolicySet, Request, RestrictedExpression,
};
use std::fmt::Write as _;

pub(super) struct Cedar {
    authorizer: Authorizer,
    policies: PolicySet,
    entities: Entities,
    requests: Vec<Request>,
}

impl Cedar {
    pub(super) fn new(rules: &[Rule], paths: &[String]) -> Result<Self> {
        let mut text = String::new();
        for Rule { folder, granted } in rules {
            let effect = if *granted { "permit" } else { "forbid" };
            writeln!(
                text,
                "{effect}(principal == Agent::\"worker\", action == Action::\"read\", resource) \
                 when {{ context.path like \"{folder}/*\" }};"
            )?;
        }
        let requests = paths.iter().map(|path| request(path));
        Ok(Self {
            authorizer: Authorizer::new(),
            policies: text.parse().map_err(|e| anyhow!("{e}"))?,
            entities: Entities::empty(),
            requests: requests.collect::<Result<_>>()?,
        })
    }
}

fn request(path: &str) -> Result<Request> {
    let uid = |text: &str| text.parse::<EntityUid>().map_err(|e| anyhow!("{e}"));
    let path = ("path".to_owned(), RestrictedExpression::new_string(path.to_owned()));
    let context = Context::from_pairs([path])?;
    Ok(Request::new(
        uid("Agent::\"worker\"")?,
        uid("Action::\"read\"")?,
        uid("File::\"it\"")?,
        context,
        None,
    )?)
}

impl Engine for Cedar {
    fn answers(&mut self) -> Result<Vec<bool>> {
        let decided = self
            .requests
            .iter()
            .map(|request| self.authorizer.is_authorized(request, &self.policies, &self.entities).decision());
        Ok(decided.map(|decision| decision == Decision::Allow).collect())
    }
}
