//! A path and the bytes of a review → the bytes of the reply: what an admission server calls.

use std::sync::Arc;

use futures::future::BoxFuture;
use kube::Client;
use vela_engine::{Document, Templates, parse};
use vela_runtime::webhook::Handler;
pub use vela_runtime::webhook::Reply;

use crate::review::Review;
use crate::verdict::Verdict;
use crate::{application, definition, fetch};

/// Every webhook of the platform.
#[derive(Clone)]
pub struct Webhooks {
    client: Client,
    templates: Arc<Templates>,
}

/// What a path asks to be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judge {
    /// An Application.
    Application,
    /// A definition of any kind.
    Definition,
}

/// Paths in the spelling users' webhook configurations already have, and who judges there.
const PATHS: &[(&str, Judge)] = &[
    ("/validating-core-oam-dev-v1alpha2-applications", Judge::Application),
    ("/validating-core-oam-dev-v1beta1-applications", Judge::Application),
    ("/validating-core-oam-dev-v1alpha2-traitdefinitions", Judge::Definition),
    ("/validating-core-oam-dev-v1beta1-traitdefinitions", Judge::Definition),
    ("/validating-core-oam-dev-v1beta1-componentdefinitions", Judge::Definition),
    ("/validating-core-oam-dev-v1beta1-policydefinitions", Judge::Definition),
    ("/validating-core-oam-dev-v1beta1-workflowstepdefinitions", Judge::Definition),
];

impl Judge {
    /// Who judges at a path.
    pub fn at(path: &str) -> Option<Self> {
        PATHS.iter().find(|(known, _)| *known == path).map(|(_, judge)| *judge)
    }
}

impl Webhooks {
    /// Webhooks that read a cluster through a client and share compiled templates.
    pub fn new(client: Client, templates: Arc<Templates>) -> Self {
        Self { client, templates }
    }

    /// Answers one request. A cluster that cannot be read is an error of the webhook (500), so that
    /// the failure policy of the configuration decides, not we.
    pub async fn answer(&self, path: &str, body: &[u8]) -> Reply {
        let Some(judge) = Judge::at(path) else {
            return Reply::failure(404, format!("no webhook at {path}"));
        };
        let review = match Review::read(body) {
            Ok(review) => review,
            Err(error) => return Reply::failure(400, error.to_string()),
        };
        let verdict = match judge {
            Judge::Definition => definition::judge(&review, &self.templates),
            Judge::Application if !review.concerns_a_living_object() => Verdict::allowed(),
            Judge::Application => {
                let document = Document::from_object(review.object.clone());
                let references = parse::references(&document);
                match fetch::snapshot(&self.client, &review.namespace, &references).await {
                    Ok(snapshot) => application::judge(&review, &snapshot, &self.templates),
                    Err(error) => return Reply::failure(500, error.to_string()),
                }
            }
        };
        Reply { status: 200, body: verdict.reply(&review) }
    }
}

impl Handler for Webhooks {
    fn answer<'a>(&'a self, path: &'a str, body: &'a [u8]) -> BoxFuture<'a, Reply> {
        Box::pin(self.answer(path, body))
    }
}
