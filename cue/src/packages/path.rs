//! Package `path`: file names in, parts of file names out; nothing here touches a file.

use super::arguments::{text, texts};
use super::{Data, Failure, Kinds, LIST, Package, Parameter, TEXT, function};

type Outcome = Result<Data, Failure>;

const S: Kinds = Kinds::STRING;
const UNIX: Parameter = Parameter { kinds: Kinds::STRING, default: Some("unix") };
const WINDOWS: Parameter = Parameter { kinds: Kinds::STRING, default: Some("windows") };
const ONE: &[Parameter] = &[TEXT, UNIX];
const REQUIRED: &[Parameter] = &[TEXT, TEXT];

pub(super) static PACKAGE: Package = Package {
    path: "path",
    constants: &[],
    declarations: "Unix: \"unix\"\nWindows: \"windows\"\nPlan9: \"plan9\"\n",
    functions: &[
        function("Split", ONE, Kinds::LIST, |a| {
            let (system, path) = (system(a, 1)?, text(a, 0)?);
            let volume = system.volume(path);
            let cut = path.rfind(|c| system.separates(c)).map_or(0, |at| at + 1).max(volume);
            Ok(Data::texts([&path[..cut], &path[cut..]]))
        }),
        function("SplitList", REQUIRED, Kinds::LIST, |a| {
            let (path, system) = (text(a, 0)?, system(a, 1)?);
            if path.is_empty() {
                return Ok(Data::List(Vec::new()));
            }
            Ok(Data::texts(path.split(match system {
                System::Unix => ':',
                System::Windows => ';',
                System::Plan9 => '\0',
            })))
        }),
        function("Join", &[LIST, UNIX], S, join),
        function("Match", &[TEXT, TEXT, UNIX], Kinds::BOOL, |a| {
            let (pattern, name): (Vec<char>, Vec<char>) =
                (text(a, 0)?.chars().collect(), text(a, 1)?.chars().collect());
            matches(&pattern, &name, system(a, 2)?).map(Data::Bool)
        }),
        function("Clean", ONE, S, |a| Ok(Data::String(clean(text(a, 0)?, system(a, 1)?)))),
        function("ToSlash", REQUIRED, S, |a| {
            let path = text(a, 0)?;
            Ok(Data::String(if system(a, 1)? == System::Windows {
                path.replace('\\', "/")
            } else {
                path.to_string()
            }))
        }),
        function("FromSlash", REQUIRED, S, |a| {
            let path = text(a, 0)?;
            Ok(Data::String(if system(a, 1)? == System::Windows {
                path.replace('/', "\\")
            } else {
                path.to_string()
            }))
        }),
        function("Ext", ONE, S, |a| {
            let (system, path) = (system(a, 1)?, text(a, 0)?);
            let base = &path[path.rfind(|c| system.separates(c)).map_or(0, |at| at + 1)..];
            Ok(Data::text(base.rfind('.').map_or("", |at| &base[at..])))
        }),
        function("Resolve", &[TEXT, TEXT, UNIX], S, |a| {
            let (system, base, path) = (system(a, 2)?, text(a, 0)?, text(a, 1)?);
            if is_absolute(path, system) {
                return Ok(Data::String(clean(path, system)));
            }
            let joined = [base, path].into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>();
            Ok(Data::String(if joined.is_empty() {
                String::new()
            } else {
                clean(&joined.join(system.separator()), system)
            }))
        }),
        function("Rel", &[TEXT, TEXT, UNIX], S, relative),
        function("Base", ONE, S, |a| {
            let (system, path) = (system(a, 1)?, text(a, 0)?);
            if path.is_empty() {
                return Ok(Data::text("."));
            }
            let rest = &path[system.volume(path)..];
            let trimmed = rest.trim_end_matches(|c| system.separates(c));
            let base = &trimmed[trimmed.rfind(|c| system.separates(c)).map_or(0, |at| at + 1)..];
            Ok(Data::text(if base.is_empty() { system.separator() } else { base }))
        }),
        function("Dir", ONE, S, |a| {
            let (system, path) = (system(a, 1)?, text(a, 0)?);
            let volume = system.volume(path);
            let cut = path.rfind(|c| system.separates(c)).map_or(volume, |at| at + 1).max(volume);
            let directory = clean(&path[volume..cut], system);
            Ok(Data::String(if directory == "." && volume > 2 {
                path[..volume].to_string()
            } else {
                format!("{}{directory}", &path[..volume])
            }))
        }),
        function("IsAbs", ONE, Kinds::BOOL, |a| Ok(Data::Bool(is_absolute(text(a, 0)?, system(a, 1)?)))),
        function("VolumeName", &[TEXT, WINDOWS], S, |a| {
            let path = text(a, 0)?;
            Ok(Data::text(&path[..system(a, 1)?.volume(path)]))
        }),
    ],
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum System {
    Unix,
    Windows,
    Plan9,
}

impl System {
    fn separates(self, c: char) -> bool {
        c == '/' || (c == '\\' && self == Self::Windows)
    }

    /// Whether no pattern matches it: of the two that separate on Windows, only its own.
    fn divides(self, c: char) -> bool {
        self.separator().starts_with(c)
    }

    fn separator(self) -> &'static str {
        if self == Self::Windows { "\\" } else { "/" }
    }

    /// Length of `C:` or `\\host\share`.
    fn volume(self, path: &str) -> usize {
        let bytes = path.as_bytes();
        if self != Self::Windows || bytes.len() < 2 {
            return 0;
        }
        if bytes[1] == b':' && bytes[0].is_ascii_alphabetic() {
            return 2;
        }
        let slash = |b: &u8| matches!(b, b'/' | b'\\');
        if bytes.len() >= 5 && slash(&bytes[0]) && slash(&bytes[1]) && !slash(&bytes[2]) && bytes[2] != b'.' {
            let host = bytes[3..].iter().position(slash).map(|at| at + 3);
            if let Some(host) = host.filter(|h| bytes.get(h + 1).is_some_and(|b| !slash(b) && *b != b'.')) {
                return bytes[host + 1..].iter().position(slash).map_or(bytes.len(), |at| host + 1 + at);
            }
        }
        0
    }
}

fn system(a: &[Data], index: usize) -> Result<System, Failure> {
    match a.get(index) {
        None => Ok(System::Unix),
        Some(_) => match text(a, index)? {
            "unix" | "linux" | "darwin" | "aix" | "android" | "dragonfly" | "freebsd" | "hurd"
            | "illumos" | "ios" | "js" | "nacl" | "netbsd" | "openbsd" | "solaris" | "wasip1" | "zos" => {
                Ok(System::Unix)
            }
            "windows" => Ok(System::Windows),
            "plan9" => Ok(System::Plan9),
            other => Err(Failure::error(format!(
                "unsupported OS type {other:?}: expected \"unix\", \"windows\" or \"plan9\""
            ))),
        },
    }
}

fn is_absolute(path: &str, system: System) -> bool {
    match system {
        System::Unix => path.starts_with('/'),
        System::Plan9 => path.starts_with(['/', '#']),
        System::Windows => {
            let volume = system.volume(path);
            volume > 0 && path[volume..].starts_with(['/', '\\'])
        }
    }
}

/// The shortest equal path, by text alone.
fn clean(path: &str, system: System) -> String {
    let volume = system.volume(path);
    let rest = &path[volume..];
    if rest.is_empty() {
        return if volume > 2 { path.to_string() } else { format!("{}.", &path[..volume]) };
    }
    let rooted = rest.starts_with(|c| system.separates(c));
    let mut parts: Vec<&str> = Vec::new();
    for part in rest.split(|c| system.separates(c)) {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(last) if *last != ".." => {
                    parts.pop();
                }
                _ if rooted => {}
                _ => parts.push(part),
            },
            _ => parts.push(part),
        }
    }
    let separator = system.separator();
    let prefix = if system == System::Windows { path[..volume].replace('/', "\\") } else { String::new() };
    let body = parts.join(separator);
    match (rooted, body.is_empty()) {
        (true, _) => format!("{prefix}{separator}{body}"),
        (false, true) => format!("{prefix}."),
        (false, false) => prefix + &body,
    }
}

fn join(a: &[Data]) -> Outcome {
    let system = system(a, 1)?;
    let parts: Vec<&str> = texts(a, 0)?.into_iter().filter(|part| !part.is_empty()).collect();
    let Some((first, rest)) = parts.split_first() else { return Ok(Data::text("")) };
    let separator = system.separator();
    if system == System::Windows {
        // A drive without a slash stays relative to the drive's folder.
        if first.len() == 2 && first.ends_with(':') {
            return Ok(Data::String(clean(&format!("{first}{}", rest.join(separator)), system)));
        }
        let joined = clean(&parts.join(separator), system);
        // Joining must not make a network share of parts that name none.
        if system.volume(&joined) > 2 && system.volume(first) <= 2 {
            let (head, tail) = (clean(first, system), clean(&rest.join(separator), system));
            return Ok(Data::String(if head.ends_with(separator) {
                head + &tail
            } else {
                format!("{head}{separator}{tail}")
            }));
        }
        return Ok(Data::String(joined));
    }
    Ok(Data::String(clean(&parts.join(separator), system)))
}

fn relative(a: &[Data]) -> Outcome {
    let system = system(a, 2)?;
    let (base, target) = (clean(text(a, 0)?, system), clean(text(a, 1)?, system));
    if base == target {
        return Ok(Data::text("."));
    }
    let base = if base == "." { String::new() } else { base };
    let impossible = || Failure::error(format!("Rel: can't make {target} relative to {base}"));
    let parted = |path: &str| {
        let (volume, rest) = path.split_at(system.volume(path));
        (volume.to_lowercase(), rest.starts_with(|c| system.separates(c)))
    };
    if parted(&base) != parted(&target) {
        return Err(impossible());
    }
    let split = |path: &str| {
        path.split(|c| system.separates(c)).filter(|p| !p.is_empty()).map(String::from).collect::<Vec<_>>()
    };
    let (from, to) = (split(&base), split(&target));
    let shared = from.iter().zip(&to).take_while(|(x, y)| x == y).count();
    if from.get(shared).is_some_and(|part| part == "..") {
        return Err(impossible());
    }
    let mut parts = vec![".."; from.len() - shared];
    parts.extend(to[shared..].iter().map(String::as_str));
    Ok(Data::String(parts.join(system.separator())))
}

/// Shell patterns: `*`, `?`, `[a-z]`, `\x`; none of them matches a separator.
fn matches(pattern: &[char], name: &[char], system: System) -> Result<bool, Failure> {
    if pattern.windows(2).any(|pair| pair == ['*', '*']) {
        return Err(Failure::error("'**' is not supported in patterns as of yet"));
    }
    let bad = || Failure::error("syntax error in pattern");
    // Positions of `name` that the pattern read so far can have reached.
    let mut reached = vec![false; name.len() + 1];
    reached[0] = true;
    let mut at = 0;
    while at < pattern.len() {
        let mut accepts: Box<dyn Fn(char) -> bool> = match pattern[at] {
            '*' => {
                for position in 0..name.len() {
                    if reached[position] && !system.divides(name[position]) {
                        reached[position + 1] = true;
                    }
                }
                at += 1;
                continue;
            }
            '?' => Box::new(move |c| !system.divides(c)),
            '[' => {
                let (ranges, negated, end) = bracket(pattern, at, system).ok_or_else(bad)?;
                at = end;
                Box::new(move |c| ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != negated)
            }
            '\\' if system != System::Windows => {
                at += 1;
                let wanted = *pattern.get(at).ok_or_else(bad)?;
                Box::new(move |c| c == wanted)
            }
            wanted => Box::new(move |c| c == wanted),
        };
        at += 1;
        let accept = &mut accepts;
        for position in (0..name.len()).rev() {
            reached[position + 1] = reached[position] && accept(name[position]);
        }
        reached[0] = false;
    }
    Ok(reached[name.len()])
}

type Ranges = Vec<(char, char)>;

fn bracket(pattern: &[char], open: usize, system: System) -> Option<(Ranges, bool, usize)> {
    let mut at = open + 1;
    let negated = *pattern.get(at)? == '^';
    at += usize::from(negated);
    let mut ranges = Vec::new();
    let member = |at: &mut usize| {
        let mut c = *pattern.get(*at)?;
        if c == '-' || c == ']' {
            return None;
        }
        if c == '\\' && system != System::Windows {
            *at += 1;
            c = *pattern.get(*at)?;
        }
        *at += 1;
        Some(c)
    };
    loop {
        if *pattern.get(at)? == ']' && !ranges.is_empty() {
            return Some((ranges, negated, at));
        }
        let low = member(&mut at)?;
        let mut high = low;
        if *pattern.get(at)? == '-' {
            at += 1;
            high = member(&mut at)?;
        }
        ranges.push((low, high));
    }
}
