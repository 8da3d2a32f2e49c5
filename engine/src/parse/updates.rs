//! Refuses annotations that contradict each other about which definitions an application goes by.

use serde_json::Value as Json;
use vela_crds::annotations;

use super::Parser;
use crate::diagnostic::{Code, Diagnostic};
use crate::manifest::Document;

/// An application that follows its definitions by itself and is deployed only when it is published anew: one of both would
/// not hold.
pub fn contradiction(application: &Document) -> Option<Diagnostic> {
    let is_both = follows(application.value()) && is_published(application.value());
    is_both.then(|| {
        let (follows, published) = (annotations::AUTO_UPDATE, annotations::PUBLISH_VERSION);
        let message = format!(
            "{follows} follows changed definitions at any time, and {published} deploys only what is published: expected one of \
             both annotations"
        );
        let hint = format!("take {follows} out, or {published}");
        let path = format!("metadata.annotations[{follows:?}]");
        Diagnostic::error(Code::WrongType, message).at_key(application, path).hint(hint)
    })
}

fn annotation<'a>(application: &'a Json, name: &str) -> Option<&'a str> {
    application.pointer("/metadata/annotations")?.get(name)?.as_str()
}

fn follows(application: &Json) -> bool {
    annotation(application, annotations::AUTO_UPDATE) == Some("true")
}

fn is_published(application: &Json) -> bool {
    annotation(application, annotations::PUBLISH_VERSION).is_some_and(|version| !version.is_empty())
}

impl Parser<'_> {
    pub(super) fn one_way_of_updates(&mut self) {
        self.found.extend(contradiction(self.document).into_iter().collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_application_follows_definitions_or_is_published() {
        let with = |annotations: Json| {
            let application = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
                "metadata": {"name": "a", "annotations": annotations}});
            contradiction(&Document::from_object(application))
        };
        let (follows, published) = (annotations::AUTO_UPDATE, annotations::PUBLISH_VERSION);
        assert!(with(json!({follows: "true"})).is_none());
        assert!(with(json!({published: "v1", follows: "false"})).is_none());
        assert!(with(json!({published: "", follows: "true"})).is_none());
        let refused = with(json!({published: "v1", follows: "true"}));
        let refused = refused.map(|refused| (refused.path, refused.message)).unwrap_or_default();
        assert_eq!(refused.0, "metadata.annotations[\"app.oam.dev/autoUpdate\"]");
        assert!(refused.1.contains("expected one of both"), "{}", refused.1);
    }
}
