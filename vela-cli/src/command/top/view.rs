//! The state of `vela top` → the lines of a screen of any size.

use super::model::{Content, Page, State, View};
use crate::screen::{BAD, BOLD, DIM, Lines, cut, plain, styled};
use crate::table::Table;

/// Lines around the page: where it is, the path, and at the bottom what is searched for or wrong, and the keys.
const AROUND: usize = 4;
/// Below this nothing can be read.
const LEAST: (usize, usize) = (20, 6);

/// What each key does; the help line names those of the page.
const HELP: [(&str, &str); 12] = [
    ("Up, Down, k, j", "move the cursor by a row"),
    ("PgUp, PgDn, Space", "move it by a screen"),
    ("Home, End, g, G", "move it to the first row, to the last"),
    ("Enter", "application > components and objects > pods > events"),
    ("e", "events of the object or pod"),
    ("l", "log of the pod"),
    ("Tab, Shift-Tab", "of a pod: events, then the log of each container"),
    ("Left, Right", "move long lines of a log"),
    ("/", "show only rows that hold a text; Esc shows all again"),
    ("r", "read again now"),
    ("q, Esc", "back; q ends on the first page"),
    ("Ctrl-C", "end"),
];

/// The screen, and the state with its cursor on it.
pub(super) fn lines(state: &mut State, place: &str, (width, height): (usize, usize)) -> Lines {
    if width < LEAST.0 || height < LEAST.1 {
        return Lines { lines: vec![cut("too small; q ends", width)], selected: None };
    }
    let body = height - AROUND;
    let has_heading = state.view().content.as_ref().is_some_and(|content| !content.heading.is_empty());
    state.fit(body - usize::from(has_heading));
    let head = [format!("{}  {place}", styled(BOLD, "vela top")), path(&state.path(), width)];
    let (mut page, selected) = match state.shows_help {
        true => (help(), None),
        false => self::page(state.view(), width),
    };
    page.truncate(body);
    page.resize(body, String::new());
    let selected = selected.filter(|at| *at < body).map(|at| at + head.len());
    let foot = [said(state), keys(state)];
    let all = head.into_iter().chain(page).chain(foot);
    Lines { lines: all.map(|line| cut(&line, width)).collect(), selected }
}

/// The end of a path that is too long says more than its beginning.
fn path(path: &str, width: usize) -> String {
    let path = plain(path);
    let too_many = path.chars().count().saturating_sub(width);
    match too_many {
        0 => path,
        _ => format!("…{}", path.chars().skip(too_many + 1).collect::<String>()),
    }
}

fn help() -> Vec<String> {
    let longest = HELP.iter().map(|(keys, _)| keys.len()).max().unwrap_or(0);
    HELP.iter()
        .map(|(keys, what)| format!("  {}  {what}", styled(BOLD, &format!("{keys:<longest$}"))))
        .collect()
}

/// The rows that are on the screen, and which of them the cursor is on.
fn page(view: &View, width: usize) -> (Vec<String>, Option<usize>) {
    let Some(content) = &view.content else {
        let nothing = if view.problem.is_some() { String::new() } else { styled(DIM, "  Reading …") };
        return (vec![nothing], None);
    };
    let found = view.found();
    if found.is_empty() {
        let sentence = match content.rows.is_empty() {
            true => content.empty.clone(),
            false => format!("No row holds {:?}; Esc shows all.", view.search),
        };
        return (
            crate::screen::wrapped(&format!("  {sentence}"), width).lines().map(str::to_owned).collect(),
            None,
        );
    }
    let at = view.selected.checked_sub(view.offset);
    if content.heading.is_empty() {
        let text = |cells: &Vec<String>| cells.concat().chars().skip(view.column).collect::<String>();
        return (found.iter().skip(view.offset).map(|row| text(&row.cells)).collect(), at);
    }
    let table = table(content, view, width);
    let mut lines = table.lines().map(str::to_owned);
    let heading = lines.next().map(|line| styled(DIM, &line));
    // Columns are as wide as all rows need, so that they stand still while a person moves through them.
    (heading.into_iter().chain(lines.skip(view.offset)).collect(), at.map(|at| at + 1))
}

fn table(content: &Content, view: &View, width: usize) -> String {
    let mut heading = content.heading.clone();
    let first = format!("  {}", heading.first().copied().unwrap_or_default());
    if let Some(name) = heading.first_mut() {
        *name = &first;
    }
    let mut table = Table::new(&heading);
    for (index, row) in view.found().iter().enumerate() {
        let mut cells = row.cells.clone();
        if let Some(cell) = cells.first_mut() {
            *cell = format!("{}{cell}", if index == view.selected { "> " } else { "  " });
        }
        table.row(cells);
    }
    // As `vela ls` does: what is the matter is more important than when it began.
    let mut left = heading.len();
    while left > content.long + 1 && table.least(content.long) > width {
        table = table.without_last();
        left -= 1;
    }
    table.cut_to(Some(width), content.long).render()
}

/// What is searched for, or what is wrong.
fn said(state: &State) -> String {
    let view = state.view();
    match (&view.problem, state.is_searching || !view.search.is_empty()) {
        (_, true) => {
            let count = view.content.as_ref().map_or(0, |content| content.rows.len());
            let cursor = if state.is_searching { "_" } else { "" };
            format!("/{}{cursor}  {} of {count}", view.search, view.found().len())
        }
        (Some(problem), _) => styled(BAD, &problem.replace('\n', " ")),
        (None, _) => String::new(),
    }
}

/// The keys that do something here.
fn keys(state: &State) -> String {
    let keys = match (state.shows_help, state.is_searching, state.page()) {
        (true, ..) => "any key: back",
        (_, true, _) => "type a text   Enter: keep it   Esc: all rows",
        (.., Page::Applications) => "Enter: open   e: events   /: search   r: read   ?: help   q: end",
        (.., Page::Objects(_)) => "Enter: pods   e: events   /: search   ?: help   q: back",
        (.., Page::Pods(..)) => "Enter: events   l: log   /: search   ?: help   q: back",
        (.., Page::Events(_)) => "/: search   ?: help   q: back",
        (.., Page::PodEvents(_) | Page::Log(..)) => "Tab: next log   /: search   ?: help   q: back",
    };
    styled(DIM, keys)
}
