//! Claude Code, as measured with 2.1.332.
//!
//! A denial is said twice: as JSON on standard output, which is what the agent reads, and by exit code 2 with
//! the reason on standard error, which blocks even if the JSON should not be understood one day. Nothing is
//! ever allowed in words: silence leaves the program's own permission prompt in force.

use crate::dialect::{About, Asked, Dialect, Event, Outcome, Problem, Refused, Reply};
use crate::install::Command;
use crate::json_text;
use crate::resolve::{ResolveError, Resolver};
use crate::tools::Efforts;
use remit_core::path::is_unprintable;
use remit_core::wire::{CANARY_CONVERSATION, Moment, Request, ToolCall, VERSION};
use remit_core::{AbsPath, CallId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// The host's word on the wire.
const HOST: &str = "claude";
/// Texts over 10,000 characters are put into a file instead of before the agent's eyes.
const LONGEST_TEXT: usize = 9_000;
/// Seconds after which the program gives up on a hook; ours gives up long before.
const TIMEOUT: u32 = 10;

/// Tools that read and change nothing in the file tree, beside those with a path of their own.
const NO_FILES: [&str; 36] = [
    "Agent",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskUpdate",
    "TaskList",
    "TaskStop",
    "TaskOutput",
    "TodoWrite",
    "TodoRead",
    "WebFetch",
    "WebSearch",
    "Skill",
    "SlashCommand",
    "ToolSearch",
    "AskUserQuestion",
    "EnterPlanMode",
    "ExitPlanMode",
    "SendMessage",
    "BashOutput",
    "KillShell",
    "KillBash",
    "CronCreate",
    "CronDelete",
    "CronList",
    "ListAgents",
    "ReportFindings",
    "ScheduleWakeup",
    "Workflow",
    "ListMcpResources",
    "ListMcpResourcesTool",
    "ReadMcpResource",
    "ReadMcpResourceTool",
    "StructuredOutput",
    "ExitWorktree",
    "AgentOutputTool",
];

/// Names that tools of MCP servers have by convention when they only read files.
const MCP_READS: [&str; 12] = [
    "read_file",
    "read_text_file",
    "read_media_file",
    "read_multiple_files",
    "list_directory",
    "list_directory_with_sizes",
    "directory_tree",
    "search_files",
    "get_file_info",
    "list_allowed_directories",
    "view_file",
    "grep_files",
];

/// The dialect of Claude Code.
pub struct Claude;

/// What a hook may print, as far as it is used.
#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Output<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_specific_output: Option<Specific<'a>>,
}

/// The part of it that belongs to one event.
#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Specific<'a> {
    hook_event_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    permission_decision_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    additional_context: Option<&'a str>,
}

/// What stands in the list of an event in the settings. Without a matcher it is for every tool.
#[derive(Serialize)]
struct Group<'a> {
    hooks: [Handler<'a>; 1],
}

/// A program that is started with these arguments, without a shell. If it cannot be, the call is blocked.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Handler<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    command: &'a str,
    args: Vec<&'a str>,
    timeout: u32,
    on_failure: &'a str,
}

/// What every payload may hold, as far as it is used.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Payload {
    hook_event_name: String,
    session_id: Option<String>,
    cwd: Option<String>,
    tool_name: Option<String>,
    tool_use_id: Option<CallId>,
    agent_id: Option<String>,
    #[serde(default)]
    stop_hook_active: bool,
    /// Whether `\u{fffd}` in it may stand for what was no character.
    #[serde(skip)]
    mended: bool,
}

/// The part that is only read when it is judged.
#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct Input {
    tool_input: Map<String, Value>,
}

impl Dialect for Claude {
    fn settings_file(&self) -> &'static str {
        ".claude/settings.local.json"
    }

    fn name(&self, event: Event) -> &'static str {
        match event {
            Event::BeforeTool => "PreToolUse",
            Event::AfterTool => "PostToolUse",
            Event::ToolFailed => "PostToolUseFailure",
            Event::SessionStart => "SessionStart",
            Event::Prompt => "UserPromptSubmit",
            Event::Stop => "Stop",
            Event::SubagentStart => "SubagentStart",
            Event::SubagentStop => "SubagentStop",
            Event::SessionEnd => "SessionEnd",
        }
    }

    fn decode(&self, name: &str, input: &[u8], resolver: &dyn Resolver) -> Result<Asked, Refused> {
        self.read(name, input, resolver).map_err(|(event, problem)| Refused {
            event,
            problem,
            about: about(input),
        })
    }

    fn encode(&self, event: Option<Event>, outcome: &Outcome) -> Reply {
        let name = |event| Some(self.name(event));
        match (outcome, event) {
            (Outcome::Quiet, _) | (Outcome::Tell(_), None | Some(Event::SessionEnd)) => Reply::quiet(),
            (Outcome::Tell(text), Some(event)) => {
                let output = Specific {
                    hook_event_name: name(event),
                    additional_context: Some(text),
                    ..Specific::default()
                };
                say(&Output { hook_specific_output: Some(output), ..Output::default() }, "", 0)
            }
            (Outcome::No(reason), Some(Event::Prompt)) => {
                let reason = clip(reason);
                say(
                    &Output { decision: Some("block"), reason: Some(&reason), ..Output::default() },
                    &reason,
                    2,
                )
            }
            (Outcome::No(reason), None | Some(Event::BeforeTool)) => {
                let reason = clip(reason);
                let output = Specific {
                    hook_event_name: name(Event::BeforeTool),
                    permission_decision: Some("deny"),
                    permission_decision_reason: Some(&reason),
                    additional_context: None,
                };
                say(&Output { hook_specific_output: Some(output), ..Output::default() }, &reason, 2)
            }
            (Outcome::No(reason), Some(_)) => {
                let reason = clip(reason);
                say(&Output { system_message: Some(&reason), ..Output::default() }, &reason, 0)
            }
        }
    }

    fn entry(&self, event: Event, command: &Command) -> String {
        let mut args = vec!["hook", HOST, self.name(event), "--root", command.root.as_str()];
        if let Some(agent) = &command.agent {
            args.extend(["--agent", agent.as_str()]);
        }
        let handler = Handler {
            kind: "command",
            command: &command.binary,
            args,
            timeout: TIMEOUT,
            on_failure: "block",
        };
        text(&Group { hooks: [handler] })
    }

    fn is_ours(&self, event: Event, handler: &Value) -> bool {
        let words: Option<Vec<&str>> = handler
            .get("args")
            .and_then(Value::as_array)
            .and_then(|args| args.iter().map(Value::as_str).collect());
        let Some(words) = words else { return false };
        match words.as_slice() {
            ["hook", HOST, name, "--root", _] | ["hook", HOST, name, "--root", _, "--agent", _] => {
                *name == self.name(event)
            }
            _ => false,
        }
    }

    fn canary(&self, cwd: &AbsPath, path: &AbsPath) -> Vec<u8> {
        let text = |path: &AbsPath| String::from_utf8_lossy(path.as_bytes()).into_owned();
        json!({
            "session_id": CANARY_CONVERSATION,
            "cwd": text(cwd),
            "permission_mode": "default",
            "hook_event_name": self.name(Event::BeforeTool),
            "tool_name": "Write",
            "tool_input": {"file_path": text(path), "content": ""},
            "tool_use_id": "remit-canary",
        })
        .to_string()
        .into_bytes()
    }

    fn is_denial(&self, stdout: &[u8], code: u8) -> bool {
        let Ok(output) = serde_json::from_slice::<Value>(stdout) else { return false };
        let said = |key: &str| output.pointer(&format!("/hookSpecificOutput/{key}")).and_then(Value::as_str);
        (code == 0 || code == 2)
            && said("hookEventName") == Some(self.name(Event::BeforeTool))
            && said("permissionDecision") == Some("deny")
            && said("permissionDecisionReason").is_some_and(|reason| !reason.is_empty())
    }
}

impl Claude {
    fn read(
        &self,
        name: &str,
        input: &[u8],
        resolver: &dyn Resolver,
    ) -> Result<Asked, (Option<Event>, Problem)> {
        let registered = self.event(name);
        let refuse = |problem| (registered, problem);
        if input.iter().all(u8::is_ascii_whitespace) {
            return Err(refuse(Problem::Empty));
        }
        let text = std::str::from_utf8(input).map_err(|e| refuse(Problem::NotUtf8(e.valid_up_to())))?;
        let text = json_text::whole(text);
        let mut payload: Payload = parse(&text).map_err(refuse)?;
        payload.mended = matches!(text, Cow::Owned(_));
        let Some(sent) = self.event(&payload.hook_event_name) else {
            return Err(refuse(Problem::UnknownEvent(payload.hook_event_name)));
        };
        if registered != Some(sent) {
            // Of the two, the one that can block speaks.
            let event = registered.filter(|e| e.blocks() || !sent.blocks()).or(Some(sent));
            let problem = match registered {
                None => Problem::UnknownEvent(name.to_owned()),
                Some(_) => Problem::OtherEvent { registered: name.to_owned(), sent: payload.hook_event_name },
            };
            return Err((event, problem));
        }
        let may_tell = sent != Event::SessionEnd && !payload.stop_hook_active;
        let request = request(sent, payload, &text, resolver).map_err(refuse)?;
        Ok(Asked { event: sent, request, may_tell })
    }
}

/// What a payload that is refused says of itself.
fn about(input: &[u8]) -> About {
    let text = String::from_utf8_lossy(input);
    let payload: Value = serde_json::from_str(&json_text::whole(&text)).unwrap_or_default();
    let said = |key: &str| payload.get(key).and_then(Value::as_str);
    About {
        conversation: said("session_id").map(str::to_owned),
        tool: said("tool_name").map(str::to_owned),
        call: said("tool_use_id").and_then(|id| CallId::new(id).ok()),
    }
}

fn parse<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, Problem> {
    serde_json::from_str(text).map_err(|e| match e.classify() {
        serde_json::error::Category::Data => Problem::Shape(e.to_string()),
        _ => Problem::NotJson(e.to_string()),
    })
}

fn request(event: Event, payload: Payload, text: &str, resolver: &dyn Resolver) -> Result<Request, Problem> {
    let moment = match event {
        Event::BeforeTool => return before(payload, text, resolver),
        Event::AfterTool | Event::ToolFailed => {
            let id = payload.tool_use_id.ok_or_else(|| missing("tool_use_id"))?;
            return Ok(Request::Done { version: VERSION, id, ok: event == Event::AfterTool });
        }
        Event::SessionStart => Moment::SessionStart,
        Event::Prompt => Moment::Prompt,
        Event::Stop => Moment::Stop,
        Event::SubagentStart => Moment::SubagentStart,
        Event::SubagentStop => Moment::SubagentStop,
        Event::SessionEnd => Moment::SessionEnd,
    };
    let subagent = payload.agent_id;
    Ok(Request::Moment {
        version: VERSION,
        host: HOST.into(),
        conversation: payload.session_id,
        moment,
        subagent,
    })
}

fn before(payload: Payload, text: &str, resolver: &dyn Resolver) -> Result<Request, Problem> {
    let tool = payload.tool_name.filter(|t| !t.is_empty()).ok_or_else(|| missing("tool_name"))?;
    let cwd = payload.cwd.ok_or_else(|| missing("cwd"))?;
    let mended = payload.mended;
    if mended && cwd.contains('\u{fffd}') {
        return Err(Problem::Path { asked: cwd, why: ResolveError::NoText });
    }
    let cwd = AbsPath::new(&cwd).map_err(|why| Problem::Path { asked: cwd, why: why.into() })?;
    let Input { tool_input } = parse(text)?;
    let mut efforts = Efforts::new(resolver, &cwd, mended);
    let arguments = Arguments { tool: &tool, input: &tool_input };
    let command = arguments.judge(&mut efforts)?;
    Ok(Request::Call {
        version: VERSION,
        host: HOST.into(),
        conversation: payload.session_id,
        call: ToolCall {
            id: payload.tool_use_id,
            command,
            efforts: efforts.done(),
            subagent: payload.agent_id,
            tool,
        },
    })
}

fn missing(field: &str) -> Problem {
    Problem::Shape(format!("missing field `{field}`"))
}

/// One tool's arguments.
struct Arguments<'a> {
    tool: &'a str,
    input: &'a Map<String, Value>,
}

impl Arguments<'_> {
    /// Collects what the tool will do; answers the command line, if it runs one.
    fn judge(&self, efforts: &mut Efforts<'_>) -> Result<Option<String>, Problem> {
        match self.tool {
            "Write" | "Edit" | "MultiEdit" => efforts.put(self.must("file_path")?)?,
            "NotebookEdit" => {
                if let Some(mode) = self.may("edit_mode")?
                    && !matches!(mode, "replace" | "insert" | "delete")
                {
                    return Err(self.wrong(format!("has an unknown `edit_mode`: `{mode}`")));
                }
                efforts.put(self.must("notebook_path")?)?;
            }
            "Read" => efforts.read(self.must("file_path")?)?,
            "NotebookRead" => efforts.read(self.must("notebook_path")?)?,
            "LS" => efforts.read(self.must("path")?)?,
            "Grep" => efforts.search(self.may("path")?, None)?,
            "Glob" => efforts.search(self.may("path")?, self.may("pattern")?)?,
            "Bash" | "PowerShell" => return self.run(self.must("command")?, efforts),
            "Monitor" => {
                return self.may("command")?.map_or(Ok(None), |command| self.run(command, efforts));
            }
            tool if NO_FILES.contains(&tool) => {}
            tool => {
                let reads = tool.starts_with("mcp__")
                    && tool.rsplit("__").next().is_some_and(|name| MCP_READS.contains(&name));
                efforts.unknown(self.input, reads)?;
            }
        }
        Ok(None)
    }

    fn run(&self, command: &str, efforts: &mut Efforts<'_>) -> Result<Option<String>, Problem> {
        efforts.command(command)?;
        Ok(Some(command.to_owned()))
    }

    fn must(&self, key: &str) -> Result<&str, Problem> {
        self.may(key)?.ok_or_else(|| self.wrong(format!("has no `{key}`")))
    }

    fn may(&self, key: &str) -> Result<Option<&str>, Problem> {
        match self.input.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(format!("has a `{key}` that is not a string"))),
        }
    }

    fn wrong(&self, what: String) -> Problem {
        Problem::Tool { tool: self.tool.to_owned(), what }
    }
}

/// Strings and numbers in JSON; the types here have nothing in them that JSON cannot hold.
fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn say(output: &Output<'_>, words: &str, code: u8) -> Reply {
    let stderr = if words.is_empty() { Vec::new() } else { format!("{words}\n").into_bytes() };
    Reply { stdout: format!("{}\n", text(output)).into_bytes(), stderr, code }
}

/// A reason that can be shown: never empty, no control characters, not too long.
fn clip(reason: &str) -> String {
    let clean = |c: char| if c != '\n' && is_unprintable(c) { '\u{fffd}' } else { c };
    let text: String = reason.trim().chars().take(LONGEST_TEXT).map(clean).collect();
    if text.is_empty() { "refused, without a reason".to_owned() } else { text }
}
