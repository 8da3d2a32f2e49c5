//! REST API and pages for people; reads the API, decides nothing.
