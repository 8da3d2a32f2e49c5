//! Whom `vela dashboard --auth` lets in, and with whose rights: judged before anything is opened or served.

use std::io::Read as _;
use std::path::Path;

use kube::config::AuthInfo;
use kube::{Client, Config};
use serde_json::json;
use vela_console::{Access, Console, Door, Options, People, Proxy, ProxyHeaders, PublicUrl};

use crate::args::{Auth, AuthProxy, Dashboard, Global};
use crate::error::{Error, Result};
use crate::target::{self, Target};

/// A longer file has no secret for a header.
const SECRET_FILE_AT_MOST: u64 = 64 * 1024;

/// Whom a console lets in.
pub(super) enum Users {
    /// The browser that opens the link first.
    Link,
    /// Each user who sends a token for this cluster.
    Token(Box<Config>),
    /// Each user whom this proxy names, which browsers reach at an address of its own.
    Proxy(Box<Proxy>, Option<PublicUrl>),
}

impl Users {
    /// What the words ask for.
    pub(super) async fn choose(args: &Dashboard, global: &Global) -> Result<Self> {
        if args.auth != Auth::OidcProxy && args.proxy != AuthProxy::default() {
            return Err(Error::user(
                "--proxy-secret-file, --proxy-secret-header, --user-header, --groups-header, --public-url and \
                 --allow-system-users are about a proxy, and no header is believed without --auth oidc-proxy",
            )
            .hint("add --auth oidc-proxy, or leave them out")
            .into());
        }
        match args.auth {
            Auth::Link => Ok(Self::Link),
            Auth::Kubeconfig => cluster(global).await.map(|_| Self::Link),
            Auth::Token => Ok(Self::Token(Box::new(cluster(global).await?))),
            Auth::OidcProxy => {
                let proxy = proxy(&args.proxy)?;
                let url = args.proxy.public_url.as_deref().map(PublicUrl::parse).transpose();
                let url = url.map_err(|why| Error::user(format!("--public-url: {why}")))?;
                acts_for_itself(&cluster(global).await?.auth_info)?;
                Ok(Self::Proxy(Box::new(proxy), url))
            }
        }
    }

    /// Are there users with rights of their own, beside the one whose machine it is?
    pub(super) fn are_several(&self) -> bool {
        match self {
            Self::Link => false,
            Self::Token(_) | Self::Proxy(..) => true,
        }
    }

    /// What is said beside the address.
    pub(super) fn announcement(&self) -> Option<&'static str> {
        match self {
            Self::Link => None,
            Self::Token(_) => {
                Some("Each request needs the token of a user of the cluster: `Authorization: Bearer TOKEN`.")
            }
            Self::Proxy(..) => {
                Some("Each request has to come from the proxy, with its secret and the name of a user.")
            }
        }
    }

    /// The console that lets them in; `client` has the account of the console itself.
    pub(super) fn door(self, client: Client, options: Options, access: Access) -> Door {
        match self {
            Self::Link => Console::new(client, options, access).into(),
            Self::Token(config) => People::new(by_token(*config), options, access).into(),
            Self::Proxy(proxy, url) => {
                let access = match url {
                    Some(url) => access.reached_at(url),
                    None => access,
                };
                People::behind(*proxy, client, options, access).into()
            }
        }
    }
}

/// The way to the cluster, which has users of its own.
async fn cluster(global: &Global) -> Result<Config> {
    match target::choose(global).await? {
        Target::Cluster(chosen) => Ok(chosen.config),
        Target::Sandbox { .. } => {
            Err(Error::user("the sandbox has one user, who may do everything, and knows no other")
                .hint("leave out --auth, or configure a cluster with --kubeconfig")
                .into())
        }
    }
}

/// The proxy that the words describe.
fn proxy(args: &AuthProxy) -> Result<Proxy> {
    let Some(file) = &args.proxy_secret_file else {
        return Err(Error::user(
            "--auth oidc-proxy needs --proxy-secret-file: without a secret, every program on this machine could say that it \
             is the proxy",
        )
        .hint("`openssl rand -hex 32 > FILE` makes one; let the proxy send it as X-Vela-Proxy-Secret")
        .into());
    };
    let usual = ProxyHeaders::default();
    let headers = ProxyHeaders {
        secret: args.proxy_secret_header.clone().unwrap_or(usual.secret),
        user: args.user_header.clone().unwrap_or(usual.user),
        groups: args.groups_header.clone().unwrap_or(usual.groups),
    };
    Proxy::new(&secret(file)?, &headers, args.allow_system_users)
        .map_err(|why| Error::user(format!("--auth oidc-proxy: {why}")).into())
}

fn secret(file: &Path) -> Result<String> {
    let read = || -> std::io::Result<String> {
        let mut text = String::new();
        std::fs::File::open(file)?.take(SECRET_FILE_AT_MOST).read_to_string(&mut text)?;
        Ok(text)
    };
    read().map_err(|error| {
        Error::user(format!("--proxy-secret-file: {} cannot be read: {error}", file.display()))
            .hint("give a file with one line, which only the proxy and this console may read")
            .into()
    })
}

/// An account that acts for another would act for that one, whomever the proxy names.
fn acts_for_itself(account: &AuthInfo) -> Result<()> {
    let acts_for = account.impersonate.is_some()
        || account.impersonate_uid.is_some()
        || account.impersonate_groups.as_ref().is_some_and(|groups| !groups.is_empty())
        || account.impersonate_user_extra.as_ref().is_some_and(|extra| !extra.is_empty());
    if !acts_for {
        return Ok(());
    }
    Err(Error::user("the user of this kubeconfig acts for another one (`as`, `as-uid`, `as-groups` or `as-user-extra`), so \
                     that --auth oidc-proxy could not act for the users of the proxy")
        .hint("choose a context whose user has none of these fields")
        .into())
}

/// Makes clients of the cluster that send a token, and nothing of the kubeconfig's own account.
fn by_token(config: Config) -> impl Fn(&str) -> std::result::Result<Client, String> {
    move |token| Client::try_from(with_token(&config, token)?).map_err(|error| target::causes(&error))
}

/// The way to the same cluster with this token in place of every other account.
fn with_token(config: &Config, token: &str) -> std::result::Result<Config, String> {
    let mut config = config.clone();
    config.auth_info =
        serde_json::from_value(json!({ "token": token })).map_err(|error| error.to_string())?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_of_a_token_has_no_other_account() {
        let mut config = Config::new("https://127.0.0.1:1".parse().unwrap());
        let own =
            json!({"username": "admin", "password": "p", "client-certificate-data": "YQ==", "as": "root"});
        config.auth_info = serde_json::from_value(own).unwrap();
        let made = with_token(&config, "abc").unwrap();
        let account = &made.auth_info;
        assert!(account.token.is_some() && account.username.is_none() && account.impersonate.is_none());
        assert!(account.client_certificate_data.is_none() && account.exec.is_none());
        assert_eq!(made.cluster_url, config.cluster_url);
    }

    #[test]
    fn an_account_that_acts_for_another_is_no_account() {
        let account = |fields| serde_json::from_value::<AuthInfo>(fields).unwrap();
        assert!(acts_for_itself(&account(json!({"token": "abc", "as-groups": []}))).is_ok());
        for fields in [
            json!({"as": "root"}),
            json!({"as-uid": "1"}),
            json!({"as-groups": ["ops"]}),
            json!({"as-user-extra": {"a": ["b"]}}),
        ] {
            assert!(acts_for_itself(&account(fields.clone())).is_err(), "{fields}");
        }
    }

    #[test]
    fn a_proxy_needs_a_secret_that_does() {
        let refused = |args: &AuthProxy| format!("{:?}", proxy(args).unwrap_err());
        let without = refused(&AuthProxy::default());
        assert!(without.contains("--proxy-secret-file"), "{without}");
        let at = |file: &str| AuthProxy { proxy_secret_file: Some(file.into()), ..AuthProxy::default() };
        let absent = refused(&at("/nowhere/secret"));
        assert!(absent.contains("/nowhere/secret"), "{absent}");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        std::fs::write(&file, "short\n").unwrap();
        let short = refused(&at(file.to_str().unwrap()));
        assert!(short.contains("openssl"), "{short}");
        std::fs::write(&file, "0123456789abcdef0123456789abcdef\n").unwrap();
        assert!(proxy(&at(file.to_str().unwrap())).is_ok());
        let twice =
            AuthProxy { user_header: Some("x-forwarded-groups".to_owned()), ..at(file.to_str().unwrap()) };
        assert!(refused(&twice).contains("three names"));
    }
}
