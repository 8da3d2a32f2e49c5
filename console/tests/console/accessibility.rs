//! Rules of accessibility over the HTML of every page: language, headings, labels, names, headers of tables.

use std::collections::BTreeSet;

use crate::cluster::Cluster;
use vela_console::Options;

const SHOP: &str = "/namespaces/default/applications/shop";
/// Elements that have no content.
const VOID: [&str; 4] = ["meta", "link", "input", "br"];

/// An element: its name, its attributes, the elements around it, and the text in it.
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    around: Vec<String>,
    text: String,
}

impl Element {
    fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }
}

/// The elements of a page as the console writes them: attributes in double quotes, every element closed.
fn elements(page: &str) -> Vec<Element> {
    let (mut all, mut open): (Vec<Element>, Vec<usize>) = (Vec::new(), Vec::new());
    for part in page.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or_else(|| panic!("an open tag: {part}"));
        if let Some(closed) = tag.strip_prefix('/') {
            let last = open.pop().unwrap_or_else(|| panic!("nothing is open before </{closed}>"));
            assert_eq!(all[last].name, closed, "elements are closed in order");
        } else if !tag.starts_with('!') {
            let (name, rest) = tag.split_once([' ', '\n']).unwrap_or((tag, ""));
            let mut quoted = rest.split('"');
            let mut attributes = Vec::new();
            while let Some(before) = quoted.next() {
                let names: Vec<&str> =
                    before.split([' ', '\n', '/']).filter(|name| !name.is_empty()).collect();
                for name in names {
                    let value = name.strip_suffix('=').and_then(|_| quoted.next()).unwrap_or_default();
                    attributes.push((name.trim_end_matches('=').to_owned(), value.to_owned()));
                }
            }
            let around = open.iter().map(|index| all[*index].name.clone()).collect();
            all.push(Element { name: name.to_owned(), attributes, around, text: String::new() });
            if !VOID.contains(&name) && !tag.ends_with('/') {
                open.push(all.len() - 1);
            }
        }
        for index in &open {
            all[*index].text.push_str(text);
        }
    }
    assert!(open.is_empty(), "every element is closed");
    all
}

/// What is wrong with a page.
fn faults(page: &str) -> Vec<String> {
    let all = elements(page);
    let mut faults = Vec::new();
    let of = |name: &str| all.iter().filter(|one| one.name == name).collect::<Vec<_>>();
    let is_lang = of("html").first().and_then(|html| html.get("lang")).is_some_and(|lang| !lang.is_empty());
    if !is_lang || of("title").iter().all(|title| title.text.trim().is_empty()) || of("main").len() != 1 {
        faults.push("the page needs a lang, a title and one main".to_owned());
    }
    let ids: Vec<&str> = all.iter().filter_map(|one| one.get("id")).collect();
    let unique: BTreeSet<&str> = ids.iter().copied().collect();
    if unique.len() != ids.len() {
        faults.push(format!("an id is used twice: {ids:?}"));
    }
    let mut level = 0;
    for heading in
        all.iter().filter(|one| one.name.len() == 2 && one.name.starts_with('h') && one.name != "hr")
    {
        let own: usize = heading.name[1..].parse().unwrap();
        if own > level + 1 || heading.text.trim().is_empty() {
            faults.push(format!("{} {:?} after level {level}", heading.name, heading.text));
        }
        level = own;
    }
    if of("h1").len() != 1 {
        faults.push(format!("{} h1", of("h1").len()));
    }
    for field in all.iter().filter(|one| ["input", "select", "textarea"].contains(&&*one.name)) {
        let is_hidden = field.get("type") == Some("hidden");
        let is_labelled =
            field.around.iter().any(|name| name == "label") || field.get("aria-label").is_some();
        let id = field.get("id");
        let by_id = id.is_some_and(|id| of("label").iter().any(|label| label.get("for") == Some(id)));
        if !is_hidden && !is_labelled && !by_id {
            faults.push(format!("the field {:?} has no label", field.get("name")));
        }
    }
    for named in all.iter().filter(|one| ["a", "button", "summary"].contains(&&*one.name)) {
        if named.text.trim().is_empty() && named.get("aria-label").is_none() {
            faults.push(format!("a {} to {:?} has no name", named.name, named.get("href")));
        }
    }
    for table in of("table") {
        if !table.text.trim().is_empty() && !page.contains("<caption") {
            faults.push("a table has no caption".to_owned());
        }
    }
    faults
        .extend(of("th").iter().filter(|th| th.get("scope").is_none()).map(|th| format!("th {:?}", th.text)));
    for picture in all.iter().filter(|one| ["svg", "img"].contains(&&*one.name)) {
        if picture.get("aria-label").or(picture.get("alt")).is_none_or(str::is_empty) {
            faults.push(format!("a {} has no name", picture.name));
        }
    }
    for nav in of("nav").iter().filter(|nav| nav.get("aria-label").is_none()) {
        faults.push(format!("a nav has no name: {:?}", nav.text));
    }
    for reference in all.iter().filter_map(|one| one.get("aria-labelledby")) {
        if !unique.contains(reference) {
            faults.push(format!("aria-labelledby names {reference:?}, which is not there"));
        }
    }
    faults
}

#[tokio::test]
async fn every_page_keeps_the_rules_of_accessibility() {
    let mut cluster = Cluster::with_shop().await;
    for changes_as in [None, Some("vela-cli".to_owned())] {
        cluster.serve(cluster.client(), Options { changes_as, ..Options::default() }).await;
        cluster.until("/api/v1/applications", |list| list["items"][0]["phase"] == "running").await;
        for path in [
            "/".to_owned(),
            "/?search=nothing".to_owned(),
            SHOP.to_owned(),
            format!("{SHOP}/workflow"),
            format!("{SHOP}/rollouts"),
            format!("{SHOP}/explain"),
            format!("{SHOP}/logs"),
            format!("{SHOP}/edit"),
            format!("{SHOP}/delete"),
            format!("{SHOP}/compare?from=shop-v1&to=shop-v2"),
            "/dry-run".to_owned(),
            "/definitions".to_owned(),
            "/namespaces/default/definitions/componentdefinitions/page".to_owned(),
            "/namespaces/default/definitions/componentdefinitions/page/new".to_owned(),
            "/nowhere".to_owned(),
        ] {
            let (_, page) = cluster.text(&path).await;
            assert_eq!(faults(&page), Vec::<String>::new(), "{path}: {page}");
        }
    }
}

#[test]
fn the_rules_find_what_is_wrong() {
    let page = |content: &str| {
        format!("<!doctype html><html lang=\"en\"><title>a</title><main><h1>a</h1>{content}</main></html>")
    };
    assert_eq!(
        faults(&page("<label>Name <input name=\"a\"></label><a href=\"/\">b</a>")),
        Vec::<String>::new()
    );
    for wrong in [
        "<h3>b</h3>",
        "<h1>b</h1>",
        "<input name=\"a\">",
        "<a href=\"/\"> </a>",
        "<button></button>",
        "<table><tr><th>a</th></tr></table>",
        "<svg viewBox=\"0 0 1 1\"></svg>",
        "<nav>a</nav>",
        "<p id=\"a\">b</p><p id=\"a\">b</p>",
        "<section aria-labelledby=\"b\">c</section>",
    ] {
        assert!(!faults(&page(wrong)).is_empty(), "{wrong}");
    }
    assert!(!faults(&page("").replace(" lang=\"en\"", "")).is_empty());
}
