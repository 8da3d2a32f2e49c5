//! Screens of `vela top` after keys, drawn into a terminal that is only a buffer.

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::model::{Content, Effect, Object, Page, PodName, Row, State};
use super::view;
use crate::screen::{BAD, Key, paint, styled};

const PLACE: &str = "namespace default of the local sandbox";

fn application(name: &str) -> Object {
    Object {
        api_version: "core.oam.dev/v1beta1".to_owned(),
        kind: "Application".to_owned(),
        namespace: "default".to_owned(),
        name: name.to_owned(),
    }
}

fn applications(names: &[&str]) -> Content {
    let row = |name: &&str| Row {
        id: (*name).to_owned(),
        cells: vec![
            (*name).to_owned(),
            "running".to_owned(),
            styled(BAD, "unhealthy"),
            "1".to_owned(),
            format!("{name} has a message that is longer than what a narrow terminal has room for"),
            "2026-01-01T00:00:00Z".to_owned(),
        ],
        below: Some(Page::Objects(application(name))),
        events: Some(Page::Events(application(name))),
        log: None,
    };
    Content {
        heading: vec!["APP", "PHASE", "HEALTH", "COMPONENTS", "STATUS", "CREATED"],
        long: 4,
        rows: names.iter().map(row).collect(),
        empty: "There is no application.".to_owned(),
    }
}

fn log(lines: &[&str]) -> Content {
    let row = |line: &&str| Row { id: (*line).to_owned(), cells: vec![(*line).to_owned()], ..Row::default() };
    Content { rows: lines.iter().map(row).collect(), empty: "Nothing.".to_owned(), ..Content::default() }
}

fn pod() -> PodName {
    let containers = ["web", "helper"].map(str::to_owned).to_vec();
    PodName { namespace: "default".to_owned(), name: "web-1".to_owned(), containers }
}

/// A state that is at the log of the first container of a pod.
fn at_log(lines: &[&str]) -> State {
    let mut state = State::new();
    let to_log = Row { log: Some(Page::Log(pod(), 0)), ..Row::default() };
    state.take(Content { rows: vec![to_log], ..Content::default() });
    assert_eq!(state.act(Key::Char('l')), Effect::Read);
    state.take(log(lines));
    state
}

/// The lines that a terminal of this size shows, without the blanks at their ends.
fn drawn(state: &mut State, width: u16, height: u16) -> Vec<String> {
    let lines = view::lines(state, PLACE, (usize::from(width), usize::from(height)));
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| paint(frame, &lines, true)).unwrap();
    let cells = terminal.backend().buffer().content().to_vec();
    let line = |cells: &[ratatui::buffer::Cell]| {
        cells.iter().map(|cell| cell.symbol()).collect::<String>().trim_end().to_owned()
    };
    cells.chunks(usize::from(width)).map(line).collect()
}

fn types(state: &mut State, text: &str) {
    for c in text.chars() {
        assert_eq!(state.act(Key::Char(c)), Effect::Show);
    }
}

#[test]
fn eighty_columns_show_what_is_the_matter() {
    let mut state = State::new();
    assert_eq!(drawn(&mut state, 80, 24)[2], "  Reading …");
    state.take(applications(&["shop", "site"]));
    let lines = drawn(&mut state, 80, 24);
    assert_eq!(lines.len(), 24);
    assert_eq!(lines[0], format!("vela top  {PLACE}"));
    assert_eq!(lines[1], "Applications");
    assert_eq!(lines[2], "  APP    PHASE     HEALTH      COMPONENTS   STATUS");
    assert_eq!(lines[3], "> shop   running   unhealthy   1            shop has a message that is longer t…");
    assert!(lines[4].starts_with("  site   running   unhealthy"), "{lines:?}");
    assert_eq!(lines[23], "Enter: open   e: events   /: search   r: read   ?: help   q: end");
    // A wider one has room for the time, too.
    let lines = drawn(&mut state, 132, 24);
    assert!(lines[2].ends_with("CREATED") && lines[3].ends_with("2026-01-01T00:00:00Z"), "{lines:?}");
}

#[test]
fn no_size_of_a_terminal_is_too_small_to_draw() {
    let mut state = at_log(&["a line of a log", "another"]);
    for (width, height) in [(1, 1), (19, 24), (20, 5), (20, 6), (400, 7), (80, 200)] {
        let lines = drawn(&mut state, width, height);
        assert_eq!(lines.len(), usize::from(height));
    }
    assert_eq!(drawn(&mut state, 18, 3)[0], "too small; q ends");
}

#[test]
fn enter_goes_down_and_escape_back_to_the_same_row() {
    let mut state = State::new();
    state.take(applications(&["a", "b", "c"]));
    state.act(Key::Down);
    assert_eq!(state.act(Key::Enter), Effect::Read);
    assert_eq!(
        (state.page(), state.path()),
        (&Page::Objects(application("b")), "Applications > b".to_owned())
    );
    assert_eq!(state.act(Key::Enter), Effect::Show, "nothing was read yet, so nothing can be opened");
    assert_eq!(state.act(Key::Escape), Effect::Read);
    assert!(drawn(&mut state, 80, 24)[4].starts_with("> b"), "the cursor is where it was");
    assert_eq!(state.act(Key::Char('e')), Effect::Read);
    assert_eq!(state.path(), "Applications > events of Application b");
    assert_eq!(state.act(Key::Char('q')), Effect::Read);
    assert_eq!(state.act(Key::Escape), Effect::Show, "Escape does not end the command");
    assert_eq!(state.act(Key::Char('q')), Effect::End);
}

#[test]
fn ctrl_c_ends_the_command_anywhere() {
    let mut state = at_log(&["one"]);
    for key in [Key::Char('?'), Key::Char('/')] {
        state.act(key);
        assert_eq!(state.clone().act(Key::Interrupt), Effect::End);
        state.act(Key::Escape);
    }
}

#[test]
fn the_cursor_stays_on_its_row_when_rows_come_and_go() {
    let mut state = State::new();
    state.take(applications(&["b", "c", "d"]));
    state.act(Key::Down);
    state.take(applications(&["a", "b", "c", "d"]));
    assert_eq!(state.view().selected, 2);
    // Its row has gone: it stays where it is, and on the page.
    state.take(applications(&["a", "b", "d"]));
    assert_eq!(state.view().selected, 2);
    state.take(applications(&[]));
    assert_eq!(state.view().selected, 0);
    assert_eq!(drawn(&mut state, 80, 24)[2], "  There is no application.");
}

#[test]
fn a_search_hides_what_does_not_hold_the_text() {
    let mut state = State::new();
    state.take(applications(&["shop", "site", "other"]));
    state.act(Key::End);
    state.act(Key::Char('/'));
    types(&mut state, "SXh");
    state.act(Key::Backspace);
    state.act(Key::Backspace);
    types(&mut state, "ho");
    let lines = drawn(&mut state, 80, 24);
    assert!(lines[3].starts_with("> shop") && lines[4].is_empty(), "{lines:?}");
    assert_eq!(lines[22], "/Sho_  1 of 3");
    // q is a letter while a text is typed, and a key afterwards.
    types(&mut state, "q");
    assert_eq!(drawn(&mut state, 80, 24)[2], "  No row holds \"Shoq\"; Esc shows all.");
    state.act(Key::Backspace);
    state.act(Key::Enter);
    assert_eq!(state.act(Key::Enter), Effect::Read);
    assert_eq!(state.path(), "Applications > shop");
    state.act(Key::Escape);
    assert_eq!(drawn(&mut state, 80, 24)[22], "/Sho  1 of 3", "the search stays with its page");
    state.act(Key::Escape);
    assert!(drawn(&mut state, 80, 24)[5].starts_with("  other"));
    // The words of a style are no text.
    state.act(Key::Char('/'));
    types(&mut state, "31m");
    assert!(state.view().found().is_empty());
}

#[test]
fn the_help_names_every_key_and_any_key_closes_it() {
    let mut state = State::new();
    state.take(applications(&["shop"]));
    assert_eq!(state.act(Key::Char('?')), Effect::Show);
    let lines = drawn(&mut state, 80, 24);
    for key in ["Enter", "PgUp", "Home", "Tab", "Left", "Ctrl-C", "  /", "  r", "  e", "  l", "q, Esc"] {
        assert!(lines[2..14].iter().any(|line| line.contains(key)), "{key} is not in {lines:?}");
    }
    assert!(lines.iter().all(|line| !line.ends_with('…')), "{lines:?}");
    assert_eq!(lines[23], "any key: back");
    assert_eq!(state.act(Key::Char('q')), Effect::Show);
    assert!(drawn(&mut state, 80, 24)[3].starts_with("> shop"));
}

#[test]
fn a_screen_follows_the_cursor_through_many_rows() {
    let names: Vec<String> = (0..1_000).map(|number| format!("app-{number:03}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut state = State::new();
    state.take(applications(&names));
    drawn(&mut state, 80, 24);
    state.act(Key::PageDown);
    let lines = drawn(&mut state, 80, 24);
    assert!(lines[3].starts_with("  app-001") && lines[21].starts_with("> app-019"), "{lines:?}");
    state.act(Key::Up);
    assert!(drawn(&mut state, 80, 24)[3].starts_with("  app-001"), "the screen stands still");
    state.act(Key::End);
    assert!(drawn(&mut state, 80, 24)[21].starts_with("> app-999"));
    assert!(drawn(&mut state, 80, 10)[7].starts_with("> app-999"), "a smaller terminal");
    assert!(drawn(&mut state, 80, 40)[37].starts_with("> app-999"), "a taller one is full");
    state.act(Key::Home);
    assert!(drawn(&mut state, 80, 40)[3].starts_with("> app-000"));
}

#[test]
fn a_log_stays_at_its_end_until_the_cursor_leaves_it() {
    let mut state = at_log(&["one", "two"]);
    assert!(state.view().selected == 1);
    state.take(log(&["one", "two", "three"]));
    assert_eq!(state.view().selected, 2);
    state.act(Key::Up);
    state.take(log(&["two", "three", "four"]));
    assert_eq!(state.view().selected, 0, "the line `two`");
    state.act(Key::Char('G'));
    state.take(log(&["three", "four", "five"]));
    assert_eq!(state.view().selected, 2);
}

#[test]
fn long_lines_of_a_log_are_moved_by_columns() {
    let line = format!("{}end", "0123456789".repeat(10));
    let mut state = at_log(&[&line]);
    assert!(drawn(&mut state, 80, 24)[2].ends_with("678…"));
    for _ in 0..9 {
        state.act(Key::Right);
    }
    assert_eq!(drawn(&mut state, 80, 24)[2], "end");
    state.act(Key::Left);
    assert_eq!(drawn(&mut state, 80, 24)[2], "01234567890123456789end");
}

#[test]
fn tab_goes_around_the_events_and_logs_of_a_pod() {
    let mut state = at_log(&["one"]);
    let mut titles = Vec::new();
    for _ in 0..3 {
        assert_eq!(state.act(Key::Tab), Effect::Read);
        titles.push(state.page().title());
    }
    assert_eq!(titles, ["log of web-1 helper", "events of web-1", "log of web-1 web"]);
    state.act(Key::BackTab);
    assert_eq!(state.page(), &Page::PodEvents(pod()));
    assert_eq!(state.act(Key::Escape), Effect::Read);
    assert_eq!(state.page(), &Page::Applications, "pages beside each other are one step");
}

#[test]
fn what_cannot_be_read_again_stays_with_the_reason() {
    let mut state = State::new();
    state.take(applications(&["shop"]));
    state.fail("error: no answer\n  help: check the cluster".to_owned());
    let lines = drawn(&mut state, 80, 24);
    assert!(
        lines[3].starts_with("> shop") && lines[22] == "error: no answer   help: check the cluster",
        "{lines:?}"
    );
    state.take(applications(&["shop"]));
    assert_eq!(drawn(&mut state, 80, 24)[22], "");
    // Where nothing was read before, it does not look as if something would come.
    state.act(Key::Enter);
    state.fail("error: gone".to_owned());
    assert_eq!(drawn(&mut state, 80, 24)[2], "");
}

#[test]
fn a_long_path_shows_its_end() {
    let mut state = State::new();
    state.take(applications(&["an-application-with-a-name-that-is-rather-long"]));
    state.act(Key::Enter);
    assert_eq!(drawn(&mut state, 30, 10)[1], "…th-a-name-that-is-rather-long");
}
