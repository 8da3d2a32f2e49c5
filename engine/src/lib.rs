//! What an Application means: manifest, parse, revision, plan, render, graph, status.
