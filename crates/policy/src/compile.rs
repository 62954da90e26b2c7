//! From what a document says to what each agent may do.

use crate::agent::{AgentPolicy, Ceiling, Fallback};
use crate::modes::Modes;
use crate::pattern::{Anchor, Pattern, Use};
use crate::policy::{Compiled, Policy, Words};
use crate::protected::Protected;
use crate::rules::{Point, Scope};
use crate::shown::shown;
use crate::source::{AgentSource, At, For, Git, PolicySource, Root, RuleSource};
use crate::{Access, World, digest, notes, roles};
use remit_core::{AbsPath, AgentName, Diagnostic, Effect, Place, Rule};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Anchor {
    /// For `global_rules`, approvals and `base_workspace` itself: relative means relative to the workspace,
    /// so that a rule for many names the same place for each.
    pub fn of_workspace(source: &PolicySource, world: &World) -> Anchor {
        Anchor {
            base: world.workspace.clone(),
            workspace: world.workspace.clone(),
            home: world.home.clone(),
            root: source.root.as_ref().map_or(Root::default(), |root| root.value),
        }
    }

    /// For the rules of an agent and of its roles: relative means relative to its `base_workspace`.
    pub fn of_agent(source: &PolicySource, world: &World, agent: &AgentSource) -> Result<Anchor, Diagnostic> {
        let anchor = Anchor::of_workspace(source, world);
        let Some(base) = &agent.base_workspace else { return Ok(anchor) };
        let pattern = Pattern::parse(base, &anchor, Use::Grant)?;
        match pattern.literal() {
            Some(folder) => Ok(Anchor { base: folder.clone(), ..anchor }),
            None => {
                let message = format!("`{}` has wildcards", base.value);
                Err(Diagnostic::error("wild-base-workspace", base.place.clone(), message)
                    .help(one_folder(&base.value)))
            }
        }
    }
}

/// The way out of a folder with wildcards: names such as `[id]` are common, and are spelled with a backslash.
fn one_folder(text: &str) -> String {
    let plain: String = text.chars().flat_map(|c| if c == '[' { vec!['\\', c] } else { vec![c] }).collect();
    if text.contains('[') && !text.contains(['*', '?', '\\']) {
        format!("name one folder; `{plain}` is the one whose name has brackets")
    } else {
        "name one folder; `\\` before a `*`, `?` or `[` makes a plain character of it".to_owned()
    }
}

/// Findings as they come up; a role's rule is read once for each agent and reported once.
#[derive(Default)]
struct Findings {
    list: Vec<Diagnostic>,
    seen: BTreeSet<(Place, String)>,
}

impl Findings {
    /// Takes a finding, its words made fit to be shown: a document can name things as it likes.
    fn add(&mut self, mut finding: Diagnostic) {
        finding.message = shown(&finding.message);
        finding.help = finding.help.as_deref().map(shown);
        if self.seen.insert((finding.place.clone(), finding.message.clone())) {
            self.list.push(finding);
        }
    }

    fn extend(&mut self, findings: impl IntoIterator<Item = Diagnostic>) {
        findings.into_iter().for_each(|finding| self.add(finding));
    }

    fn keep<T>(&mut self, result: Result<T, Diagnostic>) -> Option<T> {
        result.map_err(|finding| self.add(finding)).ok()
    }

    fn points(&mut self, rules: &[RuleSource], anchor: &Anchor, scope: Scope) -> Vec<Point> {
        rules.iter().filter_map(|rule| self.keep(point(rule, anchor, scope))).collect()
    }
}

pub(crate) fn compile(source: &PolicySource, world: &World) -> Result<Compiled, Vec<Diagnostic>> {
    let mut found = Findings::default();
    found.extend(roles::check(source));
    let fallback = found.keep(fallback(source));
    let workspace = Anchor::of_workspace(source, world);
    let mut global = Vec::new();
    for (rule, whom) in &source.global_rules {
        found.extend(check_whom(source, whom));
        global.extend(found.keep(point(rule, &workspace, Scope::Global)).map(|point| (point, whom)));
    }
    for role in source.roles.values() {
        found.points(&role.permissions, &workspace, Scope::Role);
    }
    for approval in &source.approvals {
        found.keep(Pattern::parse(&approval.path, &workspace, Use::Limit));
    }
    let scratch = source.scratch.iter();
    let scratch =
        scratch.filter_map(|path| found.keep(Pattern::parse(path, &workspace, Use::Limit))).collect();
    let mut ready: BTreeMap<&String, (Vec<Point>, Option<Ceiling>)> = BTreeMap::new();
    for (name, agent) in &source.agents {
        if let Err(error) = AgentName::new(name) {
            found.add(Diagnostic::error("bad-agent-name", agent.place.clone(), error.to_string()));
        }
        let chain = roles::chain(source, &agent.roles);
        let mut points: Vec<Point> = global
            .iter()
            .filter(|(_, whom)| binds(whom, name, &chain))
            .map(|(point, _)| point.clone())
            .collect();
        if let Some(anchor) = found.keep(Anchor::of_agent(source, world, agent)) {
            for role in chain.iter().filter_map(|role| source.roles.get(*role)) {
                points.extend(found.points(&role.permissions, &anchor, Scope::Role));
            }
            points.extend(found.points(&agent.permissions, &anchor, Scope::Agent));
            let hidden = without_git(name, agent, &points, world);
            points.extend(hidden);
            for request in &agent.requests {
                found.keep(point(&request.rule, &anchor, Scope::Agent));
            }
            for capability in agent.requires.iter().chain(&agent.provides) {
                found.keep(point(&capability.rule, &anchor, Scope::Agent));
            }
        }
        ready.insert(name, (points, agent.max_access.as_ref().map(|max| ceiling(name, max))));
    }
    let (Some(fallback), true) = (fallback, found.list.is_empty()) else { return Err(found.list) };
    let agents: BTreeMap<String, AgentPolicy> = ready
        .into_iter()
        .map(|(name, (points, ceiling))| {
            (name.clone(), AgentPolicy::new(points, ceiling, fallback.clone(), world))
        })
        .collect();
    let protected = Protected::new(world, &agents);
    found.extend(notes::notes(source, &agents, &protected));
    let words = Words {
        network: Arc::from("connections are not held yet; every one is allowed"),
        mismatch: Arc::from("the verb does not go with its object"),
        tool: Arc::from("no rule takes this tool away; what it does is judged by itself"),
    };
    let modes = Modes::of_all(source);
    let (source, world) = (source.clone(), world.clone());
    let digest = digest::digest(&source, &world);
    let policy = Policy { source, world, protected, agents, modes, scratch, digest, epoch: 1, words };
    Ok(Compiled { policy, notes: found.list })
}

fn point(rule: &RuleSource, anchor: &Anchor, scope: Scope) -> Result<Point, Diagnostic> {
    let access = rule.access.value;
    let usage = if access.is_none() || access == Access::READ { Use::Limit } else { Use::Grant };
    let pattern = Pattern::parse(&rule.path, anchor, usage)?;
    let text = format!("{} {access}", shown(&rule.path.value));
    let rule = Rule { id: Arc::clone(&rule.id), text: text.into(), place: Some(rule.path.place.clone()) };
    Ok(Point { pattern, access, rule: Arc::new(rule), scope })
}

/// `git: none`: every `.git` in the workspace, wherever it points, all git folders of the checkout, and those of the
/// folders above it that the agent's rules would open.
fn without_git(name: &str, agent: &AgentSource, points: &[Point], world: &World) -> Vec<Point> {
    let Some(At { value: Git::None, place }) = &agent.git else { return Vec::new() };
    let rule = setting("git", "none", format!("agents.{name}.git"), place);
    let any = At { value: "**/.git".to_owned(), place: place.clone() };
    let (base, workspace) = (world.workspace.clone(), world.workspace.clone());
    let anchor = Anchor { base, workspace, home: world.home.clone(), root: Root::Host };
    let any = Pattern::parse(&any, &anchor, Use::Limit).ok();
    let own = world.workspace.join(b".git").ok();
    let opened = |git: &AbsPath| points.iter().any(|p| !p.access.is_none() && p.pattern.matches(git));
    let above = std::iter::successors(world.workspace.parent(), AbsPath::parent);
    let above = above.filter_map(|folder| folder.join(b".git").ok()).filter(opened);
    let elsewhere = world.git_dirs.iter().chain(world.linked.as_ref().map(|linked| &linked.common));
    let mut folders: Vec<AbsPath> = own.into_iter().chain(above).chain(elsewhere.cloned()).collect();
    folders.sort_unstable();
    folders.dedup();
    let patterns = any.into_iter().chain(folders.iter().map(Pattern::of));
    let none =
        |pattern| Point { pattern, access: Access::NONE, rule: Arc::clone(&rule), scope: Scope::Agent };
    patterns.map(none).collect()
}

fn setting(key: &str, value: impl std::fmt::Display, id: String, place: &Place) -> Arc<Rule> {
    Arc::new(Rule { id: id.into(), text: format!("{key}: {value}").into(), place: Some(place.clone()) })
}

fn ceiling(agent: &str, max: &At<Access>) -> Ceiling {
    let id = format!("agents.{agent}.max_access");
    Ceiling { access: max.value, rule: setting("max_access", max.value, id, &max.place) }
}

/// Why the default refuses where it says to ask.
const NOBODY: &str = "no rule covers it, and the default is to ask, but nobody can be asked yet";

fn fallback(source: &PolicySource) -> Result<Fallback, Diagnostic> {
    let stated = source.default_policy.as_ref();
    let effect = stated.map_or(Effect::Deny, |stated| stated.value);
    if let Some(stated) = stated
        && effect != Effect::Deny
        && !source.allow_insecure_default
    {
        let what = match effect {
            Effect::Ask => "leaves what no rule speaks of to whoever is asked",
            _ => "lets every agent do what no rule speaks of",
        };
        let message = format!("`default_policy: {effect}` {what}");
        return Err(Diagnostic::error("insecure-default", stated.place.clone(), message)
            .help("write `default_policy: deny`, or confirm it with `allow_insecure_default: true`"));
    }
    let rule = stated.map(|s| setting("default_policy", effect, "default_policy".to_owned(), &s.place));
    Ok(Fallback { effect, rule, asks: Arc::from(NOBODY) })
}

fn binds(whom: &For, agent: &str, chain: &[&str]) -> bool {
    match whom {
        For::All => true,
        For::These(names) => {
            names.iter().any(|name| name.value == agent || chain.contains(&name.value.as_str()))
        }
    }
}

fn check_whom(source: &PolicySource, whom: &For) -> Vec<Diagnostic> {
    let For::These(names) = whom else { return Vec::new() };
    let known = |name: &String| source.agents.contains_key(name) || source.roles.contains_key(name);
    let unknown = names.iter().filter(|name| !known(&name.value));
    unknown
        .map(|name| {
            let message = format!("`{}` is neither an agent nor a role", name.value);
            let all = roles::names(source.agents.keys().chain(source.roles.keys()));
            Diagnostic::error("unknown-name", name.place.clone(), message).help(format!("there are {all}"))
        })
        .collect()
}
