//! regorus: the rules as data, and a policy that looks through them, or asks a table of them for each folder above
//! the path.

use super::peers::Engine;
use crate::bars::sources::Rule;
use anyhow::Result;
use regorus::{Engine as Interpreter, Value};
use serde_json::json;
use std::path::Path;

const SCAN: &str = "\
package remit
import rego.v1
default allow := false
taken if { some folder in data.taken; startswith(input.path, folder) }
granted if { some folder in data.granted; startswith(input.path, folder) }
allow if { granted; not taken }
";

const INDEXED: &str = "\
package remit
import rego.v1
default allow := false
taken if { some folder in input.above; data.taken[folder] }
granted if { some folder in input.above; data.granted[folder] }
allow if { granted; not taken }
";

pub(super) struct Rego {
    interpreter: Interpreter,
    inputs: Vec<Value>,
}

impl Rego {
    pub(super) fn scan(rules: &[Rule], paths: &[String]) -> Result<Self> {
        let of = |granted: bool| -> Vec<String> {
            let folders = rules.iter().filter(|rule| rule.granted == granted);
            folders.map(|rule| format!("{}/", rule.folder)).collect()
        };
        let data = json!({"granted": of(true), "taken": of(false)});
        Self::new(SCAN, &data, paths.iter().map(|path| json!({"path": path})))
    }

    pub(super) fn indexed(rules: &[Rule], paths: &[String]) -> Result<Self> {
        let of = |granted: bool| -> serde_json::Value {
            let folders = rules.iter().filter(|rule| rule.granted == granted);
            folders.map(|rule| (rule.folder.clone(), json!(true))).collect::<serde_json::Map<_, _>>().into()
        };
        let data = json!({"granted": of(true), "taken": of(false)});
        let above = |path: &String| -> Vec<String> {
            Path::new(path).ancestors().map(|folder| folder.display().to_string()).collect()
        };
        Self::new(INDEXED, &data, paths.iter().map(|path| json!({"above": above(path)})))
    }

    fn new(
        policy: &str,
        data: &serde_json::Value,
        inputs: impl Iterator<Item = serde_json::Value>,
    ) -> Result<Self> {
        let mut interpreter = Interpreter::new();
        interpreter.add_policy("remit.rego".into(), policy.into())?;
        interpreter.add_data(Value::from_json_str(&data.to_string())?)?;
        let inputs = inputs.map(|input| Value::from_json_str(&input.to_string()));
        Ok(Self { interpreter, inputs: inputs.collect::<Result<_>>()? })
    }
}

impl Engine for Rego {
    fn answers(&mut self) -> Result<Vec<bool>> {
        let mut answers = Vec::with_capacity(self.inputs.len());
        for input in &self.inputs {
            self.interpreter.set_input(input.clone());
            answers.push(self.interpreter.eval_rule("data.remit.allow".into())? == Value::from(true));
        }
        Ok(answers)
    }
}
