//! v1alpha2: ApplicationConfiguration and Components through the same phases as an Application.
