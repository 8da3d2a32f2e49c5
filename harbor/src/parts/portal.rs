//! Portal → the pages of Harbor behind nginx.

use serde_json::{Map, json};

use super::env::Env;
use super::node::Node;
use super::workload::{Part, Pod, has_tls, port, probe, scheme};
use crate::error::Error;

pub(super) fn children(part: &Part<'_>) -> Result<Vec<Node>, Error> {
    let tls = part.spec("tls");
    let secure = has_tls(&tls)?;
    let name = part.child()?;
    let mut pod = Pod::default();
    pod.mount("config", "/etc/nginx/nginx.conf", Some("nginx.conf"), false);
    pod.volume("config", json!({ "configMap": { "name": name, "optional": false } }));
    pod.certificates(&tls, "portal", true)?;
    let mut container = json!({
        "name": "portal",
        "image": part.image(&part.spec(""), part.owner, "harbor-portal")?,
        "ports": [port("http", 8080), port("https", 8443)],
        "livenessProbe": probe("/", scheme(secure), secure),
        "readinessProbe": probe("/", scheme(secure), secure),
        "volumeMounts": pod.mounts,
    });
    if secure {
        let mut env = Env::default();
        env.tls("/harbor_cust_cert/ca.crt", "/etc/portal/ssl");
        container["env"] = env.into_value();
    }
    let config = part.file(&name, "nginx.conf", &nginx(part, secure)?);
    let mut nodes = vec![
        part.service(&name, &[(scheme(secure), if secure { 443 } else { 80 })], &part.spec("network"))?,
        part.deployment(vec![container], pod, None)?.needs([config.id.clone()]),
    ];
    nodes.insert(1, config);
    nodes.extend(part.ingress_policy(&[scheme(secure)])?);
    nodes.extend(part.policy("egress", Map::from_iter([("policyTypes".to_owned(), json!(["Egress"]))]))?);
    Ok(nodes)
}

fn nginx(part: &Part<'_>, secure: bool) -> Result<String, Error> {
    let connections = part.spec("maxConnections").number_or(1024)?;
    let families = part.spec("network.ipFamilies").texts()?;
    let enabled = |family: &str| families.is_empty() || families.contains(&family);
    let listen = if secure { "8443 ssl" } else { "8080" };
    let mut server = String::new();
    if enabled("IPv4") {
        server.push_str(&format!("        listen {listen};\n"));
    }
    if enabled("IPv6") {
        server.push_str(&format!("        listen [::]:{listen};\n"));
    }
    if secure {
        server.push_str(TLS);
    }
    server.push_str("        server_name  localhost;\n");
    Ok(format!(
        "worker_processes auto;\npid /tmp/nginx.pid;\n\nevents {{\n    worker_connections {connections};\n}}\n\nhttp {{\n{PATHS}\n    \
         server {{\n{server}{PAGES}    }}\n}}\n"
    ))
}

const PATHS: &str = "    client_body_temp_path /tmp/client_body_temp;
    proxy_temp_path /tmp/proxy_temp;
    fastcgi_temp_path /tmp/fastcgi_temp;
    uwsgi_temp_path /tmp/uwsgi_temp;
    scgi_temp_path /tmp/scgi_temp;
";

const TLS: &str = "        ssl_certificate /etc/portal/ssl/tls.crt;
        ssl_certificate_key /etc/portal/ssl/tls.key;
        ssl_protocols TLSv1.2;
        ssl_ciphers '!aNULL:kECDH+AESGCM:ECDH+AESGCM:RSA+AESGCM:kECDH+AES:ECDH+AES:RSA+AES:';
        ssl_prefer_server_ciphers on;
        ssl_session_cache shared:SSL:10m;
";

const PAGES: &str = "
        root   /usr/share/nginx/html;
        index  index.html index.htm;

        include /etc/nginx/mime.types;

        gzip on;
        gzip_min_length 1000;
        gzip_proxied expired no-cache no-store private auth;
        gzip_types text/plain text/css application/json application/javascript application/x-javascript text/xml application/xml application/xml+rss text/javascript;

        location / {
            try_files $uri $uri/ /index.html;
        }

        location = /index.html {
            add_header Cache-Control \"no-store, no-cache, must-revalidate\";
        }
";
