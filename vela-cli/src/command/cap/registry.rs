//! An artefact of an OCI registry → its files, by the distribution API; what comes is compared with its digest.

use form_urlencoded::Serializer;
use http::{HeaderMap, StatusCode, header};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::archive::Layers;
use super::artifact::{Artifact, is_digest};
use super::credentials::{self, Stored};
use super::file::{File, INSTEAD};
use crate::download::{self, Wanted};
use crate::error::{Error, Failure, Result};

/// Bytes of a manifest: no registry takes larger ones.
const LARGEST_MANIFEST: usize = 4 * 1024 * 1024;
/// Bytes of all layers.
const LARGEST_LAYERS: u64 = 64 * 1024 * 1024;
/// Layers of an artefact.
const MOST_LAYERS: usize = 200;
/// Bytes of what gives tokens away.
const LARGEST_TOKEN: usize = 64 * 1024;
/// The manifests that are understood, and the lists of manifests.
const MANIFESTS: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json, \
    application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json";
/// The path of a layer that is a file.
const TITLE: &str = "org.opencontainers.image.title";
/// Marks a layer with a title as an archive of a folder; the media type is the same for a file that oras pushes.
const UNPACK: &str = "io.deis.oras.content.unpack";
/// Marks manifests of a list that are about another one.
const ABOUT: &str = "vnd.docker.reference.type";

/// The files in the folder of the artefact.
pub(super) fn files(artifact: &Artifact) -> Result<Vec<File>> {
    let mut registry = Registry { artifact, authorization: None };
    let mut manifest = registry.manifest(&artifact.reference)?;
    if let Some(list) = manifest["manifests"].as_array() {
        let of_what = only(list).map_err(|why| registry.wrong(&why))?;
        manifest = registry.manifest(&of_what)?;
    }
    let layers = manifest["layers"].as_array().ok_or_else(|| registry.wrong("its manifest has no layers"))?;
    if layers.len() > MOST_LAYERS {
        return Err(registry.wrong(&format!("it has more than {MOST_LAYERS} layers")));
    }
    let mut found = Layers::new(&artifact.folder);
    let mut left = LARGEST_LAYERS;
    for (index, layer) in layers.iter().enumerate() {
        let what = format!("layer {} of {artifact}", index + 1);
        let media = layer["mediaType"].as_str().unwrap_or_default();
        let title = layer["annotations"][TITLE].as_str().filter(|_| layer["annotations"][UNPACK] != "true");
        let is_definition = title.is_some_and(crate::input::may_hold_definitions);
        let is_archive = !is_definition && media.contains("tar");
        if media.contains("helm.chart") {
            return Err(registry.wrong("it is a Helm chart, and vela reads definitions as they are"));
        }
        if media.contains("zstd") {
            return Err(registry.wrong("its layers are compressed by zstd, and vela reads gzip"));
        }
        if !is_archive && !is_definition {
            continue;
        }
        let size = layer["size"].as_u64().unwrap_or_default();
        left = left.checked_sub(size).ok_or_else(|| {
            registry.wrong(&format!("its layers are larger than {} MiB", LARGEST_LAYERS >> 20))
        })?;
        let digest = layer["digest"].as_str().filter(|digest| is_digest(digest));
        let digest = digest.ok_or_else(|| registry.wrong(&format!("{what} has no digest sha256:…")))?;
        let bytes = registry.blob(digest, usize::try_from(size).unwrap_or(usize::MAX))?;
        match title.filter(|_| !is_archive) {
            Some(path) => found.file(path, bytes)?,
            None => found.archive(&bytes, &what)?,
        }
    }
    Ok(found.files())
}

/// The digest of the one manifest of a list: definitions are the same on all platforms.
fn only(list: &[Value]) -> std::result::Result<String, String> {
    let mut own = list.iter().filter(|one| one["annotations"][ABOUT].is_null());
    let (Some(one), None) = (own.next(), own.next()) else {
        return Err(format!("it is a list of {} manifests, one for each platform", list.len()));
    };
    let digest = one["digest"].as_str().filter(|digest| is_digest(digest));
    digest.map(str::to_owned).ok_or_else(|| "its list names a manifest without a digest sha256:…".to_owned())
}

/// A registry, and what it is shown.
struct Registry<'a> {
    artifact: &'a Artifact,
    authorization: Option<String>,
}

impl Registry<'_> {
    fn manifest(&mut self, reference: &str) -> Result<Value> {
        let bytes = self.get("manifests", reference, Some(MANIFESTS), LARGEST_MANIFEST)?;
        serde_json::from_slice(&bytes)
            .map_err(|error| self.wrong(&format!("its manifest is no JSON: {error}")))
    }

    fn blob(&mut self, digest: &str, size: usize) -> Result<Vec<u8>> {
        self.get("blobs", digest, None, size)
    }

    fn get(&mut self, what: &str, reference: &str, accept: Option<&str>, at_most: usize) -> Result<Vec<u8>> {
        let url = self.artifact.url(what, reference);
        let ask = |authorization: Option<&str>| {
            download::answer(&Wanted { url: &url, at_most, authorization, accept, instead: INSTEAD })
        };
        let mut answer = ask(self.authorization.as_deref())?;
        if answer.status == StatusCode::UNAUTHORIZED && self.authorization.is_none() {
            self.authorization = Some(self.authorize(&answer.headers)?);
            answer = ask(self.authorization.as_deref())?;
        }
        match answer.status {
            StatusCode::OK if !is_digest(reference) || reference == digest_of(&answer.body) => {
                Ok(answer.body.to_vec())
            }
            StatusCode::OK => Err(self.wrong(&format!("what {url} gives is not what its digest says"))),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(self.login("the registry refuses them")),
            StatusCode::NOT_FOUND => {
                let error = Error::user(format!("there is no artefact {}", self.artifact));
                Err(error.hint("check repository and tag; some registries answer so without a login").into())
            }
            status => Err(self.wrong(&format!("{url} answers {status}"))),
        }
    }

    /// What the registry is to be shown, as its refusal says.
    fn authorize(&self, headers: &HeaderMap) -> Result<String> {
        let stored = credentials::of(&self.artifact.host);
        let challenges = headers.get_all(header::WWW_AUTHENTICATE).iter();
        let challenges = challenges.filter_map(|value| value.to_str().ok());
        let challenges: Vec<(&str, &str)> = challenges.filter_map(|text| text.split_once(' ')).collect();
        let bearer = challenges.iter().find(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        if let Some((_, parameters)) = bearer {
            return self.token(parameters, &stored);
        }
        let is_basic = challenges.iter().any(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"));
        match stored {
            Stored::Basic(basic) if is_basic => Ok(basic),
            _ if !is_basic => {
                Err(self.wrong("its registry asks for credentials in a way that vela does not know"))
            }
            Stored::Unusable(why) => Err(self.login(&why)),
            _ => Err(self.login("none are stored")),
        }
    }

    /// A token from where the registry says that tokens are given; without credentials one for what everybody may read.
    fn token(&self, parameters: &str, stored: &Stored) -> Result<String> {
        let parameter = |name: &str| {
            let start = parameters.find(&format!("{name}=\""))? + name.len() + 2;
            parameters[start..].split('"').next()
        };
        let realm = parameter("realm").filter(|realm| {
            realm.starts_with("https://") || self.artifact.is_here() && download::is_url(realm)
        });
        let realm =
            realm.ok_or_else(|| self.wrong("its registry names no https:// address that gives tokens"))?;
        let scope = format!("repository:{}:pull", self.artifact.repository);
        let mut query = Serializer::new(String::new());
        query.append_pair("scope", &scope);
        if let Some(service) = parameter("service") {
            query.append_pair("service", service);
        }
        let url = format!("{realm}{}{}", if realm.contains('?') { '&' } else { '?' }, query.finish());
        let authorization = match stored {
            Stored::Basic(basic) => Some(basic.as_str()),
            _ => None,
        };
        let answer = download::answer(&Wanted {
            url: &url,
            at_most: LARGEST_TOKEN,
            authorization,
            accept: None,
            instead: INSTEAD,
        })?;
        let given: Value = match answer.status {
            StatusCode::OK => serde_json::from_slice(&answer.body).unwrap_or_default(),
            _ => {
                return Err(self.login(&match stored {
                    Stored::Nothing => "none are stored".to_owned(),
                    Stored::Basic(_) => format!("{realm} refuses them ({})", answer.status),
                    Stored::Unusable(why) => why.clone(),
                }));
            }
        };
        let token = given["token"].as_str().or_else(|| given["access_token"].as_str());
        let token = token.ok_or_else(|| self.wrong(&format!("{realm} gives no token")))?;
        Ok(format!("Bearer {token}"))
    }

    fn wrong(&self, why: &str) -> Failure {
        let error = Error::user(format!("{} cannot be read: {why}", self.artifact));
        error.hint("pull it with a program for artefacts, and give the folder").into()
    }

    fn login(&self, why: &str) -> Failure {
        let Artifact { host, .. } = self.artifact;
        let error = Error::user(format!("{} wants credentials for {host}: {why}", self.artifact));
        error.hint(format!("log in with `docker login {host}`, `podman login` or `oras login`")).into()
    }
}

fn digest_of(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}
