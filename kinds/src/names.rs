//! Names of objects and labels in the forms Kubernetes asks for: a text in, what is wrong with it out.

/// The longest DNS label, and the longest value of a label of Kubernetes.
const LABEL_MAX: usize = 63;
/// The longest name of an object.
pub const NAME_MAX: usize = 253;

const LABEL_FORM: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and \
                          must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex \
                          used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_FORM: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' \
                              or '.', and must start and end with an alphanumeric character (e.g. 'example.com', \
                              regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const QUALIFIED_FORM: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and \
                              end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex \
                              used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE_FORM: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
                          '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
                          'my_value',  or '12345', regex used for validation is \
                          '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Checks the name of an object by the rule of its built-in kind.
///
/// # Errors
/// The error, in the words of the API server.
pub fn object_name(kind: &str, name: &str) -> Result<(), String> {
    match kind {
        // Names of these may hold colons; they only must be one path segment.
        "ClusterRole" | "ClusterRoleBinding" | "Role" | "RoleBinding" => path_segment(name),
        "Namespace" | "Service" => dns_label(name),
        _ => subdomain(name),
    }
}

fn path_segment(name: &str) -> Result<(), String> {
    if name == "." || name == ".." {
        Err(format!("may not be '{name}'"))
    } else if name.contains(['/', '%']) {
        Err("may not contain '/' or '%'".into())
    } else {
        Ok(())
    }
}

fn is_label(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    edge(text.chars().next())
        && edge(text.chars().last())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// Everything that is wrong with a text: its length and its form.
pub(crate) fn problems(text: &str, at_most: usize, fits: bool, form: &str) -> Vec<String> {
    let long = (text.len() > at_most).then(|| format!("must be no more than {at_most} characters"));
    long.into_iter().chain((!fits).then(|| form.to_owned())).collect()
}

fn first(problems: Vec<String>) -> Result<(), String> {
    problems.into_iter().next().map_or(Ok(()), Err)
}

pub(crate) fn dns_label_problems(name: &str) -> Vec<String> {
    problems(name, LABEL_MAX, is_label(name), LABEL_FORM)
}

pub(crate) fn subdomain_problems(name: &str) -> Vec<String> {
    problems(name, NAME_MAX, name.split('.').all(is_label), SUBDOMAIN_FORM)
}

/// A DNS label (RFC 1123).
///
/// # Errors
/// The error, in the words of the API server.
pub fn dns_label(name: &str) -> Result<(), String> {
    first(dns_label_problems(name))
}

/// A DNS subdomain (RFC 1123).
///
/// # Errors
/// The error, in the words of the API server.
pub fn subdomain(name: &str) -> Result<(), String> {
    first(subdomain_problems(name))
}

fn is_name_part(text: &str) -> bool {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    edge(text.chars().next())
        && edge(text.chars().last())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// `prefix/name` as in labels, annotations and finalizers.
///
/// # Errors
/// The error, in the words of the API server.
pub fn qualified_name(key: &str) -> Result<(), String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if let Some(prefix) = prefix {
        if prefix.is_empty() {
            return Err("prefix part must be non-empty".into());
        }
        if subdomain(prefix).is_err() {
            return Err(format!("prefix part {SUBDOMAIN_FORM}"));
        }
    }
    if name.is_empty() {
        Err(format!("name part must be non-empty, {QUALIFIED_FORM}"))
    } else if name.len() > LABEL_MAX {
        Err(format!("name part must be no more than {LABEL_MAX} characters"))
    } else if is_name_part(name) {
        Ok(())
    } else {
        Err(QUALIFIED_FORM.into())
    }
}

/// The value of a label.
///
/// # Errors
/// The error, in the words of the API server.
pub fn label_value(value: &str) -> Result<(), String> {
    first(problems(value, LABEL_MAX, value.is_empty() || is_name_part(value), VALUE_FORM))
}
