//! The words: API types of core.oam.dev and standard.oam.dev, and their CRD YAML.
