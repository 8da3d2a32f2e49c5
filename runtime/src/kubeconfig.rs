//! Explains errors about access to a cluster: what is wrong and where, never quoting the file or the program.
//!
//! Kubeconfigs hold tokens, keys and passwords, and kube's errors show the lines around a mistake; those of programs that
//! give out tokens show what the program said.

use std::error::Error;

use kube::client::AuthError;
use kube::config::{KubeconfigError, LoadDataError};

/// Deeper chains of causes say nothing new.
const DEEPEST: usize = 8;

/// The public part of this error, where a message in it may not be repeated.
pub fn guarded(error: &(dyn Error + 'static)) -> Option<String> {
    let mut cause = Some(error);
    for _ in 0..DEEPEST {
        let error = cause?;
        if let Some(error) = error.downcast_ref::<KubeconfigError>() {
            return Some(describe(error));
        }
        if let Some(error) = error.downcast_ref::<AuthError>() {
            return Some(auth(error));
        }
        cause = error.source();
    }
    None
}

/// The error in a kubeconfig.
pub fn describe(error: &KubeconfigError) -> String {
    let data = |what: &str, error: &LoadDataError| match error {
        LoadDataError::DecodeBase64(_) => format!("the {what} is not base64"),
        LoadDataError::ReadFile(error, _) => format!("the file of the {what} cannot be read: {error}"),
        LoadDataError::NoBase64DataOrFile => format!("the {what} is given neither as data nor as a file"),
    };
    match error {
        KubeconfigError::Parse(error) => match error.location() {
            Some(place) => {
                format!(
                    "line {}, column {}: this is not what a kubeconfig has there",
                    place.line(),
                    place.column()
                )
            }
            None => "it is not a kubeconfig in YAML".to_owned(),
        },
        KubeconfigError::ReadConfig(error, path) => format!("{} cannot be read: {error}", path.display()),
        KubeconfigError::LoadCertificateAuthority(error) => data("certificate authority", error),
        KubeconfigError::LoadClientCertificate(error) => data("client certificate", error),
        KubeconfigError::LoadClientKey(error) => data("client key", error),
        KubeconfigError::ParseCertificates(_) => "a certificate is not in PEM".to_owned(),
        // These name contexts, or have words of their own only.
        other => other.to_string(),
    }
}

fn auth(error: &AuthError) -> String {
    match error {
        AuthError::InvalidBasicAuth(_) => {
            "the user or the password cannot be sent: they have characters that no header takes".to_owned()
        }
        AuthError::InvalidBearerToken(_) => {
            "the token cannot be sent: it has characters that no header takes".to_owned()
        }
        AuthError::AuthExecRun { cmd, out } => {
            format!("the program {cmd:?} that gives out tokens ended with {}; run it to see why", out.status)
        }
        AuthError::AuthExecParse(_) | AuthError::ParseTokenKey(_) | AuthError::AuthExec(_) => {
            "what the program that gives out tokens said is no ExecCredential; run it to see why".to_owned()
        }
        AuthError::AuthExecStart(error) => {
            format!("the program that gives out tokens did not start: {error}")
        }
        AuthError::ReadTokenFile(error, path) => {
            format!("the file of the token, {}, cannot be read: {error}", path.display())
        }
        AuthError::MissingCommand => "the program that gives out tokens is not named".to_owned(),
        _ => "the way to get a token that the kubeconfig names failed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use kube::config::{KubeConfigOptions, Kubeconfig};

    use super::*;

    const TOKEN: &str = "eyJhbGciOiJ-hidden-hidden";

    fn everything_said(error: &(dyn Error + 'static)) -> String {
        guarded(error).unwrap()
    }

    #[test]
    fn a_broken_kubeconfig_is_told_by_its_place_and_never_quoted() {
        let whole = format!(
            "apiVersion: v1\nkind: Config\nusers:\n- name: me\n  user:\n    token: {TOKEN}\ncurrent-context: me\n"
        );
        let broken = [
            whole.replace("  user:", "  user: ["),
            whole.replace("kind: Config", "kind: [Config"),
            whole.replace("    token:", "\t token:"),
            whole.replace("  user:\n    token: ", "  user: "),
            whole.replace(&format!("token: {TOKEN}"), &format!("token: [{TOKEN}]")),
            whole.replace(&format!("token: {TOKEN}"), &format!("token: \"{TOKEN}")),
            whole.replace(&format!("token: {TOKEN}"), &format!("token: {TOKEN}\n    token: {TOKEN}x: y")),
            whole.replace("- name: me", "- 7"),
            format!("{TOKEN}\n"),
            format!("users: {TOKEN}\n"),
        ];
        for text in broken {
            let Err(error) = Kubeconfig::from_yaml(&text) else { panic!("{text} is read") };
            let said = everything_said(&error);
            assert!(!said.contains("hidden"), "{said}");
            assert!(said.starts_with("line ") || said.contains("kubeconfig"), "{said}");
        }
    }

    #[tokio::test]
    async fn what_cannot_be_used_is_not_quoted_either() {
        for user in [
            format!("client-certificate-data: {TOKEN}!, client-key-data: {TOKEN}!"),
            "client-certificate-data: aGlkZGVu, client-key: /nowhere/key".to_owned(),
        ] {
            let text = format!(
                "apiVersion: v1\nkind: Config\nclusters: [{{name: a, cluster: {{server: \"https://127.0.0.1:1\", \
                 certificate-authority-data: {TOKEN}!}}}}]\nusers: [{{name: a, user: {{{user}}}}}]\n\
                 contexts: [{{name: a, context: {{cluster: a, user: a}}}}]\ncurrent-context: a\n"
            );
            let read = Kubeconfig::from_yaml(&text).unwrap();
            let Err(error) = kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await
            else {
                panic!("{text} is usable")
            };
            let said = everything_said(&error);
            assert!(!said.contains("hidden") && !said.contains("aGlkZGVu"), "{said}");
        }
    }

    #[test]
    fn what_a_program_said_is_not_repeated() {
        use std::os::unix::process::ExitStatusExt as _;
        let out = std::process::Output {
            status: std::process::ExitStatus::from_raw(256),
            stdout: TOKEN.into(),
            stderr: TOKEN.into(),
        };
        let run = AuthError::AuthExecRun { cmd: "login".to_owned(), out: Box::new(out) };
        let said = everything_said(&kube::Error::Auth(run));
        assert!(said.contains("login") && !said.contains("hidden"), "{said}");
        assert_eq!(guarded(&std::io::Error::other("the disk is full")), None);
    }
}
