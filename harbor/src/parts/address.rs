//! URLs of databases and caches, with their passwords.

use super::secrets::{Found, POSTGRESQL, REDIS};
use crate::error::Error;
use crate::field::Field;

const REDIS_PORT: i64 = 6379;
const POSTGRESQL_PORT: i64 = 5432;

/// The URL of a redis connection.
pub(crate) fn redis(object: &str, redis: &Field<'_>, found: &Found) -> Result<String, Error> {
    let password = escaped(&found.secret(object, &redis.get("passwordRef"), REDIS)?);
    let address = redis_address(redis)?;
    let database = redis.get("database").number_or(0)?;
    Ok(match redis.get("sentinelMasterSet").text_or_none()?.filter(|set| !set.is_empty()) {
        Some(set) => format!("redis+sentinel://:{password}@{address}/{set}/{database}"),
        None => format!("redis://:{password}@{address}/{database}"),
    })
}

/// Host and port of a redis connection.
pub(crate) fn redis_address(redis: &Field<'_>) -> Result<String, Error> {
    Ok(format!("{}:{}", redis.get("host").text()?, redis.get("port").number_or(REDIS_PORT)?))
}

/// Host and port of the first host of a database.
pub(crate) fn host<'a>(database: &Field<'a>) -> Result<(&'a str, i64), Error> {
    let hosts = database.get("hosts");
    let first = hosts.list()?.into_iter().next().ok_or_else(|| hosts.wrong("must name a host at least"))?;
    Ok((first.get("host").text()?, first.get("port").number_or(POSTGRESQL_PORT)?))
}

/// The URL of a database; `password` stands in it as it is.
pub(crate) fn postgresql(database: &Field<'_>, password: &str) -> Result<String, Error> {
    let hosts = database.get("hosts");
    let mut addresses = Vec::new();
    for host in hosts.list()? {
        let port = host.get("port").number_or(POSTGRESQL_PORT)?;
        addresses.push(format!("{}:{port}", host.get("host").text()?));
    }
    if addresses.is_empty() {
        return Err(hosts.wrong("must name a host at least"));
    }
    let parameters = database.get("parameters").map()?;
    let query: Vec<_> =
        parameters.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value))).collect();
    let user = escaped(database.get("username").text_or("postgres")?);
    let name = database.get("database").text_or("")?;
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    Ok(format!("postgres://{user}:{password}@{}/{name}{query}", addresses.join(",")))
}

/// The password of a database, as it stands in a URL.
pub(crate) fn password(object: &str, database: &Field<'_>, found: &Found) -> Result<String, Error> {
    Ok(escaped(&found.secret(object, &database.get("passwordRef"), POSTGRESQL)?))
}

/// Characters that cannot stand in a URL are written as their bytes.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        let plain = byte.is_ascii_alphanumeric() || b"-_.~$&+,;=".contains(&byte);
        if plain { escaped.push(char::from(byte)) } else { escaped.push_str(&format!("%{byte:02X}")) }
    }
    escaped
}
