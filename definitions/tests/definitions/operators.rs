//! The types of the Dapr and Harbor operators: what they make, what they refuse, and what they report.

use serde_json::{Value as Json, json};
use vela_cue::{Input, Source, Template};
use vela_definitions::{Definition, Kind, find};

/// The field of a text for a parameter and a context; `Err` when a value that exists cannot be given.
fn field(text: &str, name: &str, parameter: &Json, context: &Json) -> Result<Json, String> {
    let sources = [Source::new("text", text), Source::new("declared", "parameter: _\ncontext: _\n")];
    let template = Template::compile(&sources).map_err(|error| error.render(false))?;
    let inputs = [Input::new("parameter", parameter), Input::new("context", context)];
    let instance = template.instantiate(&inputs);
    let given = instance.root().lookup("parameter");
    given.validate(false).map_err(|error| error.render(false))?;
    let value = instance.root().lookup(name);
    value.to_json().map_err(|error| error.render(false))
}

fn component(name: &str) -> &'static Definition {
    find(Kind::Component, name).unwrap()
}

/// The object that a component makes.
fn made(name: &str, parameter: &Json) -> Json {
    let context = json!({"name": "shop", "appName": "app", "namespace": "default"});
    let text = component(name).template.unwrap();
    assert_eq!(field(text, "errs", parameter, &context), Ok(json!([])), "{name}");
    field(text, "output", parameter, &context).unwrap()
}

/// Why a component refuses its parameters.
fn refused(name: &str, parameter: &Json) -> String {
    let context = json!({"name": "shop"});
    let text = component(name).template.unwrap();
    match field(text, "errs", parameter, &context) {
        Ok(errors) => errors.to_string(),
        Err(message) => message,
    }
}

/// Whether the object of a component is healthy, and the line about it.
fn status(name: &str, output: &Json) -> (bool, String) {
    let texts = component(name).status;
    let context = json!({"name": "shop", "output": output});
    let read = |text: &str, name: &str| field(text, name, &json!({}), &context).unwrap();
    let message = read(texts.message.unwrap(), "message");
    (read(texts.health.unwrap(), "isHealth") == true, message.as_str().unwrap().to_owned())
}

fn outside() -> Json {
    json!({
        "address": "https://hub.example.com",
        "version": "2.5.1",
        "adminPasswordSecret": "admin",
        "expose": {"class": "nginx", "certificateSecret": "hub-tls"},
        "storage": {"fileSystem": {"claim": "images"}},
        "database": {"host": "pg.example.com", "passwordSecret": "pg"},
        "redis": {"host": "redis.example.com"},
    })
}

#[test]
fn a_harbor_names_the_services_outside() {
    let harbor = made("harbor", &outside());
    assert_eq!(harbor["kind"], "Harbor");
    let spec = &harbor["spec"];
    assert_eq!(
        *spec,
        json!({
            "externalURL": "https://hub.example.com",
            "version": "2.5.1",
            "harborAdminPasswordRef": "admin",
            "expose": {"core": {
                "ingress": {"host": "hub.example.com", "ingressClassName": "nginx"},
                "tls": {"certificateRef": "hub-tls"},
            }},
            "database": {
                "hosts": [{"host": "pg.example.com", "port": 5432}], "username": "postgres", "passwordRef": "pg",
            },
            "redis": {"host": "redis.example.com", "port": 6379},
            "imageChartStorage": {"filesystem": {"registryPersistentVolume": {"claimName": "images"}}},
        })
    );
    let mut more = outside();
    more["address"] = json!("http://hub.example.com:8080/");
    more["expose"] = json!({"notaryHost": "notary.example.com", "redirectDownloads": false});
    more["storage"] =
        json!({"s3": {"bucket": "b", "secretKeySecret": "s3", "endpoint": "http://minio:9000"}});
    more["replicas"] = json!(2);
    more["trivy"] = json!({"cacheClaim": "weaknesses"});
    let spec = &made("harbor", &more)["spec"];
    assert_eq!(spec["expose"]["core"], json!({"ingress": {"host": "hub.example.com"}}));
    assert_eq!(spec["expose"]["notary"], json!({"ingress": {"host": "notary.example.com"}}));
    assert_eq!(
        spec["imageChartStorage"],
        json!({
            "s3": {"bucket": "b", "region": "us-east-1", "secretkeyRef": "s3", "regionendpoint": "http://minio:9000"},
            "redirect": {"disable": true},
        })
    );
    for part in ["core", "jobservice", "portal", "registry"] {
        assert_eq!(spec[part], json!({"replicas": 2}), "{part}");
    }
    assert_eq!(spec["trivy"]["storage"]["cachePersistentVolume"]["claimName"], "weaknesses");
}

#[test]
fn a_harbor_cluster_asks_for_services_inside() {
    let mut parameter = outside();
    parameter["database"] = json!({"inCluster": {"storage": "20Gi"}});
    let cluster = made("harbor", &parameter);
    assert_eq!(cluster["kind"], "HarborCluster");
    let spec = &cluster["spec"];
    assert_eq!(
        spec["database"],
        json!({"kind": "Zlando/PostgreSQL", "spec": {"zlandoPostgreSql": {
            "operatorVersion": "1.5.0", "replicas": 3, "storage": "20Gi",
        }}})
    );
    assert_eq!(
        spec["cache"],
        json!({"kind": "Redis", "spec": {"redis": {"host": "redis.example.com", "port": 6379}}})
    );
    assert_eq!(spec["storage"]["kind"], "FileSystem");
    assert_eq!(spec["storage"]["spec"]["redirect"], json!({"enable": true}));
    assert!(spec.get("imageChartStorage").is_none() && spec.get("redis").is_none(), "{spec}");
    parameter["storage"] = json!({"minIO": {}});
    parameter["redis"] = json!({"inCluster": {"replicas": 1}});
    let spec = &made("harbor", &parameter)["spec"];
    assert_eq!(
        spec["storage"],
        json!({"kind": "MinIO", "spec": {
            "minIO": {"operatorVersion": "4.0.6", "replicas": 4, "volumesPerServer": 1, "volumeClaimTemplate": {
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}},
            }},
            "redirect": {"enable": false},
        }})
    );
    let redis = &spec["cache"]["spec"]["redisFailover"];
    assert_eq!((&redis["server"]["replicas"], &redis["sentinel"]["replicas"]), (&json!(1), &json!(3)));
}

#[test]
fn a_harbor_has_one_place_for_each_service() {
    let with = |field: &str, value: Json| {
        let mut parameter = outside();
        parameter[field] = value;
        refused("harbor", &parameter)
    };
    let message = with("storage", json!({}));
    assert!(message.contains("where the storage is: give fileSystem, s3 or minIO"), "{message}");
    let message = with("database", json!({"host": "pg", "inCluster": {}}));
    assert!(message.contains("database has host and inCluster: keep one of them"), "{message}");
    let message = with("redis", json!({"port": 1}));
    assert!(message.contains("where the redis is: give host or inCluster"), "{message}");
    let message = with("address", json!("hub.example.com"));
    assert!(message.contains("address"), "{message}");
}

#[test]
fn a_harbor_is_healthy_once_it_serves() {
    let harbor = |in_progress: &str, failed: &str| {
        json!({
            "metadata": {"generation": 2},
            "spec": {"externalURL": "https://hub.example.com"},
            "status": {"observedGeneration": 2, "conditions": [
                {"type": "InProgress", "status": in_progress, "message": "Core default/shop-harbor"},
                {"type": "Failed", "status": failed, "reason": "invalidSpec", "message": "two storages"},
            ]},
        })
    };
    assert_eq!(
        status("harbor", &harbor("False", "False")),
        (true, "Serving at https://hub.example.com".to_owned())
    );
    assert_eq!(status("harbor", &harbor("True", "False")), (false, "Core default/shop-harbor".to_owned()));
    assert_eq!(status("harbor", &harbor("False", "True")), (false, "two storages".to_owned()));
    let mut unseen = harbor("False", "False");
    unseen["status"]["observedGeneration"] = json!(1);
    assert!(!status("harbor", &unseen).0);
    let new = json!({"metadata": {"generation": 1}, "spec": {}});
    assert_eq!(status("harbor", &new), (false, "Waiting for vela-harbor".to_owned()));
}

#[test]
fn a_component_of_dapr_has_settings_secrets_and_scopes() {
    let parameter = json!({
        "type": "state.redis",
        "settings": {"redisHost": "redis:6379", "enableTLS": false},
        "secrets": {"redisPassword": {"name": "redis", "key": "password"}, "user": {"name": "redis"}},
        "scopes": ["cart"],
        "secretStore": "vault",
    });
    let component = made("dapr-component", &parameter);
    assert_eq!(
        component,
        json!({
            "apiVersion": "dapr.io/v1alpha1",
            "kind": "Component",
            "spec": {"type": "state.redis", "version": "v1", "metadata": [
                {"name": "enableTLS", "value": false},
                {"name": "redisHost", "value": "redis:6379"},
                {"name": "redisPassword", "secretKeyRef": {"name": "redis", "key": "password"}},
                {"name": "user", "secretKeyRef": {"name": "redis", "key": "user"}},
            ]},
            "scopes": ["cart"],
            "auth": {"secretStore": "vault"},
        })
    );
    let plain = made("dapr-component", &json!({"type": "bindings.cron"}));
    assert_eq!(plain["spec"], json!({"type": "bindings.cron", "version": "v1", "metadata": []}));
    let twice = json!({"type": "a", "settings": {"user": "u"}, "secrets": {"user": {"name": "s"}}});
    let message = refused("dapr-component", &twice);
    assert!(message.contains("user is among both settings and secrets: keep one of them"), "{message}");

    let mut live = component;
    assert_eq!(status("dapr-component", &live), (false, "state.redis, for cart".to_owned()));
    live["metadata"] = json!({"creationTimestamp": "2026-01-01T00:00:00Z"});
    live.as_object_mut().unwrap().remove("scopes");
    let all = "state.redis, for every application of the namespace".to_owned();
    assert_eq!(status("dapr-component", &live), (true, all));
}

/// The annotations that the trait puts on the pods of a workload, and the line about it.
fn annotations(parameter: &Json) -> Result<(Json, String), String> {
    let dapr = find(Kind::Trait, "dapr").unwrap();
    let context = json!({"name": "cart", "output": {"spec": {"template": {}}}});
    let patch = field(dapr.template.unwrap(), "patch", parameter, &context)?;
    let message = field(dapr.status.message.unwrap(), "message", parameter, &context)?;
    let pods = patch.pointer("/spec/template/metadata/annotations").unwrap().clone();
    assert!(patch["spec"].get("jobTemplate").is_none(), "{patch}");
    Ok((pods, message.as_str().unwrap().to_owned()))
}

#[test]
fn the_dapr_trait_annotates_pods_for_the_injector() {
    let (pods, message) = annotations(&json!({})).unwrap();
    assert_eq!(pods, json!({"dapr.io/enabled": "true", "dapr.io/app-id": "cart"}));
    assert_eq!(message, "cart, calls others only");
    let parameter = json!({
        "appId": "basket", "appPort": 8080, "appProtocol": "grpc", "config": "traced", "logLevel": "debug",
        "logAsJson": true, "appMaxConcurrency": 5, "metrics": {"port": 9100}, "env": {"A": "1", "B": "x,y"},
        "healthCheck": {"intervalSeconds": 7}, "resources": {"cpuLimit": "500m", "memoryRequest": "64Mi"},
        "volumeMounts": {"files": "/files"}, "appTokenSecret": "token",
        "annotations": {"placement-host-address": "placement:50005"},
    });
    let (pods, message) = annotations(&parameter).unwrap();
    let expected = [
        ("enabled", "true"),
        ("app-id", "basket"),
        ("app-port", "8080"),
        ("app-protocol", "grpc"),
        ("config", "traced"),
        ("log-level", "debug"),
        ("log-as-json", "true"),
        ("app-max-concurrency", "5"),
        ("enable-metrics", "true"),
        ("metrics-port", "9100"),
        ("env", "A=1,B=x,y"),
        ("enable-app-health-check", "true"),
        ("app-health-check-path", "/healthz"),
        ("app-health-threshold", "3"),
        ("app-health-probe-interval", "7"),
        ("sidecar-cpu-limit", "500m"),
        ("sidecar-memory-request", "64Mi"),
        ("volume-mounts", "files:/files"),
        ("app-token-secret", "token"),
        ("placement-host-address", "placement:50005"),
    ];
    let expected: serde_json::Map<String, Json> =
        expected.iter().map(|(name, value)| (format!("dapr.io/{name}"), json!(value))).collect();
    assert_eq!(pods, Json::Object(expected));
    assert_eq!(message, "basket, called at port 8080");
    for (wrong, field) in [
        (json!({"appPort": 70000}), "appPort"),
        (json!({"logLevel": "loud"}), "logLevel"),
        (json!({"appProtocol": "tcp"}), "appProtocol"),
    ] {
        let message = annotations(&wrong).unwrap_err();
        assert!(message.contains(field), "{message}");
    }
}
