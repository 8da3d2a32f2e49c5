//! The whole terminal for one command: keys come in, screens of lines go out, and the terminal is afterwards as it was.
//!
//! The terminal is restored when [`FullScreen`] is dropped and before the message of a panic is printed, so that the shell
//! never inherits a terminal without echo.

use std::io::{Stdout, stdout};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::{cursor, execute, terminal};
use futures::StreamExt as _;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::{Frame, Terminal};

use super::style::{BAD, BOLD, BUSY, DIM, GOOD};
use crate::error::{Error, Result};

/// Does a command have the terminal now? A panic hook has no other way to know.
static HELD: AtomicBool = AtomicBool::new(false);

/// A key, whatever sequence of bytes a terminal sends for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Up,
    Down,
    Left,
    Right,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Escape,
    Backspace,
    Tab,
    BackTab,
    /// Ctrl-C, which reaches a program as a key while it has the whole terminal.
    Interrupt,
    Char(char),
}

/// What a person did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    Key(Key),
    /// The terminal has another size.
    Resized,
}

/// One screen.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Lines {
    /// The lines from the top, with the styles of this program.
    pub(crate) lines: Vec<String>,
    /// The line that the cursor stands on.
    pub(crate) selected: Option<usize>,
}

/// The terminal while a command has the whole of it.
pub(crate) struct FullScreen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    inputs: EventStream,
    has_colours: bool,
}

impl FullScreen {
    /// Takes the terminal.
    pub(crate) fn enter() -> Result<Self> {
        let has_colours = anstream::AutoStream::choice(&stdout()) != anstream::ColorChoice::Never;
        restore_at_panic();
        HELD.store(true, Ordering::SeqCst);
        let prepared = terminal::enable_raw_mode()
            .and_then(|()| execute!(stdout(), terminal::EnterAlternateScreen, cursor::Hide))
            .and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
        match prepared {
            Ok(terminal) => Ok(Self { terminal, inputs: EventStream::new(), has_colours }),
            Err(error) => {
                restore();
                Err(broken(&error).into())
            }
        }
    }

    /// Columns and rows.
    pub(crate) fn size(&self) -> Result<(usize, usize)> {
        let size = self.terminal.size().map_err(|error| broken(&error))?;
        Ok((usize::from(size.width), usize::from(size.height)))
    }

    /// Shows the lines; only what differs from the screen before is sent.
    pub(crate) fn draw(&mut self, shown: &Lines) -> Result<()> {
        let has_colours = self.has_colours;
        let drawn = self.terminal.draw(|frame| paint(frame, shown, has_colours));
        drawn.map(drop).map_err(|error| broken(&error).into())
    }

    /// What the person does next.
    pub(crate) async fn input(&mut self) -> Result<Input> {
        loop {
            match self.inputs.next().await {
                Some(Ok(Event::Resize(..))) => return Ok(Input::Resized),
                Some(Ok(Event::Key(event))) => {
                    if let Some(key) = key(event) {
                        return Ok(Input::Key(key));
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(broken(&error).into()),
                None => return Err(Error::config("the terminal has gone").into()),
            }
        }
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        restore();
    }
}

fn broken(error: &std::io::Error) -> Error {
    Error::config(format!("the terminal cannot be used: {error}"))
}

/// Gives the terminal back, once.
fn restore() {
    if HELD.swap(false, Ordering::SeqCst) {
        // The program ends, and has no better way to say it.
        let _ = execute!(stdout(), terminal::LeaveAlternateScreen, cursor::Show);
        let _ = terminal::disable_raw_mode();
    }
}

/// A panic is told on the usual screen, as every other one.
fn restore_at_panic() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        restore();
        usual(panic);
    }));
}

fn key(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    if event.modifiers.contains(KeyModifiers::CONTROL) {
        return (event.code == KeyCode::Char('c')).then_some(Key::Interrupt);
    }
    Some(match event.code {
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Char(c) => Key::Char(c),
        _ => return None,
    })
}

/// Puts the lines into a frame, from its top.
pub(crate) fn paint(frame: &mut Frame<'_>, shown: &Lines, has_colours: bool) {
    let area = frame.area();
    for (row, (index, line)) in (area.top()..area.bottom()).zip(shown.lines.iter().enumerate()) {
        let place = Rect { y: row, height: 1, ..area };
        let is_selected = shown.selected == Some(index);
        let line = Line::from(spans(line, has_colours && !is_selected));
        frame.render_widget(line, place);
        if is_selected {
            frame.buffer_mut().set_style(place, Style::new().add_modifier(Modifier::REVERSED));
        }
    }
}

/// A line cut where its style changes.
fn spans(line: &str, has_colours: bool) -> Vec<Span<'static>> {
    let begins = styles();
    let reset = anstyle::Reset.render().to_string();
    let (mut spans, mut style) = (Vec::new(), Style::new());
    for (index, part) in line.split('\u{1b}').enumerate() {
        let whole = format!("\u{1b}{part}");
        let code = begins.iter().map(|(code, style)| (code, *style));
        let found = code.chain([(&reset, Style::new())]).find(|(code, _)| whole.starts_with(code.as_str()));
        let text = match (index, found) {
            (0, _) | (_, None) => part,
            (_, Some((code, next))) => {
                style = next;
                &part[code.len() - 1..]
            }
        };
        if !text.is_empty() {
            let style = if has_colours { style } else { Style::new() };
            spans.push(Span::styled(text.to_owned(), style));
        }
    }
    spans
}

/// What begins each of our styles, and the same style for a frame.
fn styles() -> [(String, Style); 5] {
    let code = |style: anstyle::Style| style.render().to_string();
    let colour = |colour| Style::new().fg(colour);
    [
        (code(BOLD), Style::new().add_modifier(Modifier::BOLD)),
        (code(GOOD), colour(Color::Green)),
        (code(BUSY), colour(Color::Yellow)),
        (code(BAD), colour(Color::Red)),
        (code(DIM), Style::new().add_modifier(Modifier::DIM)),
    ]
}

#[cfg(test)]
mod tests {
    use ratatui::backend::TestBackend;

    use super::super::styled;
    use super::*;

    #[test]
    fn styles_are_those_of_other_commands() {
        let line = format!("a {} b {}", styled(GOOD, "well"), styled(BAD, "wrong"));
        let found = spans(&line, true);
        let texts: Vec<&str> = found.iter().map(|span| span.content.as_ref()).collect();
        assert_eq!(texts, ["a ", "well", " b ", "wrong"]);
        assert_eq!((found[1].style.fg, found[2].style.fg), (Some(Color::Green), None));
        assert!(spans(&line, false).iter().all(|span| span.style == Style::new()));
    }

    #[test]
    fn lines_beyond_the_screen_are_left_out() {
        let mut terminal = Terminal::new(TestBackend::new(4, 2)).unwrap();
        let shown =
            Lines { lines: ["one", "longer", "three"].map(str::to_owned).to_vec(), selected: Some(1) };
        terminal.draw(|frame| paint(frame, &shown, true)).unwrap();
        let buffer = terminal.backend().buffer();
        let text: String = buffer.content().iter().map(|cell| cell.symbol()).collect();
        assert_eq!(text, "one long");
        assert!(buffer[(0, 1)].modifier.contains(Modifier::REVERSED));
        assert!(!buffer[(0, 0)].modifier.contains(Modifier::REVERSED));
    }

    #[test]
    fn only_what_has_a_meaning_is_a_key() {
        let of = |code, modifiers| key(KeyEvent::new(code, modifiers));
        assert_eq!(of(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Key::Interrupt));
        assert_eq!(of(KeyCode::Char('q'), KeyModifiers::CONTROL), None);
        assert_eq!(of(KeyCode::Char('C'), KeyModifiers::SHIFT), Some(Key::Char('C')));
        assert_eq!(of(KeyCode::F(1), KeyModifiers::NONE), None);
    }

    /// Tells the test below, started by itself on a terminal, to fall.
    const FALLS: &str = "VELA_TEST_FALLS";

    #[test]
    fn a_panic_is_told_on_the_usual_screen() {
        use std::io::{Read as _, Write as _};
        use std::process::{Command, Stdio};

        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

        if std::env::var_os(FALLS).is_some() {
            let mut screen = FullScreen::enter().unwrap();
            screen.draw(&Lines { lines: vec!["drawn".to_owned()], selected: None }).unwrap();
            std::panic::panic_any("fallen");
        }
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keyboard).unwrap();
        unlockpt(&keyboard).unwrap();
        let name = ptsname(&keyboard, Vec::new()).unwrap();
        let mut terminal =
            std::fs::File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        tcsetwinsize(&terminal, Winsize { ws_row: 5, ws_col: 20, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "screen::full::tests::a_panic_is_told_on_the_usual_screen", "--nocapture"]);
        let end = || Stdio::from(terminal.try_clone().unwrap());
        let mut child = command
            .env(FALLS, "1")
            .env("RUST_BACKTRACE", "0")
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .unwrap();
        assert!(!child.wait().unwrap().success());
        let modes = tcgetattr(&terminal).unwrap().local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO), "{modes:?}");
        // What comes before this is all that the child wrote.
        terminal.write_all(b"all\n").unwrap();
        let (mut bytes, mut keyboard) = (Vec::new(), std::fs::File::from(keyboard));
        while !bytes.ends_with(b"all\r\n") {
            let mut part = [0; 4096];
            let length = keyboard.read(&mut part).unwrap();
            bytes.extend(&part[..length]);
        }
        let drawn = String::from_utf8_lossy(&bytes).into_owned();
        let at =
            |what: &str| drawn.find(what).unwrap_or_else(|| unreachable!("{what:?} is not in {drawn:?}"));
        assert!(at("\u{1b}[?1049h") < at("drawn") && at("drawn") < at("\u{1b}[?1049l"), "{drawn:?}");
        assert!(at("\u{1b}[?1049l") < at("panicked at"), "{drawn:?}");
    }
}
