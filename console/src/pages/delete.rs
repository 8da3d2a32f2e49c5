//! The page that says what deleting an application deletes, and asks for it.

use super::application_path;
use super::frame::{page, unread};
use super::html::Html;
use crate::data::tree::Tree;
use crate::error::Error;

/// The page. `token` shows that a form comes from this console; there is none where the console only reads.
pub(crate) fn delete(namespace: &str, name: &str, tree: &Result<Tree, Error>, token: Option<&str>) -> String {
    let path = application_path(namespace, name);
    let mut html = Html::new();
    html.raw("<p class=\"crumbs\"><a href=\"/\">Applications</a> / ").text(namespace).raw(" / ");
    html.link(&path, name).raw("</p><h1>Delete ").text(name).raw("</h1>");
    html.raw("<p>This deletes the application and what it made, unless a policy of the application lets it stay:</p>");
    match tree {
        Ok(tree) => {
            html.raw("<ul><li>Application ").text(name).raw("</li>");
            for object in &tree.objects {
                html.raw("<li>").text(&object.kind).raw(" ").text(&object.name).raw("</li>");
            }
            html.raw("</ul>");
            if tree.truncated {
                html.raw("<p>More objects are recorded than are shown.</p>");
            }
        }
        Err(error) => unread(&mut html, error),
    }
    match token {
        Some(token) => {
            html.raw("<form class=\"orders\" method=\"post\" action=\"").text(&path).raw("/delete\">");
            html.raw("<input type=\"hidden\" name=\"token\" value=\"").text(token).raw("\"><button>Delete ");
            html.text(name).raw("</button></form>");
        }
        None => {
            html.raw(
                "<p class=\"note\" role=\"note\">This console only reads. <code>vela dashboard --allow-changes</code> \
                 starts one that also deletes applications.</p>",
            );
        }
    }
    page(&format!("Delete {name}"), None, &html)
}
