//! The built-in kinds: how each is named, listed and shown, read once from a table.

use std::sync::OnceLock;

/// How a built-in kind is served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kind {
    /// The API group; empty for the core group.
    pub(crate) group: &'static str,
    /// The API version.
    pub(crate) version: &'static str,
    /// The kind, in CamelCase.
    pub(crate) kind: &'static str,
    /// The resource name used in paths.
    pub(crate) plural: &'static str,
    /// The resource name for one object.
    pub(crate) singular: &'static str,
    /// The short names that people may type.
    pub(crate) short_names: Vec<&'static str>,
    /// Groups of kinds, such as `all`.
    pub(crate) categories: Vec<&'static str>,
    /// Whether objects live in a namespace.
    pub(crate) namespaced: bool,
    /// The verbs of the resource.
    pub(crate) verbs: Vec<&'static str>,
    /// Whether there is a `status` subresource.
    pub(crate) status: bool,
    /// Whether there is a `scale` subresource.
    pub(crate) scale: bool,
    /// Whether `metadata.generation` counts changes of what is desired.
    pub(crate) generation: bool,
    /// The columns of its Table.
    pub(crate) columns: Vec<Column>,
}

impl Kind {
    /// `group/version`, or the version alone for the core group.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// `plural.group`, or the plural alone for the core group.
    pub(crate) fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.to_owned() } else { format!("{}.{}", self.plural, self.group) }
    }
}

/// One column of a Table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Column {
    /// The heading.
    pub(crate) name: &'static str,
    /// The OpenAPI type of the cells.
    pub(crate) type_: &'static str,
    /// The OpenAPI format of the cells; `name` marks the primary column.
    pub(crate) format: &'static str,
    /// The content of the column.
    pub(crate) description: &'static str,
    /// 0 is always shown, 1 only by wide output.
    pub(crate) priority: i32,
}

/// The built-in kind of this name.
pub(crate) fn find(api_version: &str, kind: &str) -> Option<&'static Kind> {
    kinds().iter().find(|k| k.kind == kind && k.api_version() == api_version)
}

/// Every built-in kind.
pub(crate) fn kinds() -> &'static [Kind] {
    static KINDS: OnceLock<Vec<Kind>> = OnceLock::new();
    KINDS.get_or_init(|| parse(include_str!("kinds.txt")))
}

/// The columns of the Table of a kind.
pub(crate) fn columns(api_version: &str, kind: &str) -> &'static [Column] {
    find(api_version, kind).map(|k| k.columns.as_slice()).unwrap_or_default()
}

fn parse(text: &'static str) -> Vec<Kind> {
    let mut kinds: Vec<Kind> = Vec::new();
    for line in text.lines() {
        if let Some(head) = line.strip_prefix('#') {
            kinds.extend(parse_head(head));
            continue;
        }
        let (Some(kind), Some((what, rest))) = (kinds.last_mut(), line.split_once(' ')) else { continue };
        let names = || rest.split(' ').collect();
        match what {
            "short" => kind.short_names = names(),
            "categories" => kind.categories = names(),
            "verbs" => kind.verbs = names(),
            "subresources" => {
                kind.status = rest.split(' ').any(|name| name == "status");
                kind.scale = rest.split(' ').any(|name| name == "scale");
            }
            "column" => kind.columns.extend(parse_column(rest)),
            _ => {}
        }
    }
    kinds
}

/// `apps/v1 Deployment deployments deployment Namespaced generation`.
fn parse_head(head: &'static str) -> Option<Kind> {
    let mut words = head.split(' ');
    let api_version = words.next()?;
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Some(Kind {
        group,
        version,
        kind: words.next()?,
        plural: words.next()?,
        singular: words.next()?,
        namespaced: words.next()? == "Namespaced",
        generation: words.next() == Some("generation"),
        short_names: Vec::new(),
        categories: Vec::new(),
        verbs: Vec::new(),
        status: false,
        scale: false,
        columns: Vec::new(),
    })
}

/// `0 string/name Name`.
fn parse_column(text: &'static str) -> Option<Column> {
    let (priority, rest) = text.split_once(' ')?;
    let (type_, name) = rest.split_once(' ')?;
    let (type_, format) = type_.split_once('/').unwrap_or((type_, ""));
    let description = if format == "name" { "The name of the object." } else { "" };
    Some(Column { name, type_, format, description, priority: priority.parse().ok()? })
}
