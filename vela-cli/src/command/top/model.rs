//! What `vela top` shows and where its cursor is: state and key in, state out. Knows neither cluster nor terminal.

use crate::screen::{Key, plain};

/// Pages that lead to each other at most; those there are lead four deep.
const MOST_VIEWS: usize = 8;
/// Characters of a search.
const LONGEST_SEARCH: usize = 60;
/// Columns by which Left and Right move.
const STEP: usize = 20;

/// An object by what names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Object {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
}

/// A pod, with the names of its containers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PodName {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) containers: Vec<String>,
}

/// What a page is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Page {
    Applications,
    /// The components and objects of an application.
    Objects(Object),
    /// The pods of an application, or of one component of it.
    Pods(Object, Option<String>),
    /// What happened to an object.
    Events(Object),
    /// What happened to a pod.
    PodEvents(PodName),
    /// What the container of this number wrote.
    Log(PodName, usize),
}

impl Page {
    /// Its name in the path from the first page.
    pub(super) fn title(&self) -> String {
        match self {
            Self::Applications => "Applications".to_owned(),
            Self::Objects(application) => application.name.clone(),
            Self::Pods(_, None) => "pods".to_owned(),
            Self::Pods(_, Some(component)) => format!("pods of {component}"),
            Self::Events(object) => format!("events of {} {}", object.kind, object.name),
            Self::PodEvents(pod) => format!("events of {}", pod.name),
            Self::Log(pod, at) => {
                let container = pod.containers.get(*at).map_or("", String::as_str);
                format!("log of {} {container}", pod.name)
            }
        }
    }

    /// The page beside it: events, then the log of each container, and around.
    fn beside(&self, back: bool) -> Option<Self> {
        let (pod, at) = match self {
            Self::PodEvents(pod) => (pod, 0),
            Self::Log(pod, at) => (pod, at + 1),
            _ => return None,
        };
        let count = pod.containers.len() + 1;
        let next = (at + if back { count - 1 } else { 1 }) % count;
        Some(match next.checked_sub(1) {
            None => Self::PodEvents(pod.clone()),
            Some(container) => Self::Log(pod.clone(), container),
        })
    }

    /// Is what is new at its end?
    fn is_log(&self) -> bool {
        matches!(self, Self::Log(..))
    }
}

/// A row of a page, and what keys open there.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Row {
    /// What the row stays by when it is read again.
    pub(super) id: String,
    pub(super) cells: Vec<String>,
    /// By Enter.
    pub(super) below: Option<Page>,
    /// By e.
    pub(super) events: Option<Page>,
    /// By l.
    pub(super) log: Option<Page>,
}

/// What was read for a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Content {
    /// Names of columns; none where each row is one line of text.
    pub(super) heading: Vec<&'static str>,
    /// The column that gives way where the terminal is narrow.
    pub(super) long: usize,
    pub(super) rows: Vec<Row>,
    /// The sentence where there is no row.
    pub(super) empty: String,
}

/// A page with what was read for it last.
#[derive(Debug, Clone)]
pub(super) struct View {
    pub(super) page: Page,
    pub(super) content: Option<Content>,
    /// Why it could not be read again.
    pub(super) problem: Option<String>,
    pub(super) search: String,
    /// The row of the cursor, among those that are found.
    pub(super) selected: usize,
    /// The first row on the screen, among those that are found.
    pub(super) offset: usize,
    /// Columns of text left of the screen.
    pub(super) column: usize,
}

impl View {
    fn of(page: Page) -> Self {
        // The cursor of a log begins at its end.
        let selected = if page.is_log() { usize::MAX } else { 0 };
        Self { page, content: None, problem: None, search: String::new(), selected, offset: 0, column: 0 }
    }

    /// The rows that the search finds.
    pub(super) fn found(&self) -> Vec<&Row> {
        let rows = self.content.iter().flat_map(|content| &content.rows);
        let wanted = self.search.to_lowercase();
        let is_found = |row: &&Row| {
            wanted.is_empty() || row.cells.iter().any(|cell| plain(cell).to_lowercase().contains(&wanted))
        };
        rows.filter(is_found).collect()
    }

    fn row(&self) -> Option<Row> {
        self.found().get(self.selected).map(|row| (*row).clone())
    }

    fn last(&self) -> usize {
        self.found().len().saturating_sub(1)
    }

    /// Takes what was read; the cursor stays on its row, or at the end of a log.
    fn take(&mut self, content: Content) {
        let was_last = self.content.is_none() || self.selected >= self.last();
        let before = self.row().map(|row| row.id);
        self.content = Some(content);
        self.problem = None;
        let there = before.and_then(|id| self.found().iter().position(|row| row.id == id));
        self.selected = match there {
            _ if self.page.is_log() && was_last => self.last(),
            Some(at) => at,
            None => self.selected.min(self.last()),
        };
    }

    fn go(&mut self, to: usize) {
        self.selected = to.min(self.last());
    }
}

/// What follows from a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Only what is shown may differ.
    Show,
    /// The page has to be read now.
    Read,
    /// The person has seen enough.
    End,
}

/// All of it.
#[derive(Debug, Clone)]
pub(super) struct State {
    /// The pages that lead to the current one.
    above: Vec<View>,
    view: View,
    pub(super) shows_help: bool,
    /// Does a key belong to the search that is being typed?
    pub(super) is_searching: bool,
    /// Rows that the screen has for the page.
    rows: usize,
}

impl State {
    pub(super) fn new() -> Self {
        let view = View::of(Page::Applications);
        Self { above: Vec::new(), view, shows_help: false, is_searching: false, rows: 1 }
    }

    pub(super) fn view(&self) -> &View {
        &self.view
    }

    pub(super) fn page(&self) -> &Page {
        &self.view.page
    }

    /// The titles from the first page to this one.
    pub(super) fn path(&self) -> String {
        self.above.iter().chain([&self.view]).map(|view| view.page.title()).collect::<Vec<_>>().join(" > ")
    }

    /// Takes what was read for the current page.
    pub(super) fn take(&mut self, content: Content) {
        self.view.take(content);
    }

    /// The page could not be read; what was read before stays.
    pub(super) fn fail(&mut self, why: String) {
        self.view.problem = Some(why);
    }

    /// Moves what is shown so far that the cursor is on a screen of so many rows.
    pub(super) fn fit(&mut self, rows: usize) {
        self.rows = rows.max(1);
        let rows = self.rows;
        let view = &mut self.view;
        if view.content.is_some() {
            view.selected = view.selected.min(view.last());
            let most = view.found().len().saturating_sub(rows);
            view.offset = view.offset.clamp(view.selected.saturating_sub(rows - 1), view.selected).min(most);
        }
    }

    pub(super) fn act(&mut self, key: Key) -> Effect {
        if key == Key::Interrupt {
            return Effect::End;
        }
        if std::mem::take(&mut self.shows_help) {
            return Effect::Show;
        }
        if self.is_searching {
            self.search(key);
            return Effect::Show;
        }
        let (at, rows) = (self.view.selected, self.rows);
        match key {
            Key::Up | Key::Char('k') => self.view.go(at.saturating_sub(1)),
            Key::Down | Key::Char('j') => self.view.go(at.saturating_add(1)),
            Key::PageUp => self.view.go(at.saturating_sub(rows)),
            Key::PageDown | Key::Char(' ') => self.view.go(at.saturating_add(rows)),
            Key::Home | Key::Char('g') => self.view.go(0),
            Key::End | Key::Char('G') => self.view.go(usize::MAX),
            Key::Left => self.view.column = self.view.column.saturating_sub(STEP),
            Key::Right => self.right(),
            Key::Char('?') => self.shows_help = true,
            Key::Char('/') => self.is_searching = true,
            Key::Char('r') => return Effect::Read,
            Key::Char('q') | Key::Escape | Key::Backspace => return self.back(key),
            Key::Enter => return self.open(|row| row.below),
            Key::Char('e') => return self.open(|row| row.events),
            Key::Char('l') => return self.open(|row| row.log),
            Key::Tab | Key::BackTab => return self.turn(key == Key::BackTab),
            Key::Char(_) | Key::Interrupt => {}
        }
        Effect::Show
    }

    fn search(&mut self, key: Key) {
        let view = &mut self.view;
        match key {
            Key::Char(c) if view.search.chars().count() < LONGEST_SEARCH => view.search.push(c),
            Key::Backspace => drop(view.search.pop()),
            Key::Escape => view.search.clear(),
            _ => {}
        }
        view.go(view.selected);
        if matches!(key, Key::Escape | Key::Enter) {
            self.is_searching = false;
        }
    }

    /// No further than the longest line of text.
    fn right(&mut self) {
        let view = &mut self.view;
        let is_text = view.content.as_ref().is_some_and(|content| content.heading.is_empty());
        let widths = view.found().into_iter().flat_map(|row| &row.cells).map(|cell| cell.chars().count());
        let longest = widths.max().unwrap_or(0);
        if is_text && view.column + STEP < longest {
            view.column += STEP;
        }
    }

    fn open(&mut self, which: impl FnOnce(Row) -> Option<Page>) -> Effect {
        match self.view.row().and_then(which) {
            Some(page) if self.above.len() + 1 < MOST_VIEWS => {
                self.above.push(std::mem::replace(&mut self.view, View::of(page)));
                Effect::Read
            }
            _ => Effect::Show,
        }
    }

    /// Takes the search away, else the page; the first page goes only with the command, which Escape does not end.
    fn back(&mut self, key: Key) -> Effect {
        if key != Key::Char('q') && !self.view.search.is_empty() {
            self.view.search.clear();
            return Effect::Show;
        }
        match self.above.pop() {
            Some(view) => {
                self.view = view;
                Effect::Read
            }
            None if key == Key::Char('q') => Effect::End,
            None => Effect::Show,
        }
    }

    fn turn(&mut self, back: bool) -> Effect {
        match self.page().beside(back) {
            Some(page) => {
                self.view = View::of(page);
                Effect::Read
            }
            None => Effect::Show,
        }
    }
}
