//! Reads the log of a container line by line: a pod, a container and an extent in, lines of bounded length out. Writes nothing.

use std::pin::Pin;

use futures::stream::{self, BoxStream};
use futures::{AsyncBufRead, AsyncBufReadExt as _, StreamExt as _};
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::LogParams;
use serde_json::Value;

use crate::Api;

/// Bytes of one line; a longer one comes in pieces.
const LONGEST_LINE: usize = 64 * 1024;

type Reader = Pin<Box<dyn AsyncBufRead + Send>>;

/// The lines of a log. The stream ends with the log, or behind an error. Bytes that are no text become �.
///
/// # Errors
/// The error of the server or of the way to it; a name that no path can have is refused before any request.
pub async fn lines(
    client: &Client,
    namespace: &str,
    pod: &str,
    params: &LogParams,
) -> Result<BoxStream<'static, std::io::Result<String>>, kube::Error> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let reader: Reader = Box::pin(pods.to(pod)?.log_stream(pod, params).await?);
    Ok(stream::unfold(Some(reader), |reader| async move {
        let mut reader = reader?;
        match line(&mut reader).await {
            Ok(Some(line)) => Some((Ok(line), Some(reader))),
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    })
    .boxed())
}

/// The names of the containers of a pod, those that run before the others first.
pub fn containers(pod: &Value) -> Vec<&str> {
    let lists = ["/spec/initContainers", "/spec/containers"].map(|path| pod.pointer(path));
    let all = lists.into_iter().flatten().filter_map(Value::as_array).flatten();
    all.map(|container| container["name"].as_str().unwrap_or_default()).collect()
}

/// Whether a container runs or ran, so that it has a log: asking for that of another one is an error. A container that its
/// pod does not report counts as begun once the pod is not pending.
pub fn has_begun(pod: &Value, container: &str) -> bool {
    let lists = ["/status/initContainerStatuses", "/status/containerStatuses"].map(|path| pod.pointer(path));
    let mut all = lists.into_iter().flatten().filter_map(Value::as_array).flatten();
    match all.find(|status| status["name"] == container) {
        Some(status) => {
            status.pointer("/state/waiting").is_none() || status["restartCount"].as_u64().unwrap_or(0) > 0
        }
        None => pod["status"]["phase"] != "Pending",
    }
}

/// The next line, or the next piece of one that is too long.
async fn line(reader: &mut Reader) -> std::io::Result<Option<String>> {
    let mut bytes: Vec<u8> = Vec::new();
    loop {
        let chunk = reader.fill_buf().await?;
        if chunk.is_empty() {
            return Ok((!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned()));
        }
        let room = LONGEST_LINE - bytes.len();
        let end = chunk.iter().take(room).position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(chunk.len().min(room));
        bytes.extend_from_slice(&chunk[..taken]);
        reader.as_mut().consume(taken + usize::from(end.is_some()));
        if end.is_some() || bytes.len() == LONGEST_LINE {
            return Ok(Some(String::from_utf8_lossy(&bytes).trim_end_matches('\r').to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_log_is_cut_into_lines_of_bounded_length() {
        let mut text = b"one\r\n\ntw\xff\n".to_vec();
        text.extend(std::iter::repeat_n(b'x', LONGEST_LINE + 1));
        let mut reader: Reader = Box::pin(futures::io::Cursor::new(text));
        let mut lengths = Vec::new();
        while let Some(line) = line(&mut reader).await.unwrap() {
            lengths.push(line.chars().count());
        }
        assert_eq!(lengths, [3, 0, 3, LONGEST_LINE, 1]);
    }

    #[test]
    fn a_container_that_waits_for_its_first_start_has_no_log() {
        let waiting = json!({"waiting": {"reason": "ContainerCreating"}});
        let pod = json!({
            "spec": {"initContainers": [{"name": "before"}], "containers": [{"name": "web"}, {"name": "late"}, {"name": "new"}]},
            "status": {"phase": "Pending",
                "initContainerStatuses": [{"name": "before", "state": {"terminated": {}}}],
                "containerStatuses": [{"name": "web", "state": waiting, "restartCount": 2}, {"name": "late", "state": waiting}]},
        });
        let begun: Vec<_> = containers(&pod).into_iter().filter(|name| has_begun(&pod, name)).collect();
        assert_eq!(begun, ["before", "web"]);
    }
}
