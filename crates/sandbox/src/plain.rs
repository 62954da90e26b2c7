//! Unconfined children that Remit itself needs, such as git: the one place that starts them.

use crate::raw;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A child of Remit's own.
#[derive(Debug)]
pub struct Plain<'a> {
    /// The program: a path, or a name that is looked for in `PATH` of `environment`.
    pub program: &'a OsStr,
    /// Its arguments, without its name.
    pub arguments: &'a [OsString],
    /// The whole environment; nothing is added.
    pub environment: &'a [(OsString, OsString)],
    /// Its working folder; none: the caller's.
    pub cwd: Option<&'a Path>,
    /// Standard input.
    pub input: Stdio,
    /// Standard output.
    pub output: Stdio,
    /// Standard error.
    pub error: Stdio,
}

/// Starts a child with exactly this environment and no descriptor beside 0, 1 and 2.
///
/// # Errors
/// As the system says; `NotFound` if there is no such program.
pub fn spawn_plain(plain: Plain<'_>) -> io::Result<Child> {
    let mut command = Command::new(plain.program);
    command
        .args(plain.arguments)
        .env_clear()
        .envs(plain.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(plain.input).stdout(plain.output).stderr(plain.error);
    if let Some(cwd) = plain.cwd {
        command.current_dir(cwd);
    }
    raw::close_all_at_start(&mut command);
    command.spawn()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn run(program: &str, arguments: &[&str], environment: &[(&str, &str)]) -> io::Result<String> {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let environment: Vec<(OsString, OsString)> =
            environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let mut child = spawn_plain(Plain {
            program: program.as_ref(),
            arguments: &arguments,
            environment: &environment,
            cwd: Some(Path::new("/")),
            input: Stdio::null(),
            output: Stdio::piped(),
            error: Stdio::null(),
        })?;
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text)?;
        assert!(child.wait()?.success());
        Ok(text)
    }

    #[test]
    fn the_environment_is_exactly_the_one_given() {
        assert_eq!(run("/usr/bin/env", &[], &[("A", "1")]).unwrap(), "A=1\n");
        assert_eq!(run("env", &[], &[("PATH", "/usr/bin")]).unwrap(), "PATH=/usr/bin\n");
    }

    #[test]
    fn no_descriptor_is_passed_on() {
        // One that would be: without close-on-exec.
        let open =
            rustix::fs::open("/dev/null", rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty()).unwrap();
        let text = run("/bin/sh", &["-c", "ls /proc/$$/fd"], &[("PATH", "/usr/bin:/bin")]).unwrap();
        drop(open);
        let numbers: Vec<u32> = text.lines().map(|line| line.parse().unwrap()).collect();
        assert!(numbers.starts_with(&[0, 1, 2]) && numbers.iter().all(|n| *n < 3 || *n >= 10), "{numbers:?}");
    }

    #[test]
    fn a_missing_program_is_not_found() {
        let error = run("no-such-program", &[], &[("PATH", "/usr/bin")]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
