//! Reads a recorded run: its steps with the requests, the answers of the API server, and the objects once all had
//! settled.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::Result;
use crate::expected::documents;
use crate::person::{Answer, Named, Request};

/// A recorded run.
#[derive(Debug)]
pub struct Recording {
    /// The folder's name, which was also the namespace.
    pub name: String,
    /// The events, in order.
    pub steps: Vec<Step>,
}

/// One step: requests, answers and the state once settled.
#[derive(Debug)]
pub struct Step {
    /// The request of a user, with the answers.
    pub requests: Vec<(Request, Answer)>,
    /// The objects of the namespace afterwards.
    pub objects: Vec<Value>,
}

/// Kinds that the recorder did not apply: they belong to the cluster, not to the story.
const OF_THE_CLUSTER: [&str; 2] = ["ClusterRole", "CustomResourceDefinition"];

/// All runs of a folder, by name.
pub fn recordings(folder: &Path) -> Result<Vec<Recording>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.join("step0").is_dir() {
            found.push(recording(&path).map_err(|error| format!("{}: {error}", path.display()))?);
        }
    }
    found.sort_by(|one: &Recording, other| one.name.cmp(&other.name));
    Ok(found)
}

fn recording(folder: &Path) -> Result<Recording> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let story = story(&std::fs::read_to_string(folder.join("log.txt"))?);
    let mut steps = Vec::new();
    loop {
        let step = folder.join(format!("step{}", steps.len()));
        if !step.is_dir() {
            return Ok(Recording { name, steps });
        }
        let mut answers = story.get(&steps.len()).cloned().unwrap_or_default().into_iter();
        let mut requests = Vec::new();
        for request in asked(&step)? {
            let answer = answers.next().ok_or("log.txt has fewer answers than there are requests")?;
            requests.push((request, answer));
        }
        if answers.next().is_some() {
            return Err("log.txt has more answers than there are requests".into());
        }
        let objects = documents(&std::fs::read_to_string(step.join("objects.yaml"))?)?;
        steps.push(Step { requests, objects });
    }
}

fn asked(step: &Path) -> Result<Vec<Request>> {
    let command = step.join("cmd.txt");
    if command.exists() {
        return Ok(vec![parse_command(&std::fs::read_to_string(command)?)?]);
    }
    let objects = documents(&std::fs::read_to_string(step.join("input.yaml"))?)?;
    let of_the_story = |object: &Value| !OF_THE_CLUSTER.iter().any(|kind| object["kind"] == *kind);
    Ok(objects.into_iter().filter(of_the_story).map(Request::Apply).collect())
}

/// `kubectl -n NS patch KIND NAME --type=TYPE -p PATCH` or `kubectl -n NS delete KIND NAME`.
fn parse_command(line: &str) -> Result<Request> {
    let words: Vec<&str> = line.trim().splitn(8, ' ').collect();
    let named = |kind: &str, name: &str| Named { kind: kind.to_owned(), name: name.to_owned() };
    match words.as_slice() {
        ["kubectl", "-n", "NS", "delete", kind, name] => Ok(Request::Delete(named(kind, name))),
        ["kubectl", "-n", "NS", "patch", kind, name, form, rest] => {
            let patch = rest.strip_prefix("-p ").ok_or_else(|| format!("no -p in {line}"))?;
            let patch: Value = serde_json::from_str(patch)?;
            match *form {
                "--type=merge" => Ok(Request::Merge(named(kind, name), patch)),
                "--type=json" => Ok(Request::Json(named(kind, name), patch)),
                other => Err(format!("nothing is known of {other}").into()),
            }
        }
        _ => Err(format!("not a command of a recording: {line}").into()),
    }
}

/// The answers of each step: a line `stepN … rc=R TEXT` for each request, TEXT may go on below.
fn story(log: &str) -> BTreeMap<usize, Vec<Answer>> {
    let mut answers_of: BTreeMap<usize, Vec<Answer>> = BTreeMap::new();
    let mut last: Option<usize> = None;
    for line in log.lines() {
        let head = line.strip_prefix("step").and_then(|rest| rest.split_once(' '));
        let head = head.and_then(|(number, rest)| Some((number.parse::<usize>().ok()?, rest)));
        match head {
            Some((step, rest)) => {
                last = None;
                let Some((_, end)) = rest.split_once(" rc=") else { continue };
                let (code, said) = end.split_once(' ').unwrap_or((end, ""));
                let answer = if code == "0" { Ok(()) } else { Err(said.trim_start().to_owned()) };
                answers_of.entry(step).or_default().push(answer);
                last = Some(step);
            }
            None => {
                let answer =
                    last.and_then(|step| answers_of.get_mut(&step)).and_then(|answers| answers.last_mut());
                if let Some(Err(said)) = answer {
                    said.push('\n');
                    said.push_str(line);
                }
            }
        }
    }
    answers_of
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_story_tells_who_was_refused_and_why() {
        let answers_of = story(
            "step0 apply rc=0 x created \nstep0 apply rc=1  The X is invalid: \n* a: b\n* c: d\nstep0 settled 8 s\nstep1 ('delete') rc=0 gone",
        );
        assert_eq!(answers_of[&0], [Ok(()), Err("The X is invalid: \n* a: b\n* c: d".to_owned())]);
        assert_eq!(answers_of[&1], [Ok(())]);
    }

    #[test]
    fn commands_are_read() {
        let request =
            parse_command("kubectl -n NS patch foo source --type=merge -p {\"a\": {\"b\": \"c d\"}}");
        let named = Named { kind: "foo".to_owned(), name: "source".to_owned() };
        assert_eq!(request.ok(), Some(Request::Merge(named, json!({"a": {"b": "c d"}}))));
        assert!(parse_command("kubectl scale").is_err());
    }
}
