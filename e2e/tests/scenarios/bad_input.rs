//! Broken inputs: an exit code that is not zero, the place of every mistake, and nothing applied.

use vela_e2e::Result;
use vela_e2e::target::Target;

use crate::{nothing_is_left, scenario};

/// Head of an Application; cases go on below `components:` with two spaces more.
const HEAD: &str =
    "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata:\n  name: bad\nspec:\n  components:\n";

struct Case {
    name: &'static str,
    /// Lines from line 7 on.
    body: &'static str,
    /// The text that the error must contain: the place and the words.
    says: &'static [&'static str],
}

const CASES: [Case; 7] = [
    Case {
        name: "broken YAML",
        body: "    - name: web\n      type: webservice\n      properties: {image: nginx\n",
        says: &["standard input:"],
    },
    Case {
        name: "unknown component type",
        body: "    - name: web\n      type: webservise\n      properties: {image: nginx}\n",
        says: &["standard input:8:13", "webservise"],
    },
    Case {
        name: "missing required parameter",
        body: "    - name: web\n      type: webservice\n      properties: {cpu: \"1\"}\n",
        says: &["standard input:", "image"],
    },
    Case {
        name: "wrong parameter type",
        body: "    - name: web\n      type: webservice\n      properties:\n        image: 5\n",
        says: &["standard input:10:16", "image"],
    },
    Case {
        name: "conflict with the definition",
        body: "    - name: web\n      type: webservice\n      properties:\n        image: nginx\n        imagePullPolicy: Sometimes\n",
        says: &["standard input:11:26", "imagePullPolicy"],
    },
    Case {
        name: "circular dependency",
        body: "    - name: a\n      type: worker\n      properties: {image: x}\n      dependsOn: [b]\n    - name: b\n      type: worker\n      properties: {image: x}\n      dependsOn: [a]\n",
        says: &["standard input:", "a", "b"],
    },
    Case {
        name: "two components of one name",
        body: "    - name: web\n      type: worker\n      properties: {image: x}\n    - name: web\n      type: worker\n      properties: {image: x}\n",
        says: &["standard input:10:13", "web"],
    },
];

fn refused(target: &Target, manifest: &str, says: &[&str]) -> std::result::Result<(), String> {
    let said = target.vela(&["up", "-f", "-"], manifest).map_err(|error| error.to_string())?;
    if said.code != 1 {
        return Err(format!("exit code {} instead of 1\n{}{}", said.code, said.out, said.err));
    }
    match says.iter().find(|words| !said.err.contains(**words)) {
        Some(missing) => Err(format!("the error does not say {missing:?}:\n{}", said.err)),
        None => Ok(()),
    }
}

#[test]
fn every_mistake_is_told_with_its_place_and_nothing_is_applied() {
    scenario(async {
        let target = Target::open("bad").await?;
        let mut wrong = Vec::new();
        for case in &CASES {
            let manifest = format!("{HEAD}{}", case.body);
            if let Err(why) = refused(&target, &manifest, case.says) {
                wrong.push(format!("{}: {why}", case.name));
            }
        }
        if !wrong.is_empty() {
            return Err(wrong.join("\n\n").into());
        }
        nothing_is_left(&target).await
    });
}

#[test]
fn mistakes_of_several_files_come_together() {
    scenario(async {
        let target = Target::open("bad-many").await?;
        let folder = tempfile::tempdir()?;
        let bad = |name: &str, kind: &str| -> Result<()> {
            let text = HEAD.replace("bad", name) + &format!("    - name: x\n      type: {kind}\n");
            Ok(std::fs::write(folder.path().join(format!("{name}.yaml")), text)?)
        };
        bad("one", "nowhere")?;
        bad("two", "neither")?;
        let path = folder.path().to_string_lossy().into_owned();
        let said = target.vela(&["up", "-f", &path], "")?;
        assert_eq!(said.code, 1, "{said:?}");
        for words in ["one.yaml:8:13", "nowhere", "two.yaml:8:13", "neither"] {
            assert!(said.err.contains(words), "{words} is not told:\n{}", said.err);
        }
        nothing_is_left(&target).await
    });
}
