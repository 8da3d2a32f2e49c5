//! `vela top`: looks into applications on the whole terminal. It only reads.
//!
//! [`model`] knows what is shown and what keys do, [`view`] makes lines of it, [`read`] asks the cluster. Here is the loop
//! between them: one request for the current page at a time, at a bounded rate, and none for pages that were left.

mod model;
mod read;
#[cfg(test)]
mod tests;
mod view;

use std::io::IsTerminal as _;
use std::task::Poll;
use std::time::Duration;

use futures::future::LocalBoxFuture;
use tokio::time::Instant;

use self::model::{Content, Effect, State};
use self::read::Reader;
use super::sandbox::stop_asked;
use crate::args::{Global, Top};
use crate::error::{Error, Result};
use crate::screen::{FullScreen, Input, Screen};
use crate::session::{Purpose, Session, block_on_threads};
use crate::terminal;

/// How long a page stays before it is read again.
const READ_EVERY: Duration = Duration::from_secs(2);
/// The least time between two reads, however many keys are pressed.
const LEAST_PAUSE: Duration = Duration::from_millis(200);
/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn run(args: &Top, global: &Global, screen: &mut Screen) -> Result<()> {
    if !terminal::is_there() || !std::io::stdout().is_terminal() {
        let error = Error::user("`vela top` needs a terminal: its standard input or output is none");
        let hint = "`vela ls -A` and `vela status NAME` print the same once, `vela ls --watch` prints what changes; `-o json` is for programs";
        return Err(error.hint(hint).into());
    }
    // In the sandbox its controllers run, so that what other commands write there lives while this one looks at it.
    let work = async {
        let session = Session::open(global, Purpose::Change, screen).await?;
        let shown = show(&session, args).await;
        session.close().await.and(shown)
    };
    block_on_threads(work)
}

async fn show(session: &Session, args: &Top) -> Result<()> {
    session.share().await?;
    let cluster = &session.cluster;
    let is_simulated = session.is_sandbox();
    let reader = Reader { cluster, all_namespaces: args.all_namespaces, is_simulated };
    let mut state = State::new();
    // What is refused at once is told as by every other command.
    state.take(reader.read(state.page()).await?);
    let mut place = match args.all_namespaces {
        true => format!("all namespaces of {}", cluster.title()),
        false => cluster.place(),
    };
    if is_simulated {
        place.push_str(", pods are simulated");
    }
    let mut stop = std::pin::pin!(stop_asked());
    // Signals that arrive as soon as the terminal is taken give it back, too.
    if let Poll::Ready(stopped) = futures::poll!(stop.as_mut()) {
        return stopped;
    }
    let mut screen = FullScreen::enter()?;
    let mut reading = Reading {
        reader: &reader,
        under_way: None,
        began: Instant::now(),
        next: Instant::now() + READ_EVERY,
    };
    loop {
        screen.draw(&view::lines(&mut state, &place, screen.size()?))?;
        tokio::select! {
            input = screen.input() => match input? {
                Input::Resized => {}
                Input::Key(key) => match state.act(key) {
                    Effect::Show => {}
                    Effect::Read => reading.again(),
                    Effect::End => return Ok(()),
                },
            },
            content = reading.content(&state) => match content {
                Ok(content) => state.take(content),
                Err(failure) => state.fail(failure.texts().join(" ")),
            },
            stopped = &mut stop => return stopped,
        }
    }
}

/// The reads of the current page.
struct Reading<'a> {
    reader: &'a Reader<'a>,
    under_way: Option<LocalBoxFuture<'a, Result<Content>>>,
    began: Instant,
    next: Instant,
}

impl<'a> Reading<'a> {
    /// Reads soon. A read under way is dropped: its page was left, or its answer would be older than the one that is asked for.
    fn again(&mut self) {
        self.under_way = None;
        self.next = self.began + LEAST_PAUSE;
    }

    /// What is read next. It goes on where it was when the caller looks at something else meanwhile.
    async fn content(&mut self, state: &State) -> Result<Content> {
        if self.under_way.is_none() {
            tokio::time::sleep_until(self.next).await;
            self.began = Instant::now();
        }
        let (reader, page) = (self.reader, state.page().clone());
        let request = self.under_way.get_or_insert_with(|| {
            let work = async move { reader.read(&page).await };
            Box::pin(async move {
                let late = || Error::cluster(format!("no answer for {} s", PATIENCE.as_secs())).into();
                tokio::time::timeout(PATIENCE, work).await.unwrap_or_else(|_| Err(late()))
            })
        });
        let content = request.await;
        self.under_way = None;
        self.next = Instant::now() + READ_EVERY;
        content
    }
}
