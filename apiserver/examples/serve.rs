//! Serves a small Kubernetes API on a loopback port and writes its kubeconfig to the path in the first argument.

use vela_apiserver::ApiServer;
use vela_apiserver::store::Store;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: serve KUBECONFIG [STORE]")?;
    let mut builder = ApiServer::builder();
    if let Some(file) = arguments.next() {
        builder = builder.store(Store::file(file.as_ref())?);
    }
    let server = builder.build()?;
    let _controllers = server.run_controllers();
    let served = server.serve("127.0.0.1:0".parse()?).await?;
    std::fs::write(&path, served.kubeconfig())?;
    tokio::signal::ctrl_c().await?;
    server.shutdown().await;
    Ok(())
}
