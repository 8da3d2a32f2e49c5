//! The flags of KubeVela's commands that are not here, of commands that are: what to use instead.
//!
//! `docs/reference/commands.md` has the same list; a test compares both.

use clap::CommandFactory as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::args::Vela;
use crate::error::{Error, Failure};

/// A command, its flags, and what to use instead.
type Flag = (&'static str, &'static [&'static str], &'static str);

const FLAGS: &[Flag] = &[
    ("up", &["--shard-id", "-s"], "one controller works on all applications; leave the flag out"),
    (
        "status",
        &["--metrics", "-m"],
        "`vela top` and `vela status --pod` show how pods are; ask the metrics server for figures",
    ),
    (
        "status",
        &["--detail-format"],
        "`vela status` shows every object with its state; -o json and -o yaml have all fields",
    ),
    ("ls", &["--field-selector"], "give the names of applications, or their labels by -l"),
    (
        "delete",
        &["--force"],
        "nothing has to be forced: `vela delete` says what holds an application, and `vela uninstall` takes a hold off",
    ),
    (
        "show",
        &["--web"],
        "-o markdown writes the reference of a type, and `vela dashboard` shows types in a browser",
    ),
    ("show", &["--revision", "-r"], "name the version behind the type, such as webservice@v2"),
    (
        "show",
        &["--path", "-p", "--location", "-l", "--i18n"],
        "-o markdown writes the reference of a type to standard output, in the words of its definition",
    ),
    (
        "dry-run",
        &["--definition-namespace", "-x"],
        "-n names the namespace whose definitions come first, and --system-namespace that of those for everybody",
    ),
    (
        "diff",
        &["--revision", "-r"],
        "`vela revision get --diff FROM TO` compares two revisions, and `vela diff FILE` a file with what is live",
    ),
    ("diff", &["-c"], "every field that differs is printed, and only these"),
    (
        "logs",
        &["--output", "-o"],
        "lines are printed as containers wrote them, behind the name of the pod where there are several",
    ),
    (
        "port-forward",
        &["--resource-name", "-t"],
        "--service names a Service, --pod a pod and --component a component",
    ),
    ("env init", &["--labels"], "`kubectl label namespace` adds labels to the namespace of the environment"),
    (
        "revision get",
        &["--def", "-d"],
        "-o yaml has the whole revision, and `vela def get NAME@vN` a version of a type",
    ),
    (
        "components",
        &["--url", "--label"],
        "`vela cap center config NAME URL` names a place, and --discover lists what it has",
    ),
    (
        "traits",
        &["--url", "--label"],
        "`vela cap center config NAME URL` names a place, and --discover lists what it has",
    ),
    (
        "workloads",
        &["--url", "--label"],
        "`vela cap center config NAME URL` names a place, and --discover lists what it has",
    ),
    (
        "install",
        &["--set", "--values", "--file"],
        "the chart in deploy/chart takes values; `vela install` has a flag for each, see `vela install --help`",
    ),
    (
        "install",
        &["--version", "-v"],
        "a program installs its own release: take the program of the wanted release",
    ),
    (
        "install",
        &["--detail", "-d", "--reuse", "-r"],
        "`vela install` says what it does, and keeps what it finds; leave the flag out",
    ),
    ("uninstall", &["-f"], "--force takes the hold off applications that no controller releases"),
];

/// The answer to words with one of these flags, where `error` is that they are no flag of ours.
pub(crate) fn not_here(error: &clap::Error, words: impl Iterator<Item = String>) -> Option<Failure> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else { return None };
    let typed = typed.split('=').next().unwrap_or_default();
    let command = command(words)?;
    let (command, _, instead) =
        FLAGS.iter().find(|(of, flags, _)| *of == command && flags.contains(&typed))?;
    Some(Error::not_supported(format!("`vela {command}` has no {typed}: {instead}")).into())
}

/// The command that is typed, by its first name.
fn command(words: impl Iterator<Item = String>) -> Option<String> {
    let ours = Vela::command();
    let mut at = &ours;
    let mut path: Vec<String> = Vec::new();
    for word in words {
        let Some(found) = at.find_subcommand(&word) else { continue };
        path.push(found.get_name().to_owned());
        at = found;
        if path.len() == 2 {
            break;
        }
    }
    (!path.is_empty()).then(|| path.join(" "))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_flag_has_a_row_in_the_reference() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference/commands.md");
        let page = std::fs::read_to_string(page).unwrap();
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| vela ")).collect();
        let ticked = |flag: &&str| format!("`{flag}`");
        let row = |(command, flags, instead): &Flag| {
            let flags: Vec<String> = flags.iter().map(ticked).collect();
            format!("| vela {command} | {} | {instead} |", flags.join(", "))
        };
        let expected: Vec<String> = FLAGS.iter().map(row).collect();
        assert_eq!(rows, expected, "\n{}", expected.join("\n"));
    }

    #[test]
    fn no_flag_of_ours_is_said_to_be_missing() {
        for (command, flags, _) in FLAGS {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            for flag in *flags {
                let typed = [&["vela".to_owned()][..], &words, &[(*flag).to_owned()]].concat();
                let error = Vela::command().try_get_matches_from(typed).unwrap_err();
                let said = not_here(&error, words.iter().cloned());
                assert!(said.is_some(), "`vela {command} {flag}` is known, or not found: {error}");
            }
        }
    }
}
