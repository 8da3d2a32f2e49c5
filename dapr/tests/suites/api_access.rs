//! Who is answered: certificates of others, expired ones, none at all, and namespaces that are not one's own.

use rcgen::date_time_ymd;
use tonic::{Code, Status};
use vela_dapr::protocol::Named;

use super::api_bench::{Authority, Bench, in_namespace, within};

/// What the first call of a sidecar says.
async fn first_call(bench: &Bench, tls: Option<rustls::ClientConfig>) -> Result<(), Status> {
    match bench.connect(tls).await {
        Ok(mut sidecar) => within("an answer", sidecar.list_components(in_namespace("h1"))).await.map(|_| ()),
        Err(error) => Err(Status::unavailable(error)),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_verified_sidecars_are_answered() {
    let bench = Bench::new();
    let (own, stranger) = (&bench.authority, Authority::new());
    let uri = "spiffe://cluster.local/ns/h1/cart";
    first_call(&bench, Some(own.sidecar("h1", "cart"))).await.unwrap();
    let expired = own.sidecar_of(uri, own, |params| {
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
    });
    for (what, tls) in [
        ("no certificate", Some(own.without_certificate())),
        ("of another authority", Some(stranger.sidecar_of(uri, own, |_| {}))),
        ("expired", Some(expired)),
        ("plain text", None),
    ] {
        let refused = first_call(&bench, tls).await.unwrap_err();
        assert!(
            matches!(refused.code(), Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled),
            "{what}: {refused:?}"
        );
    }
    for (uri, expected) in [
        ("", "has to have one URI"),
        ("https://cluster.local/ns/h1/cart", "is of no sidecar"),
        ("spiffe://cluster.local/ns/h1", "is of no sidecar"),
        ("spiffe://cluster.local/ns/h2/cart", "exp=h1 got=h2"),
    ] {
        let refused = first_call(&bench, Some(own.sidecar_of(uri, own, |_| {}))).await.unwrap_err();
        assert_eq!(refused.code(), Code::PermissionDenied, "{uri}: {refused:?}");
        assert!(refused.message().contains(expected), "{uri}: {refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_has_to_be_named_and_ones_own() {
    let bench = Bench::new();
    let mut sidecar = bench.sidecar("h1", "cart").await;
    for namespace in ["", "h2"] {
        let refused = [
            sidecar.list_components(in_namespace(namespace)).await.err(),
            sidecar.list_resiliency(in_namespace(namespace)).await.err(),
            sidecar.component_update(in_namespace(namespace)).await.err(),
            sidecar.workflow_access_policy_update(in_namespace(namespace)).await.err(),
            sidecar.get_configuration(Named { name: "a".into(), namespace: namespace.into() }).await.err(),
        ];
        for refused in refused {
            let refused = refused.unwrap();
            assert_eq!(refused.code(), Code::PermissionDenied, "{refused:?}");
            assert!(refused.message().contains(&format!("exp={namespace} got=h1")), "{refused:?}");
        }
    }
    assert_eq!(sidecar.list_subscriptions(()).await.unwrap_err().code(), Code::PermissionDenied);
}

#[tokio::test(flavor = "multi_thread")]
async fn new_trust_anchors_count_from_the_next_connection_on() {
    let bench = Bench::new();
    let mut open = bench.sidecar("h1", "cart").await;
    open.list_components(in_namespace("h1")).await.unwrap();
    let next = Authority::new();
    bench.credentials.as_ref().unwrap().replace(&next.pem()).unwrap();
    open.list_components(in_namespace("h1")).await.unwrap();
    first_call(&bench, Some(next.sidecar("h1", "cart"))).await.unwrap();
    let uri = "spiffe://cluster.local/ns/h1/cart";
    first_call(&bench, Some(bench.authority.sidecar_of(uri, &next, |_| {}))).await.unwrap_err();
    let broken = vela_dapr::Pem { key: b"none".to_vec(), ..next.pem() };
    let refused = bench.credentials.as_ref().unwrap().replace(&broken).unwrap_err().to_string();
    assert!(refused.contains("the key cannot be read"), "{refused}");
    first_call(&bench, Some(next.sidecar("h1", "cart"))).await.unwrap();
}
