//! Steps whose template is known here: what they do is done by the workflow itself.

use super::spec::{
    APPLY_APPLICATION, APPLY_COMPONENT, APPLY_IN_PARALLEL, APPLY_REMAINING, DEPLOY, DEPLOY_TO_ENV,
    DEPLOY_TO_RUNTIME, STEP_GROUP, SUSPEND,
};
use crate::definition::DEFAULT_ERA;
use crate::definition::version::base_name;
use crate::diagnostic::Diagnostics;
use crate::steps::Step;

/// Waits for a person, or for a time.
const SUSPEND_TEMPLATE: &str = r#"import "vela/builtin"

suspend: builtin.#Suspend & {$params: parameter}
parameter: {
	// +usage=Resume by itself after that time, such as 30s, 5m or 1h30m
	duration?: string
	// +usage=What to show to those who are waited for
	message?: string
}
"#;

/// The step of this type, where it is built in and has a template.
///
/// # Errors
/// The template is broken, which a test rules out.
pub fn built_in(type_: &str) -> Option<Result<Step, Diagnostics>> {
    (type_ == SUSPEND).then(|| Step::compile("step \"suspend\"", SUSPEND_TEMPLATE, DEFAULT_ERA))
}

/// Names of the parameters of a built-in step; nothing where the type is not built in.
pub(crate) fn built_in_parameters(type_: &str) -> Option<&'static [&'static str]> {
    match base_name(type_) {
        APPLY_COMPONENT => Some(&["component", "cluster", "namespace"]),
        DEPLOY => Some(&["policies", "parallelism", "auto", "ignoreTerraformComponent"]),
        SUSPEND => Some(&["duration", "message"]),
        APPLY_REMAINING => Some(&["exceptions"]),
        DEPLOY_TO_ENV => Some(&["env", "policy", "parallel"]),
        DEPLOY_TO_RUNTIME => Some(&["clusters"]),
        APPLY_APPLICATION | APPLY_IN_PARALLEL | STEP_GROUP => Some(&[]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_steps_compile() {
        assert!(built_in(SUSPEND).is_some_and(|step| step.is_ok()));
        assert!(built_in("notification").is_none());
    }
}
