//! Sends one e-mail to the server that a user named (RFC 5321), over a connection that the egress guard judged.
//!
//! A client of our own, because what is needed is one message over one connection with a limit on everything, and because
//! the caller has to know whether a failure came before or after the server had the message; both would have to be built
//! around a library. The connection is encrypted where the server offers it (STARTTLS, or from the beginning on port 465),
//! and a password goes over no other, except on this machine.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::ByteString;
use kube::client::ConfigExt as _;
use rustls::pki_types::ServerName;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio_rustls::TlsConnector;

use crate::egress::{self, EgressPolicy};

/// Port on which the connection is encrypted from the beginning.
const ENCRYPTED: u16 = 465;
/// Until there is a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Lines of one reply, and bytes of all replies.
const LINES_AT_MOST: usize = 64;
const BYTES_AT_MOST: usize = 64 * 1024;
/// So much of what a server says about a failure is repeated.
const SAID_AT_MOST: usize = 200;

/// A message, and the server that takes it.
#[derive(Clone)]
pub struct Mail {
    /// Name or address of the server.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Address of who sends it, which is also the name of the account.
    pub from: String,
    /// Password of the account; empty where the server asks for none.
    pub password: String,
    /// Addresses that it goes to.
    pub to: Vec<String>,
    /// Its headers and body (RFC 5322), in lines that end in CR LF.
    pub message: String,
}

/// A password is not for logs.
impl std::fmt::Debug for Mail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mail").field("host", &self.host).field("port", &self.port).finish_non_exhaustive()
    }
}

/// Why a message was not sent, or may not have been.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be sent so.
    #[error("{0}")]
    Refused(String),
    /// The server does not have it.
    #[error("{0}")]
    NotSent(String),
    /// The server may have it.
    #[error("{0}")]
    Unknown(String),
}

/// Sends a message.
///
/// # Errors
/// The server may not be asked, is not there, does not take the message, or says nothing in time; which of these, and whether
/// it has the message.
pub async fn send(policy: EgressPolicy, mail: &Mail, within: Duration) -> Result<(), Error> {
    check(mail)?;
    // Set once the server has the whole message.
    let mut is_sent = false;
    let sent = tokio::time::timeout(within, deliver(policy, mail, &mut is_sent)).await;
    let why = match sent {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(Failure::Refused(why))) => return Err(Error::Refused(why)),
        Ok(Err(Failure::Said(why))) => return Err(Error::NotSent(why)),
        Ok(Err(Failure::Broken(why))) => why,
        Err(_) => format!("the server did not answer within {} s", within.as_secs()),
    };
    Err(if is_sent { Error::Unknown(why) } else { Error::NotSent(why) })
}

/// Why a conversation ended.
enum Failure {
    /// It may not be held.
    Refused(String),
    /// The server said no.
    Said(String),
    /// The connection.
    Broken(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Broken(error.to_string())
    }
}

impl From<egress::Error> for Failure {
    fn from(error: egress::Error) -> Self {
        match error {
            egress::Error::Forbidden(_) => Self::Refused(error.to_string()),
            error => Self::Broken(error.to_string()),
        }
    }
}

/// No part of it may end a line of the conversation.
fn check(mail: &Mail) -> Result<(), Error> {
    let is_address = |text: &str| {
        let plain = |c: char| c.is_ascii_graphic() && !"<>,;:\\\"()[]".contains(c);
        let parts = text.split_once('@');
        let has_both =
            parts.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty() && !host.contains('@'));
        text.len() <= 254 && text.chars().all(plain) && has_both
    };
    for address in std::iter::once(&mail.from).chain(&mail.to) {
        if !is_address(address) {
            return Err(Error::Refused(format!("{address:?} is no address of an e-mail")));
        }
    }
    if mail.to.is_empty() {
        return Err(Error::Refused("it has no recipient".to_owned()));
    }
    Ok(())
}

async fn deliver(policy: EgressPolicy, mail: &Mail, is_sent: &mut bool) -> Result<(), Failure> {
    let stream = egress::connect(policy, (mail.host.as_str(), mail.port), CONNECT).await?;
    if mail.port == ENCRYPTED {
        let mut session = Session::new(encrypted(&mail.host, stream).await?);
        session.expect(&[220]).await?;
        let offers = session.hello().await?;
        return session.converse(mail, &offers, true, is_sent).await;
    }
    let is_local = stream.peer_addr().is_ok_and(|peer| is_loopback(peer.ip()));
    let mut session = Session::new(stream);
    session.expect(&[220]).await?;
    let offers = session.hello().await?;
    if !offers.iter().any(|offer| offer == "STARTTLS") {
        return session.converse(mail, &offers, is_local, is_sent).await;
    }
    session.say("STARTTLS").await?;
    session.expect(&[220]).await?;
    let mut session = Session::new(encrypted(&mail.host, session.stream).await?);
    let offers = session.hello().await?;
    session.converse(mail, &offers, true, is_sent).await
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

async fn encrypted<S>(host: &str, stream: S) -> Result<tokio_rustls::client::TlsStream<S>, Failure>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    // Only what it says of TLS is used of this: the authorities that the system trusts.
    let config = kube::Config::new(http::Uri::from_static("https://nowhere.invalid"));
    let config = config.rustls_client_config().map_err(|error| Failure::Broken(error.to_string()))?;
    let name = ServerName::try_from(host.to_owned());
    let name = name.map_err(|_| Failure::Refused("the host is no name of a server".to_owned()))?;
    Ok(TlsConnector::from(Arc::new(config)).connect(name, stream).await?)
}

/// A conversation with a server.
struct Session<S> {
    stream: S,
    /// The bytes read and not parsed yet.
    rest: Vec<u8>,
    /// Bytes of all replies.
    read: usize,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Session<S> {
    fn new(stream: S) -> Self {
        Self { stream, rest: Vec::new(), read: 0 }
    }

    async fn say(&mut self, line: &str) -> Result<(), Failure> {
        self.stream.write_all(format!("{line}\r\n").as_bytes()).await?;
        Ok(self.stream.flush().await?)
    }

    /// The lines of the next reply, which has to have one of these codes.
    async fn expect(&mut self, codes: &[u16]) -> Result<Vec<String>, Failure> {
        let mut lines = Vec::new();
        loop {
            let line = self.line().await?;
            let code: u16 = line.get(..3).and_then(|code| code.parse().ok()).unwrap_or_default();
            let said = line.get(4..).unwrap_or_default().to_owned();
            if !codes.contains(&code) {
                let said: String = said.chars().filter(|c| !c.is_control()).take(SAID_AT_MOST).collect();
                return Err(Failure::Said(format!("the server said {code} {said}")));
            }
            lines.push(said);
            if line.as_bytes().get(3) != Some(&b'-') {
                return Ok(lines);
            }
            if lines.len() >= LINES_AT_MOST {
                return Err(Failure::Broken(format!("a reply of more than {LINES_AT_MOST} lines")));
            }
        }
    }

    async fn line(&mut self) -> Result<String, Failure> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            let mut chunk = [0; 1024];
            let length = self.stream.read(&mut chunk).await?;
            self.read += length;
            if length == 0 {
                return Err(Failure::Broken("the server closed the connection".to_owned()));
            }
            if self.read > BYTES_AT_MOST {
                return Err(Failure::Broken(format!("the server says more than {BYTES_AT_MOST} bytes")));
            }
            self.rest.extend_from_slice(&chunk[..length]);
        }
    }

    /// The extensions of the server, in capital letters.
    async fn hello(&mut self) -> Result<Vec<String>, Failure> {
        self.say("EHLO vela").await?;
        let lines = self.expect(&[250]).await?;
        Ok(lines.into_iter().map(|line| line.to_uppercase()).collect())
    }

    async fn converse(
        &mut self,
        mail: &Mail,
        offers: &[String],
        is_private: bool,
        is_sent: &mut bool,
    ) -> Result<(), Failure> {
        self.log_in(mail, offers, is_private).await?;
        self.say(&format!("MAIL FROM:<{}>", mail.from)).await?;
        self.expect(&[250]).await?;
        for address in &mail.to {
            self.say(&format!("RCPT TO:<{address}>")).await?;
            self.expect(&[250, 251]).await?;
        }
        self.say("DATA").await?;
        self.expect(&[354]).await?;
        // From the last byte on the server may have it.
        self.stream.write_all(escaped(&mail.message).as_bytes()).await?;
        *is_sent = true;
        self.say(".").await?;
        self.expect(&[250]).await?;
        // It has it; whether it hears that nothing more comes changes nothing.
        let _ = self.say("QUIT").await;
        Ok(())
    }

    /// With the address as the name of the account, where the server asks for one.
    async fn log_in(&mut self, mail: &Mail, offers: &[String], is_private: bool) -> Result<(), Failure> {
        let ways = offers.iter().find_map(|offer| offer.strip_prefix("AUTH ")).unwrap_or_default();
        if mail.password.is_empty() || ways.is_empty() {
            return Ok(());
        }
        if !is_private {
            let why = "the server offers no encryption, and a password is not sent without";
            return Err(Failure::Refused(why.to_owned()));
        }
        let Mail { from, password, .. } = mail;
        let has = |way: &str| ways.split_whitespace().any(|offered| offered == way);
        if has("PLAIN") {
            self.say(&format!("AUTH PLAIN {}", base64(&format!("\0{from}\0{password}")))).await?;
        } else if has("LOGIN") {
            self.say("AUTH LOGIN").await?;
            self.expect(&[334]).await?;
            self.say(&base64(from)).await?;
            self.expect(&[334]).await?;
            self.say(&base64(password)).await?;
        } else {
            return Err(Failure::Refused(format!(
                "the server takes passwords by {ways}; expected PLAIN or LOGIN"
            )));
        }
        self.expect(&[235]).await.map(drop)
    }
}

fn base64(text: &str) -> String {
    let encoded = json!(ByteString(text.as_bytes().to_vec()));
    encoded.as_str().unwrap_or_default().to_owned()
}

/// Lines that begin with a dot get another one, and the last line an end.
fn escaped(message: &str) -> String {
    let lines =
        message.lines().map(|line| if line.starts_with('.') { format!(".{line}") } else { line.to_owned() });
    lines.map(|line| format!("{line}\r\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::TcpListener;

    fn mail(port: u16) -> Mail {
        Mail {
            host: "127.0.0.1".to_owned(),
            port,
            from: "a@example.com".to_owned(),
            password: "hidden".to_owned(),
            to: vec!["b@example.com".to_owned()],
            message: "Subject: hello\r\n\r\n.text\r\n".to_owned(),
        }
    }

    /// A server with these replies, one for each line, and one for the message. Gives its port, and what it was sent.
    async fn server(replies: &'static [&'static str]) -> (u16, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut session = Session::new(stream);
            let mut sent = String::new();
            for reply in replies {
                let _ = session.stream.write_all(format!("{reply}\r\n").as_bytes()).await;
                loop {
                    let Ok(line) = session.line().await else { return sent };
                    sent.push_str(&line);
                    sent.push('\n');
                    if !reply.starts_with("354") || line == "." {
                        break;
                    }
                }
            }
            sent
        });
        (port, served)
    }

    const WITHIN: Duration = Duration::from_secs(5);
    const LOCAL: EgressPolicy = EgressPolicy::ServicesAndLoopback;
    const GOOD: &[&str] = &[
        "220 hello",
        "250-mail\r\n250 AUTH LOGIN PLAIN",
        "235 ok",
        "250 ok",
        "250 ok",
        "354 go on",
        "250 taken",
    ];

    #[tokio::test]
    async fn a_message_is_sent_with_its_account() {
        let (port, served) = server(GOOD).await;
        send(LOCAL, &mail(port), WITHIN).await.unwrap();
        let account = base64("\0a@example.com\0hidden");
        let expected = format!(
            "EHLO vela\nAUTH PLAIN {account}\nMAIL FROM:<a@example.com>\nRCPT TO:<b@example.com>\nDATA\n\
             Subject: hello\n\n..text\n.\nQUIT\n"
        );
        assert_eq!(served.await.unwrap(), expected);
    }

    #[tokio::test]
    async fn whether_the_server_has_it_is_told() {
        let (port, _served) = server(&["220 hello", "250 mail", "550 who are you"]).await;
        let error = send(LOCAL, &mail(port), WITHIN).await.unwrap_err();
        assert!(
            matches!(&error, Error::NotSent(why) if why == "the server said 550 who are you"),
            "{error:?}"
        );
        let (port, _served) = server(&["220 hello", "250 mail", "250 ok", "250 ok", "354 go on"]).await;
        let error = send(LOCAL, &mail(port), WITHIN).await.unwrap_err();
        assert!(matches!(error, Error::Unknown(_)), "{error:?}");
        let unused = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
        let error = send(LOCAL, &mail(unused), WITHIN).await.unwrap_err();
        assert!(matches!(error, Error::NotSent(_)), "{error:?}");
    }

    #[tokio::test]
    async fn what_cannot_be_sent_is_refused_before_anything_is() {
        let error = send(EgressPolicy::Services, &mail(25), WITHIN).await.unwrap_err();
        assert!(matches!(error, Error::Refused(_)), "{error:?}");
        for wrong in ["a", "a@b\r\nRCPT TO:<c@d>", "a b@c", "@", "a@b@c", "<a@b>"] {
            let error = send(LOCAL, &Mail { from: wrong.to_owned(), ..mail(25) }, WITHIN).await.unwrap_err();
            assert!(matches!(error, Error::Refused(_)), "{wrong}: {error:?}");
        }
        let error = send(LOCAL, &Mail { to: Vec::new(), ..mail(25) }, WITHIN).await.unwrap_err();
        assert!(matches!(error, Error::Refused(_)), "{error:?}");
    }

    #[tokio::test]
    async fn a_server_that_says_nothing_has_its_time() {
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = silent.local_addr().unwrap().port();
        let error = send(LOCAL, &mail(port), Duration::from_millis(100)).await.unwrap_err();
        assert!(matches!(error, Error::NotSent(_)), "{error:?}");
    }
}
