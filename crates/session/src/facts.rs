//! What stands against an action beside the rules for its own paths: it would be refused in a session all the same,
//! by the view, by the gate, or for the sake of what lies below a folder. Every door that answers before something
//! is done (`explain`, the hook in a session and outside) asks here, so that each says what the kernel will do.
//!
//! What only the gate can know is not told: who made a temporary sibling during the session, whether a file or a
//! folder is to be made, and what is reached by a descriptor from outside or is another process.

use crate::holder::planned;
use crate::listings::remembering;
use crate::warden::{FIXED_VIEW, FOREIGN_SIBLING, NO_FOLDER, NOT_PLAIN};
use remit_core::{AbsPath, Action, Decision, Effect, Object, Reason, Verb, Why};
use remit_policy::{Access, AgentPolicy, Explanation, Facts, Policy, decide, explain, naming};
use remit_sandbox::plan::{Extra, Plan, Source};
use remit_sandbox::subtree::{LISTED, MOST, Obstacle, first_fixed, is_free};
use rustix::fs::{AtFlags, CWD, FileType, Mode, openat, statat};
use std::path::PathBuf;
use std::sync::OnceLock;

/// Where one looks from: at the view of one agent's session.
#[derive(Debug)]
pub struct Sight(Stand);

#[derive(Debug)]
enum Stand {
    /// The session runs, and this was planned for it.
    Session(Box<Plan>),
    /// There is none: what it would be given is planned when somebody needs to know.
    Outside { listings: PathBuf, plan: OnceLock<Box<Plan>> },
}

/// What stands against an action.
enum Objection {
    /// In words; and the path for which a rule of its own would change that.
    Words(String, Option<AbsPath>),
    /// What lies at this path below, and by which reason.
    Below(AbsPath, Reason),
}

impl Objection {
    fn words(why: impl Into<String>) -> Self {
        Self::Words(why.into(), None)
    }

    fn facts(&self) -> Facts {
        match self {
            Self::Words(why, _) => Facts::against(why.as_str()),
            Self::Below(path, reason) => Facts::below(path, reason),
        }
    }
}

impl Sight {
    /// From a session that runs by this plan.
    pub fn of_session(plan: &Plan) -> Self {
        Self(Stand::Session(Box::new(plan.clone())))
    }

    /// From outside all sessions; what folders hold is remembered in this file.
    pub fn outside(listings: PathBuf) -> Self {
        Self(Stand::Outside { listings, plan: OnceLock::new() })
    }

    /// The facts about an action of the agent's.
    pub fn facts(&self, policy: &Policy, action: &Action) -> Facts {
        self.objection(policy, action).map(|objection| objection.facts()).unwrap_or_default()
    }

    /// The decision on an action of the agent's, explained.
    pub fn explain(&self, policy: &Policy, action: &Action) -> Explanation {
        let Some(objection) = self.objection(policy, action) else {
            return explain(policy, &Facts::default(), action);
        };
        let mut explanation = explain(policy, &objection.facts(), action);
        if let Objection::Words(_, mends) = objection {
            explanation.remedy = mends.map(|path| naming(policy, action, &path));
        }
        explanation
    }

    fn objection(&self, policy: &Policy, action: &Action) -> Option<Objection> {
        let decision = decide(policy, &Facts::default(), action);
        let agent = policy.agent(action.actor.agent.as_str())?;
        let on_paths = matches!(action.object, Object::Path(_) | Object::Move { .. });
        if decision.effect == Effect::Deny || !on_paths {
            return None;
        }
        let eyes = Eyes { sight: self, policy, agent, action, decision };
        let early = eyes.hidden().or_else(|| eyes.foreign_sibling()).or_else(|| eyes.fixed());
        early.or_else(|| eyes.misshapen()).or_else(|| eyes.below())
    }

    fn plan(&self, policy: &Policy, agent: &AgentPolicy) -> &Plan {
        match &self.0 {
            Stand::Session(plan) => plan,
            Stand::Outside { listings, plan } => plan.get_or_init(|| {
                let own = |target: &AbsPath| Extra { target: target.clone(), source: Source::Memory };
                let extras: Vec<Extra> = policy.world().private.iter().map(own).collect();
                Box::new(remembering(listings, |disk| planned(policy, agent, (&extras, None), disk)))
            }),
        }
    }
}

/// One look at one action that the rules do not deny.
struct Eyes<'a> {
    sight: &'a Sight,
    policy: &'a Policy,
    agent: &'a AgentPolicy,
    action: &'a Action,
    decision: Decision,
}

impl Eyes<'_> {
    fn is_outside(&self) -> bool {
        matches!(self.sight.0, Stand::Outside { .. })
    }

    fn plan(&self) -> &Plan {
        self.sight.plan(self.policy, self.agent)
    }

    /// The paths whose names or things are concerned: the one that there is, then the one that there will be.
    fn ends(&self) -> impl Iterator<Item = &AbsPath> {
        let (one, other) = match &self.action.object {
            Object::Path(path) => (Some(path), None),
            Object::Move { from, to } => (Some(from), Some(to)),
            Object::Host { .. } | Object::Tool(_) => (None, None),
        };
        one.into_iter().chain(other)
    }

    /// Where a path of the view lies on the machine; none in memory, and where nothing is shown.
    fn on_machine(&self, path: &AbsPath) -> Option<AbsPath> {
        let Stand::Session(plan) = &self.sight.0 else { return Some(path.clone()) };
        let bind = plan.shown_by(path)?;
        match &bind.source {
            Source::Host(source) => AbsPath::lexical(source, bind.target.strip(path)?).ok(),
            Source::Memory | Source::Layered { .. } => None,
        }
    }

    /// What stands at a path, links not followed.
    fn kind(&self, path: &AbsPath) -> Option<FileType> {
        let stat = statat(CWD, self.on_machine(path)?.as_path(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(FileType::from_raw_mode(stat.st_mode))
    }

    /// It is there outside, and a session has a folder of its own in that place. Making it anew is another matter.
    fn hidden(&self) -> Option<Objection> {
        if !self.is_outside() || self.action.verb == Verb::Create {
            return None;
        }
        let path = self.ends().next()?;
        let folder =
            self.policy.world().private.iter().find(|folder| folder.covers(path) && *folder != path)?;
        self.kind(path)?;
        // No rule shows the machine's shared memory.
        let hides = folder.as_bytes() == b"/dev/shm"
            || self.plan().shown_by(path).is_some_and(|bind| bind.private && bind.target != *path);
        let why = format!("in a session `{folder}` is its own, and this file of the machine is not in it");
        hides.then(|| Objection::Words(why, Some(path.clone())))
    }

    /// The answer counts on a temporary sibling of a file, and it is there before the session.
    fn foreign_sibling(&self) -> Option<Objection> {
        let of = self.decision.reasons.iter().find_map(|reason| match &reason.why {
            Why::Sibling(of) => Some(of),
            _ => None,
        })?;
        let foreign = self.ends().any(|path| path != of && self.kind(path).is_some());
        let mends = self.ends().next().cloned();
        (self.is_outside() && foreign).then(|| Objection::Words(FOREIGN_SIBLING.to_owned(), mends))
    }

    /// The view does not let it change. What a person must be asked for is another matter.
    fn fixed(&self) -> Option<Objection> {
        let verb = self.action.verb;
        if !verb.changes() || self.decision.effect != Effect::Allow {
            return None;
        }
        for path in self.ends() {
            let kind = self.kind(path);
            let named = verb != Verb::Write || kind.is_none();
            let goes = matches!(verb, Verb::Delete | Verb::Rename);
            if self.is_outside() && !self.may_be_fixed(path, named, goes) {
                continue;
            }
            let plan = self.plan();
            let fixed = match named {
                true => plan.fixes(path),
                false => plan.shown_by(path).is_some_and(|bind| bind.read_only),
            };
            if fixed {
                let there = path.parent().is_some_and(|folder| self.kind(&folder).is_some());
                let mends = (there && kind != Some(FileType::Directory)).then(|| path.clone());
                return Some(Objection::Words(FIXED_VIEW.to_owned(), mends));
            }
            // What is mounted below a folder moves with it.
            let mounted = plan.mounted_within(path).find(|at| verb == Verb::Delete || *at == path);
            if let Some(at) = mounted.filter(|_| goes) {
                let why = format!("{at} is mounted in a session's view, and stays as long as the session");
                return Some(Objection::words(why));
            }
        }
        None
    }

    /// Whether it is worth planning a view: not where the folder itself may be written, and nothing at the
    /// path or below it can be a mount of its own.
    fn may_be_fixed(&self, path: &AbsPath, named: bool, goes: bool) -> bool {
        let mut folder = path.parent();
        while let Some(at) = folder.as_ref().filter(|at| self.kind(at).is_none()) {
            folder = at.parent();
        }
        let open = folder.is_some_and(|folder| self.agent.access(&folder).has(Access::WRITE));
        (named && !open) || (goes && self.agent.may_stand_apart(path))
    }

    /// What would take the name is known, and may not.
    fn misshapen(&self) -> Option<Objection> {
        let takes = |path: &AbsPath| self.agent.is_single_file(path);
        let why = match (self.action.verb, &self.action.object) {
            (Verb::Rename, Object::Path(path)) if takes(path) => NOT_PLAIN,
            // One path twice: a symbolic link, which has a name at one end only.
            (Verb::Rename, Object::Move { from, to }) if takes(to) && from == to => NOT_PLAIN,
            (Verb::Rename, Object::Move { from, to }) if takes(to) => {
                self.kind(from).filter(|kind| *kind != FileType::RegularFile).map(|_| NOT_PLAIN)?
            }
            (Verb::Write, Object::Path(path))
                if self.agent.narrows_below(path) && self.kind(path).is_none() =>
            {
                NO_FOLDER
            }
            _ => return None,
        };
        Some(Objection::words(why))
    }

    /// Something below a folder that would move or be removed is refused by itself.
    fn below(&self) -> Option<Objection> {
        let (verb, from, to) = match (&self.action.object, self.action.verb) {
            (Object::Path(path), Verb::Delete) => (Verb::Delete, path, None),
            (Object::Move { from, to }, Verb::Rename) => (Verb::Rename, from, Some(to)),
            _ => return None,
        };
        let speaks = |path: &AbsPath| self.policy.speaks_below(self.action.actor.agent.as_str(), path);
        if !speaks(from) && !to.is_some_and(speaks) {
            return None;
        }
        let there = self.on_machine(from)?;
        if self.kind(from)? != FileType::Directory {
            return None;
        }
        let alone = |path: &AbsPath| {
            let object = Object::Path(path.clone());
            decide(self.policy, &Facts::default(), &Action { verb, object, ..self.action.clone() })
        };
        let obstacle = match openat(CWD, there.as_path(), LISTED, Mode::empty()) {
            Ok(folder) if is_free(&folder) => {
                let may = |path: &AbsPath| alone(path).effect <= self.decision.effect;
                first_fixed(&may, folder, (from, to), MOST)?
            }
            Ok(_) => Obstacle::Placeholder(from.clone()),
            Err(_) => Obstacle::Closed(from.clone()),
        };
        Some(match obstacle {
            Obstacle::Judged(path) => match alone(&path).deciding() {
                Some(reason) => Objection::Below(path, reason.clone()),
                None => Objection::words(format!("{path} would go with it")),
            },
            Obstacle::Closed(path) => Objection::words(format!("{path} cannot be looked into")),
            Obstacle::Placeholder(path) => {
                Objection::words(format!("{path} stands in for what a rule hides from a session"))
            }
            Obstacle::TooMany(_) => Objection::words(format!(
                "more lies below it than is looked through ({MOST} entries); part by part it can be judged"
            )),
        })
    }
}
