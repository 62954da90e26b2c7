//! Registering Remit in a host's settings, and taking it out again. Text in, text out: nothing is read or
//! written here. What others wrote keeps its order and its bytes.

use crate::dialect::{Dialect, Event, Host};
use crate::json_text::{Inside, Node, with, without};
use remit_core::{AbsPath, AgentName};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What the host is to call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub(crate) binary: String,
    pub(crate) root: String,
    pub(crate) agent: Option<AgentName>,
}

impl Command {
    /// The program, the workspace's root, and the agent that the calls are made as; without one, the program
    /// finds out itself. Fails if a path is not UTF-8: then no settings file can hold it.
    pub fn new(binary: &AbsPath, root: &AbsPath, agent: Option<AgentName>) -> Result<Self, InstallError> {
        let text = |path: &AbsPath| {
            std::str::from_utf8(path.as_bytes())
                .map(str::to_owned)
                .map_err(|_| InstallError::PathNotText(path.to_string()))
        };
        Ok(Self { binary: text(binary)?, root: text(root)?, agent })
    }
}

/// Why a settings file was not edited. It is left as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    /// Not JSON.
    #[error("the settings are not JSON: {what} (line {line}, column {column})")]
    Malformed {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What the parser says.
        what: String,
    },
    /// JSON, but not as the host's settings are.
    #[error("{what} (line {line}, column {column})")]
    Shape {
        /// Line, from 1.
        line: usize,
        /// Column in bytes, from 1.
        column: usize,
        /// What is wrong.
        what: String,
    },
    /// A path that JSON cannot hold.
    #[error("`{0}` is not UTF-8, so it cannot stand in a settings file")]
    PathNotText(String),
}

/// What to keep so that [`uninstall`] can restore the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Backup {
    /// The file before; none if there was none.
    pub before: Option<String>,
    /// The file as [`install`] left it.
    pub after: String,
    /// Whether the file's folder was made for it: then it goes with the file, if nothing else came into it.
    /// [`install`] knows only what it was told before; who writes the file says it here before the first write.
    #[serde(default)]
    pub made_folder: bool,
}

/// What to do with the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// Nothing of ours is in it.
    Unchanged,
    /// Write this.
    Write(String),
    /// Delete it: it was ours.
    Delete,
}

/// How one event is registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// As [`install`] would write it, once.
    Current,
    /// Ours, but changed, limited, doubled, or for another program, root or agent.
    Stale,
    /// Not at all.
    Absent,
}

/// How the host is registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Each event by the host's name.
    pub events: Vec<(&'static str, State)>,
    /// Whether the settings switch all hooks off.
    pub disabled: bool,
}

impl Status {
    /// Whether every event is registered as it should be and hooks are on.
    pub fn in_force(&self) -> bool {
        !self.disabled && self.events.iter().all(|(_, state)| *state == State::Current)
    }
}

/// Registers every event. `text` is the settings file, if there is one; `previous` what the last install
/// kept. Answers the new text, which is the old one byte for byte if nothing is to be done, and what to keep.
pub fn install(
    host: Host,
    text: Option<&str>,
    command: &Command,
    previous: Option<&Backup>,
) -> Result<(String, Backup), InstallError> {
    let dialect = host.dialect();
    let known = previous.and_then(|previous| previous.before.as_deref());
    let clean = text.map(|text| remove(dialect, text, known)).transpose()?;
    // What the last install kept is about another file, if none of it is left.
    let previous = previous.filter(|_| clean.as_deref() != text);
    let after = match text {
        Some(text) if status(host, Some(text), command)?.events.iter().all(|(_, s)| *s == State::Current) => {
            text.to_owned()
        }
        _ => add(dialect, clean.as_deref(), command)?,
    };
    let before = match previous {
        Some(previous) if Some(previous.after.as_str()) == text => previous.before.clone(),
        Some(Backup { before: None, .. }) if clean.as_deref().is_some_and(is_bare) => None,
        _ => clean,
    };
    let made_folder = previous.is_some_and(|previous| previous.made_folder);
    Ok((after.clone(), Backup { before, after, made_folder }))
}

/// Takes Remit out: restores the file byte for byte if nobody changed it since, else removes only our
/// entries, and what is empty without them unless it was there before. Whether the folder goes too is for
/// [`Backup::made_folder`] to say.
pub fn uninstall(host: Host, text: Option<&str>, backup: Option<&Backup>) -> Result<Removal, InstallError> {
    let Some(text) = text else { return Ok(Removal::Unchanged) };
    let left = match backup {
        Some(backup) if backup.after == text => match &backup.before {
            None => return Ok(Removal::Delete),
            Some(before) => before.clone(),
        },
        _ => remove(host.dialect(), text, backup.and_then(|backup| backup.before.as_deref()))?,
    };
    let made_by_us = backup.is_some_and(|backup| backup.before.is_none());
    if left == text {
        Ok(Removal::Unchanged)
    } else if made_by_us && is_bare(&left) {
        Ok(Removal::Delete)
    } else {
        Ok(Removal::Write(left))
    }
}

/// How the settings stand.
pub fn status(host: Host, text: Option<&str>, command: &Command) -> Result<Status, InstallError> {
    let dialect = host.dialect();
    let file = File::read(text.unwrap_or_default())?;
    let mut events = Vec::new();
    for event in Event::ALL {
        let name = dialect.name(event);
        let groups = file.groups(name)?;
        let ours = |handler: &&Value| dialect.is_ours(event, handler);
        let count = groups.iter().flat_map(handlers).filter(ours).count();
        let wanted = parsed(&dialect.entry(event, command));
        let current = count == 1 && groups.contains(&wanted);
        let state = match (current, count) {
            (true, _) => State::Current,
            (false, 0) => State::Absent,
            (false, _) => State::Stale,
        };
        events.push((name, state));
    }
    Ok(Status { events, disabled: file.disabled() })
}

/// A settings text that registers every event and nothing else, for a host that takes one on its command
/// line.
pub fn settings_json(host: Host, command: &Command) -> String {
    let dialect = host.dialect();
    let events: Vec<String> = Event::ALL
        .into_iter()
        .map(|event| format!("\"{}\":[{}]", dialect.name(event), dialect.entry(event, command)))
        .collect();
    format!("{{\"hooks\":{{{}}}}}", events.join(","))
}

/// The program and arguments that a settings text registers of ours for the event before a tool call; the
/// first, if there are several. None also where the text cannot be read, or where it is [`switched_off`].
pub fn registered(host: Host, text: &str) -> Option<(String, Vec<String>)> {
    let dialect = host.dialect();
    let file = File::read(text).ok().filter(|file| !file.disabled())?;
    let groups = file.groups(dialect.name(Event::BeforeTool)).ok()?;
    let ours =
        groups.iter().flat_map(handlers).find(|handler| dialect.is_ours(Event::BeforeTool, handler))?;
    let program = ours.get("command")?.as_str()?.to_owned();
    let args = ours.get("args")?.as_array()?.iter().map(|a| a.as_str().map(str::to_owned));
    Some((program, args.collect::<Option<_>>()?))
}

/// Which agent the calls are made as that a settings text registers, switched off or not; the first, if there are
/// several. The outer `None`: nothing of ours is registered, or the text cannot be read. The inner: no agent is named.
pub fn registered_agent(host: Host, text: Option<&str>) -> Option<Option<AgentName>> {
    let dialect = host.dialect();
    let file = File::read(text?).ok()?;
    let words = Event::ALL.into_iter().find_map(|event| {
        let groups = file.groups(dialect.name(event)).ok()?;
        let ours = groups.iter().flat_map(handlers).find(|handler| dialect.is_ours(event, handler))?;
        ours.get("args").and_then(Value::as_array).cloned()
    })?;
    Some(match words.as_slice() {
        [.., flag, name] if flag == "--agent" => name.as_str().and_then(|name| AgentName::new(name).ok()),
        _ => None,
    })
}

/// Whether a settings text switches all hooks off, whatever it registers. A text that cannot be read does
/// not.
pub fn switched_off(text: &str) -> bool {
    File::read(text).is_ok_and(|file| file.disabled())
}

/// Whether nothing is in a settings text.
fn is_bare(text: &str) -> bool {
    text.trim() == "{}"
}

fn handlers(group: &Value) -> &[Value] {
    group.get("hooks").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The text with a group for every event at the end of its list.
fn add(dialect: &dyn Dialect, text: Option<&str>, command: &Command) -> Result<String, InstallError> {
    let mut text = match text {
        Some(text) if !text.trim().is_empty() => text.to_owned(),
        _ => "{}\n".to_owned(),
    };
    for event in Event::ALL {
        let name = dialect.name(event);
        let group = dialect.entry(event, command);
        let file = File::read(&text)?;
        let list = format!("[{group}]");
        let next = match file.hooks()? {
            None => with(file.text, &file.root, Some("hooks"), &format!("{{\"{name}\":{list}}}")),
            Some((_, hooks)) => match file.event(hooks, name)? {
                None => with(file.text, hooks, Some(name), &list),
                Some((_, groups)) => with(file.text, groups, None, &group),
            },
        };
        text = file.edited(next)?;
    }
    Ok(text)
}

/// The text without our entries. What becomes empty by that goes too, unless it was there before us.
fn remove(dialect: &dyn Dialect, text: &str, before: Option<&str>) -> Result<String, InstallError> {
    let before = before.map(|before| parsed(before.trim_start_matches(MARK))).unwrap_or_default();
    let theirs = |pointer: &str| before.pointer(pointer).is_some();
    let mut text = text.to_owned();
    'again: loop {
        let file = File::read(&text)?;
        let Some((at_root, hooks)) = file.hooks()? else { return Ok(text) };
        for event in Event::ALL {
            let name = dialect.name(event);
            let Some((at_hooks, groups)) = file.event(hooks, name)? else { continue };
            for (at_group, group) in groups.items().iter().enumerate() {
                let Some((_, list)) = group.members("hooks").next() else { continue };
                let ours = |node: &Node| dialect.is_ours(event, &file.value(node));
                let Some(at_list) = list.items().iter().position(ours) else { continue };
                let levels = [
                    (list, at_list, false),
                    (groups, at_group, theirs(&format!("/hooks/{name}"))),
                    (hooks, at_hooks, theirs("/hooks")),
                ];
                // The innermost container that stays.
                let (container, child) = levels
                    .into_iter()
                    .find(|(container, _, theirs)| *theirs || container.children().len() > 1)
                    .map_or((&file.root, at_root), |(container, child, _)| (container, child));
                let next = without(file.text, container, child);
                text = file.edited(next)?;
                continue 'again;
            }
        }
        return Ok(text);
    }
}

/// What some editors put before a text.
const MARK: &str = "\u{feff}";

/// A settings text and its tree.
struct File<'t> {
    /// The text after a byte order mark, if it has one.
    text: &'t str,
    mark: &'t str,
    root: Node,
}

impl<'t> File<'t> {
    fn read(text: &'t str) -> Result<Self, InstallError> {
        let (mark, text) = match text.strip_prefix(MARK) {
            Some(rest) => (MARK, rest),
            None => ("", text),
        };
        let text = if text.trim().is_empty() { "{}" } else { text };
        let malformed = |e: &serde_json::Error| {
            let what = e.to_string();
            let what = what.split(" at line ").next().unwrap_or_default().to_owned();
            InstallError::Malformed { line: e.line(), column: e.column(), what }
        };
        serde_json::from_str::<Value>(text).map_err(|e| malformed(&e))?;
        let root = Node::of(text).ok_or_else(|| shape(text, 0, "the settings cannot be edited"))?;
        let file = Self { text, mark, root };
        match file.root.inside {
            Inside::Object(_) => Ok(file),
            _ => Err(file.shape(&file.root, "the settings are not an object")),
        }
    }

    /// The `hooks` object, with its place among the members.
    fn hooks(&self) -> Result<Option<(usize, &Node)>, InstallError> {
        let Some((at, node)) = self.only(&self.root, "hooks")? else { return Ok(None) };
        match node.inside {
            Inside::Object(_) => Ok(Some((at, node))),
            _ => Err(self.shape(node, "`hooks` is not an object")),
        }
    }

    fn event<'n>(&self, hooks: &'n Node, name: &str) -> Result<Option<(usize, &'n Node)>, InstallError> {
        let Some((at, node)) = self.only(hooks, name)? else { return Ok(None) };
        match node.inside {
            Inside::Array(_) => Ok(Some((at, node))),
            _ => Err(self.shape(node, &format!("`hooks.{name}` is not a list"))),
        }
    }

    /// What is registered for an event.
    fn groups(&self, name: &str) -> Result<Vec<Value>, InstallError> {
        let Some((_, hooks)) = self.hooks()? else { return Ok(Vec::new()) };
        let list = self.event(hooks, name)?.map_or(&[][..], |(_, list)| list.items());
        Ok(list.iter().map(|node| self.value(node)).collect())
    }

    /// Whether all hooks are switched off.
    fn disabled(&self) -> bool {
        self.root.members("disableAllHooks").any(|(_, node)| self.value(node) == Value::Bool(true))
    }

    /// The member of that name. Two of one name are an error: which one counts differs between programs.
    fn only<'n>(&self, node: &'n Node, name: &str) -> Result<Option<(usize, &'n Node)>, InstallError> {
        let mut found = None;
        if let Inside::Object(members) = &node.inside {
            for (at, (key, _, value)) in members.iter().enumerate().filter(|(_, (key, ..))| key == name) {
                if found.is_some() {
                    return Err(self.shape(value, &format!("`{key}` stands twice")));
                }
                found = Some((at, value));
            }
        }
        Ok(found)
    }

    fn value(&self, node: &Node) -> Value {
        parsed(self.text.get(node.span.clone()).unwrap_or_default())
    }

    fn shape(&self, node: &Node, what: &str) -> InstallError {
        shape(self.text, node.span.start, what)
    }

    fn edited(&self, next: Option<String>) -> Result<String, InstallError> {
        next.map(|next| format!("{}{next}", self.mark))
            .ok_or_else(|| shape(self.text, 0, "the settings cannot be edited"))
    }
}

/// The value of a part of a text that was read as JSON before, so that it is JSON.
fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

fn shape(text: &str, at: usize, what: &str) -> InstallError {
    let before = text.get(..at).unwrap_or_default();
    InstallError::Shape {
        line: before.matches('\n').count().saturating_add(1),
        column: before.rsplit('\n').next().unwrap_or_default().len().saturating_add(1),
        what: what.to_owned(),
    }
}
