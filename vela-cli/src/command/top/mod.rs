//! `vela top`: looks into applications on the whole terminal. It only reads.
//!
//! [`model`] knows what is shown and what keys do, [`view`] makes lines of it, [`read`] asks the cluster, [`follow`] watches it.
//! Here is the loop between them: the current page is followed, at a bounded rate, and none that was left.

mod follow;
mod model;
mod read;
#[cfg(test)]
mod tests;
mod view;

use std::convert::Infallible;
use std::io::IsTerminal as _;
use std::task::Poll;

use futures::future::LocalBoxFuture;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::Instant;

use self::follow::{LEAST_PAUSE, News, follow};
use self::model::{Effect, Page, State};
use self::read::Reader;
use super::stop::stop_asked;
use crate::args::{Global, Top};
use crate::error::{Error, Result};
use crate::screen::{FullScreen, Input, Screen};
use crate::session::{Purpose, Session, block_on_threads};
use crate::terminal;

/// News that wait to be shown: there is one page, and the next of it waits for the screen.
const MOST_NEWS: usize = 1;

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
    let mut following = Following::begin(&reader, state.page(), Instant::now());
    loop {
        screen.draw(&view::lines(&mut state, &place, screen.size()?))?;
        tokio::select! {
            input = screen.input() => match input? {
                Input::Resized => {}
                Input::Key(key) => match state.act(key) {
                    Effect::Show => {}
                    Effect::Read => following = following.other(state.page()),
                    Effect::End => return Ok(()),
                },
            },
            News { content, problem } = following.news() => {
                content.into_iter().for_each(|content| state.take(content));
                problem.into_iter().for_each(|problem| state.fail(problem));
            }
            stopped = &mut stop => return stopped,
        }
    }
}

/// The current page while it is followed.
struct Following<'a> {
    reader: &'a Reader<'a>,
    work: LocalBoxFuture<'a, Infallible>,
    news: Receiver<News>,
    began: Instant,
}

impl<'a> Following<'a> {
    fn begin(reader: &'a Reader<'a>, page: &Page, at: Instant) -> Self {
        let (sender, news) = channel(MOST_NEWS);
        let page = page.clone();
        let work = async move {
            tokio::time::sleep_until(at).await;
            follow(reader, &page, &sender).await
        };
        Self { reader, work: Box::pin(work), news, began: at }
    }

    /// Follows a page from its beginning, and the former one no more.
    fn other(self, page: &Page) -> Self {
        Self::begin(self.reader, page, Instant::now().max(self.began + LEAST_PAUSE))
    }

    /// What is new. It goes on where it was when the caller looks at something else meanwhile.
    async fn news(&mut self) -> News {
        tokio::select! {
            biased;
            Some(news) = self.news.recv() => news,
            never = &mut self.work => match never {},
        }
    }
}
