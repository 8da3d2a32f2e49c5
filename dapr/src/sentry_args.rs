//! The flags of the sentry, and what they mean.

use std::time::Duration;

use clap::Args;
use vela_dapr::{Jwts, Sentry};

use crate::listen_address::Listen;
use crate::span::Span;

/// A sidecar asks for its next certificate when two thirds of the former are over.
const LIFE_AT_LEAST: Duration = Duration::from_secs(60);

/// Another replica may have renewed the bundle.
const LOOK_EVERY: Duration = Duration::from_secs(15);

#[derive(Debug, Args)]
#[command(next_help_heading = "Sentry")]
pub(crate) struct SentryArgs {
    /// Issue the certificates of sidecars at this address, for the Service dapr-sentry, and that of the operator's own API; 0, and
    /// nothing, issues none.
    #[arg(long, default_value = "0", value_name = "ADDRESS")]
    sentry_addr: Listen,
    /// How long certificates are valid.
    #[arg(long, default_value = "24h", value_parser = life, value_name = "DURATION")]
    workload_cert_ttl: Duration,
    /// How far clocks of the cluster may differ.
    #[arg(long, default_value = "15m", value_parser = skew, value_name = "DURATION")]
    allowed_clock_skew: Duration,
    /// Sign a JWT for each sidecar beside its certificate (Dapr 1.16), with the key jwt.key of the trust bundle.
    #[arg(long, requires = "sentry_addr")]
    jwt_enabled: bool,
    /// Issuer that JWTs name: the URL at which others find the documents of --oidc-addr.
    #[arg(long, requires = "jwt_enabled", value_parser = issuer, value_name = "URL")]
    jwt_issuer: Option<String>,
    /// How long JWTs are valid.
    #[arg(long, default_value = "24h", value_parser = life, value_name = "DURATION")]
    jwt_ttl: Duration,
    /// Serve /.well-known/openid-configuration and /jwks.json here, over HTTPS with the sentry's certificate; 0, and nothing, serves none.
    #[arg(long, default_value = "0", value_name = "ADDRESS")]
    oidc_addr: Listen,
}

impl SentryArgs {
    /// The sentry that the flags mean, if they mean one.
    pub(crate) fn sentry(&self, namespace: String, trust_domain: String) -> Option<Sentry> {
        let address = self.sentry_addr.0?;
        let (life, skew) = (self.workload_cert_ttl, self.allowed_clock_skew);
        let jwts = self.jwt_enabled.then(|| Jwts {
            issuer: self.jwt_issuer.clone(),
            life: self.jwt_ttl,
            address: self.oidc_addr.0,
        });
        Some(Sentry { address, namespace, trust_domain, life, skew, look_every: LOOK_EVERY, jwts })
    }

    /// What no single flag can tell.
    ///
    /// # Errors
    /// Keys are to be served of tokens that name no issuer.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.oidc_addr.0.is_some() && self.jwt_issuer.is_none() {
            return Err("--oidc-addr needs --jwt-issuer, the URL at which others reach it".to_owned());
        }
        Ok(())
    }

    pub(crate) fn issues(&self) -> bool {
        self.sentry_addr.0.is_some()
    }
}

fn life(text: &str) -> Result<Duration, String> {
    const AT_MOST: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    let Span(life) = text.parse()?;
    let is_one = (LIFE_AT_LEAST..=AT_MOST).contains(&life);
    if is_one { Ok(life) } else { Err("write a duration from 1m to 8760h such as 24h".to_owned()) }
}

fn issuer(text: &str) -> Result<String, String> {
    let issuer = text.trim_end_matches('/');
    let uri: Option<http::Uri> = issuer.parse().ok();
    let is_one = uri.is_some_and(|uri| {
        uri.scheme_str() == Some("https")
            && uri.host().is_some_and(|host| !host.is_empty())
            && uri.query().is_none()
    });
    if is_one {
        Ok(issuer.to_owned())
    } else {
        Err("write a URL such as https://dapr.example.com".to_owned())
    }
}

fn skew(text: &str) -> Result<Duration, String> {
    const AT_MOST: Duration = Duration::from_secs(24 * 60 * 60);
    let Span(skew) = text.parse()?;
    if skew <= AT_MOST { Ok(skew) } else { Err("write a duration up to 24h such as 15m".to_owned()) }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        args: SentryArgs,
    }

    fn sentry(flags: &[&str]) -> Result<Option<Sentry>, clap::Error> {
        let program = Program::try_parse_from(std::iter::once("p").chain(flags.iter().copied()))?;
        Ok(program.args.sentry("dapr-system".to_owned(), "cluster.local".to_owned()))
    }

    #[test]
    fn tokens_are_signed_only_where_it_is_said() {
        assert_eq!(sentry(&["--sentry-addr=:1"]).unwrap().unwrap().jwts, None);
        let flags =
            ["--sentry-addr=:1", "--jwt-enabled", "--jwt-issuer=https://a.example/b/", "--oidc-addr=:9080"];
        let jwts = sentry(&flags).unwrap().unwrap().jwts.unwrap();
        assert_eq!((jwts.issuer.as_deref(), jwts.life.as_secs()), (Some("https://a.example/b"), 86_400));
        assert_eq!(jwts.address.unwrap().port(), 9080);
        let program =
            Program::try_parse_from(["p", "--sentry-addr=:1", "--jwt-enabled", "--oidc-addr=:1"]).unwrap();
        assert!(program.args.check().unwrap_err().contains("--jwt-issuer"));
    }

    #[test]
    fn certificates_are_issued_only_where_it_is_said() {
        assert_eq!(sentry(&[]).unwrap(), None);
        let found = sentry(&["--sentry-addr=:50001"]).unwrap().unwrap();
        assert_eq!(found.address.port(), 50001);
        assert_eq!((found.life.as_secs(), found.skew.as_secs()), (86_400, 900));
        let flags = ["--sentry-addr=:1", "--workload-cert-ttl=1h30m", "--allowed-clock-skew=0s"];
        assert_eq!(sentry(&flags).unwrap().unwrap().life.as_secs(), 5400);
        for (wrong, expected) in [
            ("--workload-cert-ttl=1s", "from 1m to 8760h"),
            ("--workload-cert-ttl=9000h", "from 1m to 8760h"),
            ("--workload-cert-ttl=soon", "1h30m"),
            ("--allowed-clock-skew=25h", "up to 24h"),
            ("--jwt-enabled", "--sentry-addr"),
            ("--jwt-issuer=https://a.example", "--jwt-enabled"),
            ("--jwt-issuer=http://a.example", "https://dapr.example.com"),
            ("--jwt-issuer=https://a.example?b", "https://dapr.example.com"),
            ("--jwt-ttl=1s", "from 1m to 8760h"),
        ] {
            let error = sentry(&[wrong]).unwrap_err().to_string();
            assert!(error.contains(expected), "{wrong}: {error}");
        }
    }
}
