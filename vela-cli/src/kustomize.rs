//! A folder with a kustomization → the manifests that kustomize builds of it, by the program that the user has.
//!
//! What a kustomization names, other folders and URLs too, that program reads with the rights of the user.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::download;
use crate::error::{Error, Result};
use crate::program::{Stopped, run};

/// The programs that build, in the order they are tried, and the word before the folder.
const PROGRAMS: [(&str, &str); 2] = [("kubectl", "kustomize"), ("kustomize", "build")];
/// The names of the file that says what is built.
const FILES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
/// How long a program may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Builds the folder, to at most so many bytes.
pub(crate) fn build(folder: &Path, at_most: usize) -> Result<Vec<u8>> {
    let name = folder.display();
    if let Some(url) = folder.to_str().filter(|text| download::is_url(text)) {
        let error = Error::user(format!("{} is no folder of this machine", download::without_query(url)));
        return Err(error.hint("download it and give its folder with -k").into());
    }
    if !FILES.iter().any(|file| folder.join(file).is_file()) {
        let error = Error::user(format!("{name} is no folder with a {}", FILES[0]));
        return Err(error
            .hint("-f takes folders of plain manifests; -k takes those that kustomize builds")
            .into());
    }
    for (program, word) in PROGRAMS {
        let mut command = Command::new(program);
        // A folder whose name begins with a dash is no flag.
        command.arg(word).arg("--").arg(folder);
        match run(command, at_most, PATIENCE) {
            Err(Stopped::NotThere) => {}
            Err(Stopped::Failed(why)) => {
                let error = Error::user(format!("{program} {word} cannot build {name}: {why}"));
                return Err(error.hint(format!("`{program} {word} {name}` shows it alone")).into());
            }
            Ok(bytes) => return Ok(bytes),
        }
    }
    let error = Error::config(format!("{name} cannot be built: neither kubectl nor kustomize is installed"));
    Err(error.hint("install kubectl or kustomize, or give what they build: -f - takes standard input").into())
}
