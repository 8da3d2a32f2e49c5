//! The secrets of a Harbor, each made once.

use serde_json::json;

use super::super::node::{Generated, Node, Password};
use super::stack::Stack;
use crate::error::Error;

/// The account that reads and writes images in the name of the parts.
pub(super) const REGISTRY_USER: &str = "harbor_registry_user";

const KEY: Password = Password { length: 32, digits: 5, specials: 0 };
const ENCRYPTION: Password = Password { length: 16, digits: 8, specials: 2 };
const LONG: Password = Password { length: 128, digits: 16, specials: 48 };
const JOBS: Password = Password { length: 16, digits: 6, specials: 6 };
const REGISTRY: Password = Password { length: 32, digits: 10, specials: 10 };

pub(super) fn children(stack: &Stack<'_>) -> Result<Vec<Node>, Error> {
    let once = |suffix: &str, kind: &str, keys| {
        let object = json!({
            "type": format!("goharbor.io/{kind}"),
            "immutable": true,
            "metadata": { "annotations": { "goharbor.io/immutable": "true" } },
        });
        Ok::<_, Error>(Node::secret(stack.part(suffix)?, object, keys))
    };
    let password = |password| Generated::Password(password);
    let mut nodes = vec![
        once("core-csrf", "single", vec![("key", password(KEY))])?,
        once("core-encryptionkey", "single", vec![("secret", password(ENCRYPTION))])?,
        once(
            "core-secret",
            "single",
            vec![
                ("secret", password(LONG)),
                ("password", password(LONG)),
                ("username", Generated::Fixed("chart_controller".to_owned())),
            ],
        )?,
        once("jobservice-secret", "single", vec![("secret", password(JOBS))])?,
        once("registry-http", "registry", vec![("REGISTRY_HTTP_SECRET", Generated::Yaml(LONG))])?,
        Node::secret(
            stack.part("registry-basicauth")?,
            json!({ "type": "goharbor.io/htpasswd", "immutable": false }),
            vec![
                ("secret", password(REGISTRY)),
                ("htpasswd", Generated::Htpasswd { user: REGISTRY_USER.to_owned(), password: "secret" }),
            ],
        ),
    ];
    if stack.spec("notary").is_set() {
        nodes.push(Node::secret(
            stack.part("notarysigner-encryption-key")?,
            json!({ "type": "goharbor.io/notary-signer-aliases" }),
            vec![("DEFAULT", password(LONG))],
        ));
    }
    Ok(nodes)
}
