//! `remit check`: everything that is wrong, doubtful or worth knowing about a policy.

use super::mend;
use crate::cli::CheckArgs;
use crate::report::{self, Failure, OK, Texts};
use crate::schema_file;
use remit_core::{AbsPath, Diagnostic, Exit, Place, Severity};
use remit_policy::source::Cli;
use remit_policy::{Access, Policy};
use remit_session::adapter::Adapter;
use remit_session::base;
use remit_session::environment::Environment;
use remit_session::handed::{SYSTEM_MESSAGE, message};
use remit_session::listings::remembering;
use remit_session::unignored::unignored;
use remit_session::workspace::{OpenError, Workspace};
use serde_json::json;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

/// Checks a policy. Exit 0 if it has no error, 3 if it has.
pub(crate) fn run(args: &CheckArgs, environment: &Environment) -> Result<Exit, Failure> {
    if args.schema {
        report::say(&schema_file::text())?;
        return Ok(Exit::Yes);
    }
    if args.fix {
        let done = mend::run(args, environment)?;
        if args.dry_run {
            return Ok(done);
        }
    }
    let (file, text, findings) = match open(args, environment) {
        Ok(workspace) => {
            let findings = examine(&workspace)?;
            (workspace.file, workspace.text, findings)
        }
        Err(OpenError::Findings { file, text, findings }) => (file, text, findings),
        Err(error) => return Err(error.into()),
    };
    if remit_hooks::socket::inside() {
        report::talk(
            "remit: this is inside a session: the file is checked as it stands, which may not be what the session is held by (`remit explain` tells that)\n",
        );
    }
    let count = |severity| findings.iter().filter(|f| f.severity == severity).count();
    let errors = count(Severity::Error);
    if args.json {
        report::say_json(&json!({"version": 1, "file": file, "ok": errors == 0, "findings": findings}))?;
    } else {
        report::show_findings(&findings, &Texts::from([(file.clone(), text)]));
        if errors == 0 {
            let (warnings, notes) = (count(Severity::Warning), count(Severity::Note));
            let plural = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
            report::say(&format!(
                "{OK}ok{OK:#}  {file}: no errors, {}, {}\n",
                plural(warnings, "warning"),
                plural(notes, "note")
            ))?;
        } else {
            report::talk(&format!("{file}: {errors} error{}\n", if errors == 1 { "" } else { "s" }));
        }
    }
    Ok(if errors == 0 { Exit::Yes } else { Exit::Config })
}

fn open(args: &CheckArgs, environment: &Environment) -> Result<Workspace, OpenError> {
    let Some(file) = &args.file else { return Workspace::open(&environment.cwd, environment) };
    let path = environment.cwd.join(file);
    let unreadable = |source| remit_config::FindError::Unreadable { file: file.clone(), source };
    let path = std::fs::canonicalize(&path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    remit_config::find::open(&path).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(unreadable)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let root = AbsPath::try_from(folder).map_err(|e| OpenError::Path(folder.to_owned(), e))?;
    Workspace::read(root, file.display().to_string(), &bytes, environment)
}

pub(super) fn examine(workspace: &Workspace) -> Result<Vec<Diagnostic>, OpenError> {
    let rules = base::session_rules(&workspace.root);
    let memory = workspace.state_place()?.listings();
    let (policy, mut findings) = remembering(&memory, |disk| workspace.judge(disk, rules, BTreeSet::new()))?;
    let wrong = findings.iter().any(|finding| finding.severity == Severity::Error);
    if let Some(policy) = policy {
        findings.extend(remit_config::check(&policy));
        // What rests on paths is not asked of a policy whose paths may mean something else.
        if !wrong {
            findings.extend(of_paths(workspace, &policy)?);
        }
    }
    findings.sort_by_key(|f| (std::cmp::Reverse(f.severity), f.place.clone()));
    findings.dedup();
    Ok(findings)
}

/// What only a policy without errors can be asked.
fn of_paths(workspace: &Workspace, policy: &Policy) -> Result<Vec<Diagnostic>, OpenError> {
    let mut findings = remit_config::run_tests(policy);
    findings.extend(tracked(workspace, policy)?);
    // What a session sees of the tree is no ground for a launch, which nothing inside can do anyway.
    if !remit_hooks::socket::inside() {
        findings.extend(remit_session::holder::unholdable(policy, &workspace.state_place()?));
        findings.extend(unignored(workspace, policy)?);
    }
    findings.extend(without_programs(policy));
    findings.extend(of_the_clis(policy));
    findings.extend(linked(workspace, policy));
    Ok(findings)
}

/// Hidden paths that git tracks, and so shows from its objects.
fn tracked(workspace: &Workspace, policy: &Policy) -> Result<Vec<Diagnostic>, OpenError> {
    let root = workspace.root.as_path();
    let git = |e| OpenError::Git(root.to_owned(), e);
    let Some(checkout) = remit_git::checkout(root).map_err(git)? else { return Ok(Vec::new()) };
    let top = AbsPath::try_from(checkout.work_tree.as_path());
    let top = top.map_err(|e| OpenError::Path(checkout.work_tree.clone(), e))?;
    Ok(match remit_git::tracked(&checkout.git_dir).map_err(git)? {
        Some(tracked) => remit_config::none_but_tracked(policy, &top, tracked.paths()),
        None => {
            let message = "which files git tracks cannot be told from its index, so whether it shows hidden ones is not known";
            vec![Diagnostic::new(
                Severity::Note,
                "index-unknown",
                Place::file(workspace.file.as_str()),
                message,
            )]
        }
    })
}

/// Places of the work tree that no session may change since a link with a protected name leads there.
fn linked(workspace: &Workspace, policy: &Policy) -> Vec<Diagnostic> {
    let place = || Place::file(workspace.file.as_str());
    let told = |one: &remit_policy::ProtectedPath| {
        // A link on the way to a protected name is told by where it leads.
        let link = one.link.as_ref().filter(|link| !one.path.covers(link))?;
        let message = format!("{link} leads by a link to {}, which no session may change for that", one.path);
        let finding = Diagnostic::new(Severity::Warning, "protected-link", place(), message);
        Some(finding.help("put a copy in the link's place if sessions are to work there"))
    };
    let world = policy.world();
    world.protected.iter().filter(|one| world.workspace.covers(&one.path)).filter_map(told).collect()
}

/// What an agent's program cannot be held to, or may not heed.
fn of_the_clis(policy: &Policy) -> Vec<Diagnostic> {
    let warn = |code, place: &Place, message: String| {
        Diagnostic::new(Severity::Warning, code, place.clone(), message)
    };
    let mut findings = Vec::new();
    for (name, agent) in &policy.source().agents {
        let adapter = match &agent.cli {
            Some(Cli::Adapter(cli)) => Adapter::named(&cli.value).and_then(Result::ok),
            _ => None,
        };
        let hooked = adapter.as_ref().is_some_and(|adapter| adapter.hooks.is_some());
        let rule = policy.tool_rule(name).filter(|_| !hooked);
        if let Some((rule, place)) = rule.and_then(|rule| Some((rule, rule.place.as_ref()?))) {
            let message = format!(
                "`{}` is not held for `{name}`: its program has no hook that `remit run` could register",
                rule.text
            );
            findings.push(warn("tools-not-held", place, message));
        }
        let heeds = adapter.as_ref().is_some_and(|adapter| adapter.prompt.is_some());
        if message(agent).is_some() && !heeds {
            let words = format!(
                "the `system_message` of `{name}` is handed to its program as {SYSTEM_MESSAGE}, which it may not read"
            );
            findings.push(warn("message-unheeded", &agent.place, words));
        }
    }
    findings
}

/// Agents that a rule keeps from starting the system's programs: everything fails then, and nobody sees why.
fn without_programs(policy: &Policy) -> Vec<Diagnostic> {
    let Ok(programs) = AbsPath::new("/usr/bin/env") else { return Vec::new() };
    let offered = policy.world().base.iter().any(|rule| rule.path.covers(&programs));
    let without =
        policy.agents().filter(|(_, agent)| offered && !agent.access(&programs).has(Access::EXECUTE));
    let speaks = |agent: &remit_policy::AgentPolicy| {
        let mut rules = agent.points().iter().filter(|point| point.pattern.matches(&programs));
        rules.find_map(|point| point.rule.place.clone())
    };
    let warn = |(name, agent): (&str, &remit_policy::AgentPolicy)| {
        let message =
            format!("`{name}` can start no program of the system: this rule speaks for `/usr`, too");
        let finding = Diagnostic::new(Severity::Warning, "no-programs", speaks(agent)?, message);
        Some(finding.help("narrow the rule, or grant `{path: /usr, access: execute}` beside it"))
    };
    without.filter_map(warn).collect()
}
