//! A terminal of the tests: a person's keys go in, and what a program draws becomes a picture.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Longer than any screen takes; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Both ends of a terminal.
pub(crate) struct Pty {
    /// The end of the person. Without it the terminal is gone.
    pub(crate) keyboard: File,
    /// The end of the program.
    pub(crate) terminal: File,
}

impl Pty {
    pub(crate) fn open() -> Self {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&keyboard).unwrap();
        unlockpt(&keyboard).unwrap();
        let name = ptsname(&keyboard, Vec::new()).unwrap();
        let terminal = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        Self { keyboard: File::from(keyboard), terminal }
    }

    pub(crate) fn resize(&self, ws_col: u16, ws_row: u16) {
        tcsetwinsize(&self.terminal, Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    }
}

/// A program that has a terminal, and what it has drawn there.
pub(crate) struct Driven {
    pub(crate) pty: Pty,
    pub(crate) child: Child,
    bytes: Receiver<Vec<u8>>,
    picture: Picture,
}

impl Driven {
    /// Starts a program on a terminal of this size.
    pub(crate) fn start(mut command: Command, columns: u16, rows: u16) -> Self {
        let pty = Pty::open();
        pty.resize(columns, rows);
        let end = || Stdio::from(pty.terminal.try_clone().unwrap());
        let child = command.stdin(end()).stdout(end()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, bytes) = channel();
        let mut out = pty.keyboard.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = out.read(&mut buffer) {
                if sender.send(buffer[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { pty, child, bytes, picture: Picture::new(usize::from(columns), usize::from(rows)) }
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.pty.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// The screen, as soon as it is as the test wants it.
    #[track_caller]
    pub(crate) fn shows(&mut self, what: &str, is_it: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let screen = self.picture.text();
            if is_it(&screen) {
                return screen;
            }
            match self.bytes.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(bytes) => self.picture.take(&bytes),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    unreachable!("{what} is not shown:\n{screen}")
                }
            }
        }
    }

    /// Waits for the end; what the terminal was left as comes with it.
    #[track_caller]
    pub(crate) fn ends(mut self) -> (ExitStatus, String, Picture) {
        let status = self.child.wait().unwrap();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        // What the program drew last comes before the mark that is written now.
        self.pty.terminal.write_all(b"\x1b]mark\x07").unwrap();
        let deadline = Instant::now() + PATIENCE;
        while !self.picture.is_marked {
            let bytes = self.bytes.recv_timeout(deadline.saturating_duration_since(Instant::now()));
            self.picture.take(&bytes.unwrap());
        }
        (status, said, self.picture)
    }
}

/// What a terminal shows after what it was sent, as far as programs of ours use one.
pub(crate) struct Picture {
    cells: Vec<Vec<char>>,
    column: usize,
    row: usize,
    /// What has not ended yet: a sequence, or a character.
    pending: Vec<u8>,
    /// Is it the screen that leaves the usual one as it was?
    pub(crate) is_alternate: bool,
    pub(crate) has_cursor: bool,
    is_marked: bool,
}

impl Picture {
    fn new(columns: usize, rows: usize) -> Self {
        Self {
            cells: vec![vec![' '; columns]; rows],
            column: 0,
            row: 0,
            pending: Vec::new(),
            is_alternate: false,
            has_cursor: true,
            is_marked: false,
        }
    }

    pub(crate) fn text(&self) -> String {
        let line = |cells: &Vec<char>| cells.iter().collect::<String>().trim_end().to_owned();
        self.cells.iter().map(line).collect::<Vec<_>>().join("\n")
    }

    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.pending.push(*byte);
            match self.pending[..] {
                [0x1b] | [0x1b, b'[' | b']'] => {}
                [0x1b, b'[', .., end] if !(0x40..=0x7e).contains(&end) => {}
                [0x1b, b'[', ref words @ .., end] => {
                    let words = String::from_utf8_lossy(words).into_owned();
                    self.obey(&words, end);
                    self.pending.clear();
                }
                [0x1b, b']', .., 7] => {
                    self.is_marked |= self.pending.ends_with(b"mark\x07");
                    self.pending.clear();
                }
                [0x1b, b']', ..] => {}
                [0x1b, ..] => self.pending.clear(),
                _ => self.write(),
            }
        }
    }

    fn obey(&mut self, words: &str, end: u8) {
        let number = |at: usize| words.split(';').nth(at).and_then(|word| word.parse::<usize>().ok());
        match (words, end) {
            (_, b'H') => {
                (self.row, self.column) = (number(0).unwrap_or(1) - 1, number(1).unwrap_or(1) - 1);
            }
            ("2", b'J') => self.cells.iter_mut().for_each(|line| line.fill(' ')),
            ("?1049", b'h' | b'l') => {
                self.is_alternate = end == b'h';
                self.cells.iter_mut().for_each(|line| line.fill(' '));
            }
            ("?25", b'h' | b'l') => self.has_cursor = end == b'h',
            _ => {}
        }
    }

    fn write(&mut self) {
        let Ok(text) = std::str::from_utf8(&self.pending) else { return };
        let c = text.chars().next().unwrap_or(' ');
        self.pending.clear();
        match c {
            '\r' => self.column = 0,
            '\n' => self.row += 1,
            _ => {
                if let Some(cell) = self.cells.get_mut(self.row).and_then(|line| line.get_mut(self.column)) {
                    *cell = c;
                }
                self.column += 1;
            }
        }
    }
}
