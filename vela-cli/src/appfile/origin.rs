//! A finding about an Application that an Appfile became → the same finding about the Appfile, with its place there.

use vela_engine::field_path::{self, Segment};
use vela_engine::nearest::did_you_mean;
use vela_engine::{Code, Diagnostic, Diagnostics, Document};

/// Where the fields of Applications stand that were written as Appfiles.
#[derive(Default, Clone)]
pub(crate) struct Origins(Vec<Origin>);

/// The Appfile of one Application.
#[derive(Clone)]
pub(super) struct Origin {
    /// How findings call the Application.
    pub(super) title: String,
    pub(super) appfile: Document,
    /// By the index of their components.
    pub(super) services: Vec<Service>,
}

/// What became of a service.
#[derive(Clone)]
pub(super) struct Service {
    pub(super) name: String,
    pub(super) has_type: bool,
    /// Its keys that are traits, by the index of the trait.
    pub(super) traits: Vec<String>,
    /// What could have been written as a key.
    pub(super) words: Vec<String>,
}

impl Origins {
    pub(super) fn add(&mut self, origin: Origin) {
        self.0.push(origin);
    }

    /// The findings, each with its place in the Appfile where its object was one.
    pub(crate) fn place(&self, found: Diagnostics) -> Diagnostics {
        found.into_iter().map(|one| self.place_one(one)).collect()
    }

    /// One finding, with its place in the Appfile where its object was one.
    pub(crate) fn place_one(&self, found: Diagnostic) -> Diagnostic {
        let origin = self.0.iter().find(|origin| origin.title == found.object);
        match origin.filter(|_| found.manifest.is_none()) {
            Some(origin) => origin.place(found),
            None => found,
        }
    }
}

impl Origin {
    fn place(&self, mut found: Diagnostic) -> Diagnostic {
        let segments = field_path::parse(&found.path).unwrap_or_default();
        let (path, is_name) = self.written(&segments);
        let is_unknown = matches!(found.code, Code::UnknownField | Code::UnknownParameter);
        if let Some(hint) = self.nearest(&segments).filter(|_| is_unknown) {
            found.hint = Some(hint);
        }
        let path = field_path::format(&path);
        let found = if is_unknown || is_name {
            found.at_key(&self.appfile, path)
        } else {
            found.at(&self.appfile, path)
        };
        Diagnostic { object: self.title.clone(), ..found }
    }

    /// The nearest word for an unknown key of a service, which may also have been meant as a trait.
    fn nearest(&self, segments: &[Segment]) -> Option<String> {
        let (service, rest) = self.service(segments)?;
        match rest {
            [Segment::Field(part), Segment::Field(key)] if part == "properties" => {
                did_you_mean(key, service.words.iter().map(String::as_str))
            }
            _ => None,
        }
    }

    /// The path in the Appfile, and whether the name of that field is meant rather than its value.
    fn written(&self, segments: &[Segment]) -> (Vec<Segment>, bool) {
        let field = |name: &str| Segment::Field(name.to_owned());
        if let [Segment::Field(metadata), Segment::Field(name), ..] = segments
            && (metadata.as_str(), name.as_str()) == ("metadata", "name")
        {
            return (vec![field("name")], false);
        }
        let Some((service, rest)) = self.service(segments) else {
            return (vec![field("services")], true);
        };
        let mut path = vec![field("services"), field(&service.name)];
        match rest {
            [Segment::Field(part), below @ ..] if part == "properties" => {
                path.extend_from_slice(below);
                (path, below.is_empty())
            }
            [Segment::Field(part), ..] if part == "type" && service.has_type => {
                path.push(field("type"));
                (path, false)
            }
            [Segment::Field(part), Segment::Index(index), below @ ..] if part == "traits" => {
                let Some(name) = service.traits.get(*index) else { return (path, true) };
                path.push(field(name));
                match below {
                    [Segment::Field(part), below @ ..] if part == "properties" => {
                        path.extend_from_slice(below);
                        (path, below.is_empty())
                    }
                    _ => (path, true),
                }
            }
            [Segment::Field(part), ..] if part == "scopes" => {
                path.push(field("scopes"));
                (path, false)
            }
            _ => (path, true),
        }
    }

    fn service<'a>(&self, segments: &'a [Segment]) -> Option<(&Service, &'a [Segment])> {
        match segments {
            [Segment::Field(spec), Segment::Field(components), Segment::Index(index), rest @ ..]
                if spec == "spec" && components == "components" =>
            {
                self.services.get(*index).map(|service| (service, rest))
            }
            _ => None,
        }
    }
}
