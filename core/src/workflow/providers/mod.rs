//! Answers the calls of workflow steps, a file for each package; what waits, suspends, fails or says something is no call here:
//! `vela_engine::steps` tells that apart.
//!
//! A provider reaches the cluster only through [`Objects`], which acts for the author of the application, within its bounds, and
//! records what it makes. A package that gets a provider is listed in `vela_engine::steps` as answered.

mod door;
mod kube;

use vela_engine::steps::Question;

use door::Provider;
pub(crate) use door::{Called, Objects};

/// Answers a call.
pub(crate) async fn call<O: Objects>(objects: &mut O, call: &Question) -> Result<Called, O::Error> {
    let answered = match call.provider.as_str() {
        name if kube::Kube::NAMES.contains(&name) => kube::Kube::call(objects, call).await?,
        _ => None,
    };
    Ok(answered.unwrap_or_else(|| {
        Called::broken(format!(
            "nobody answers {} {} yet, which {} asks for",
            call.provider, call.function, call.path
        ))
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use vela_engine::workflow::StepOutcome;

    use super::*;

    /// One object, and what was applied.
    #[derive(Default)]
    struct OneObject {
        there: Option<Value>,
        refusal: Option<String>,
        applied: Vec<Value>,
    }

    impl Objects for OneObject {
        type Error = std::convert::Infallible;

        async fn apply_object(&mut self, object: Value) -> Result<Result<Value, String>, Self::Error> {
            if let Some(refusal) = &self.refusal {
                return Ok(Err(refusal.clone()));
            }
            self.applied.push(object.clone());
            Ok(Ok(object))
        }

        async fn read_object(
            &mut self,
            _object: &Value,
        ) -> Result<Result<Option<Value>, String>, Self::Error> {
            match &self.refusal {
                Some(refusal) => Ok(Err(refusal.clone())),
                None => Ok(Ok(self.there.clone())),
            }
        }
    }

    fn question(provider: &str, function: &str, params: Value) -> Question {
        let (path, has_returns) = ("ask".to_owned(), provider != "op");
        Question { path, provider: provider.to_owned(), function: function.to_owned(), params, has_returns }
    }

    async fn asked(objects: &mut OneObject, question: Question) -> Called {
        match call(objects, &question).await {
            Ok(called) => called,
            Err(never) => match never {},
        }
    }

    fn config_map() -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
    }

    #[tokio::test]
    async fn an_object_is_applied_by_both_packages() {
        for provider in ["kube", "op"] {
            let mut objects = OneObject::default();
            let params = json!({"cluster": "", "value": config_map()});
            let called = asked(&mut objects, question(provider, "apply", params)).await;
            assert_eq!(called, Called::Answer(json!({"value": config_map()})));
            assert_eq!(objects.applied, [config_map()]);
        }
    }

    #[tokio::test]
    async fn what_cannot_be_applied_fails_the_step() {
        let mut objects = OneObject { refusal: Some("forbidden".to_owned()), ..OneObject::default() };
        let params = json!({"value": config_map()});
        let called = asked(&mut objects, question("kube", "apply", params)).await;
        assert_eq!(called, Called::failed("forbidden"));
        let nameless = json!({"value": {"apiVersion": "v1", "kind": "ConfigMap"}});
        let called = asked(&mut objects, question("kube", "apply", nameless)).await;
        let Called::Ended(StepOutcome::Broken { message }) = called else { panic!("{called:?}") };
        assert!(message.contains("metadata.name"), "{message}");
        let far = json!({"cluster": "far", "value": config_map()});
        let called = asked(&mut objects, question("kube", "apply", far)).await;
        assert!(matches!(called, Called::Ended(StepOutcome::Broken { message }) if message.contains("far")));
    }

    #[tokio::test]
    async fn an_object_is_read_and_its_absence_told() {
        let params = || json!({"cluster": "local", "value": config_map()});
        let mut objects = OneObject { there: Some(config_map()), ..OneObject::default() };
        let called = asked(&mut objects, question("kube", "read", params())).await;
        assert_eq!(called, Called::Answer(json!({"value": config_map()})));
        let mut nothing = OneObject::default();
        let called = asked(&mut nothing, question("op", "read", params())).await;
        assert_eq!(called, Called::Answer(json!({"err": "ConfigMap a not found"})));
        let mut refused = OneObject { refusal: Some("forbidden".to_owned()), ..OneObject::default() };
        let called = asked(&mut refused, question("kube", "read", params())).await;
        assert_eq!(called, Called::Answer(json!({"err": "forbidden"})));
    }

    #[tokio::test]
    async fn what_nobody_answers_is_told_with_its_place() {
        let called = asked(&mut OneObject::default(), question("http", "do", json!({}))).await;
        assert_eq!(called, Called::broken("nobody answers http do yet, which ask asks for"));
        let called = asked(&mut OneObject::default(), question("kube", "list", json!({}))).await;
        assert!(matches!(called, Called::Ended(StepOutcome::Broken { .. })));
    }
}
