//! `vela lsp`: a language server on standard input and output, by which editors show what `vela dry-run --offline` and
//! `vela def vet` know. It asks no cluster and writes no file.

mod answer;
mod check;
mod cursor;
mod frames;
mod library;
mod place;
mod server;
mod text;
mod uri;

use std::io::BufReader;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use serde_json::Value;
use vela_engine::ClusterVersion;

use self::check::Judged;
use self::frames::Event;
use self::server::{Next, Server};
use crate::args::{Global, Lsp};
use crate::error::{Error, Result};
use crate::offline;
use crate::screen::{Passed, Screen};

/// Messages that wait; the editor waits when there are more.
const WAITING_LIMIT: usize = 64;
/// How long it sleeps where there is nothing to do; it is woken by every message.
const IDLE: Duration = Duration::from_secs(3600);

pub(crate) fn run(args: &Lsp, global: &Global, screen: &mut Screen) -> Result<()> {
    let namespace = offline::namespace(global, screen)?;
    let version = args.kubernetes_version.clone().unwrap_or_else(ClusterVersion::newest);
    let (sender, events) = sync_channel(WAITING_LIMIT);
    // It ends with the program, or with the input.
    std::thread::spawn(move || {
        let mut from = BufReader::new(std::io::stdin());
        loop {
            let event = frames::read(&mut from);
            let is_last = matches!(event, Event::End);
            if sender.send(event).is_err() || is_last {
                return;
            }
        }
    });
    let send = |message: Value| {
        let text = message.to_string();
        let frame = format!("Content-Length: {}\r\n\r\n{text}", text.len());
        match screen.pass(frame.as_bytes(), Passed::Out)? {
            true => Ok(()),
            false => Err(Error::user("the editor has closed the output of the language server").into()),
        }
    };
    let mut server = Server::new(send, Judged { namespace, version });
    loop {
        match events.recv_timeout(server.patience().unwrap_or(IDLE)) {
            Ok(Event::Message(message)) => match server.message(message)? {
                Next::GoOn => {}
                Next::End => break,
            },
            Ok(Event::Wrong(code, words)) => server.wrong(code, &words)?,
            Ok(Event::End) | Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => server.check_next()?,
        }
    }
    match server.is_shut_down {
        true => Ok(()),
        false => Err(Error::user("the editor ended the language server without `shutdown`").into()),
    }
}
