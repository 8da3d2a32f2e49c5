//! Writes HTML in which nothing from a cluster can be anything but text.

use std::fmt::Display;

use crate::text::plain;

/// HTML that is being written. Markup comes from this program alone, which the type of [`Html::raw`] makes sure of;
/// everything else goes through [`Html::text`].
#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Markup.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text, also inside of a quoted attribute. A character that would change the order of a line, or is no text,
    /// becomes �.
    pub(super) fn text(&mut self, text: impl Display) -> &mut Self {
        for c in text.to_string().chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c => self.0.push(plain(c)),
            }
        }
        self
    }

    /// Text in which commands stand between backticks, as messages write them.
    pub(super) fn message(&mut self, text: &str) -> &mut Self {
        let mut rest = text;
        while let Some((before, (command, after))) =
            rest.split_once('`').and_then(|(before, open)| Some((before, open.split_once('`')?)))
        {
            self.text(before).raw("<code>").text(command).raw("</code>");
            rest = after;
        }
        self.text(rest)
    }

    /// Other HTML, of the same care.
    pub(super) fn html(&mut self, other: &Html) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    /// A link to a path of the console.
    pub(super) fn link(&mut self, path: &str, text: &str) -> &mut Self {
        self.raw("<a href=\"").text(path).raw("\">").text(text).raw("</a>")
    }

    /// A moment as an element that programs can read, or a dash.
    pub(super) fn time(&mut self, time: &str) -> &mut Self {
        match time {
            "" => self.raw("–"),
            time => self.raw("<time datetime=\"").text(time).raw("\">").text(time).raw("</time>"),
        }
    }

    pub(super) fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_is_markup() {
        let mut html = Html::new();
        html.raw("<p title=\"").text("\"><script>").raw("\">").text("a&b' \u{202e}\u{1b}\n").raw("</p>");
        assert_eq!(
            html.finish(),
            "<p title=\"&quot;&gt;&lt;script&gt;\">a&amp;b&#39; \u{fffd}\u{fffd}\n</p>"
        );
    }

    #[test]
    fn commands_in_messages_are_code() {
        let shown = |text: &str| {
            let mut html = Html::new();
            html.message(text);
            html.finish()
        };
        assert_eq!(shown("a `b <c>` d ` e"), "a <code>b &lt;c&gt;</code> d ` e");
        assert_eq!(shown("``"), "<code></code>");
        assert_eq!(shown("plain"), "plain");
    }

    #[test]
    fn hostile_names_stay_text() {
        for name in
            vela_testkit::hostile::NAMES.into_iter().chain(["<img src=x onerror=alert(1)>", "' onclick='x"])
        {
            let mut html = Html::new();
            html.link(name, name).time(name);
            let page = html.finish();
            assert_eq!(page.matches('<').count(), 4, "{page}");
            assert_eq!(page.matches('"').count(), 4, "{page}");
            assert!(!page.contains('\''), "{page}");
        }
    }
}
