//! The host that runs with the same configuration, asked through its admin listener.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use reqwest::{Client, Method, RequestBuilder, Response, Url};

use crate::config::HostConfig;
use crate::http_client;

/// A host on the same machine answers at once, or hangs.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct RunningHost<'c> {
    config: &'c HostConfig,
    client: Client,
}

impl<'c> RunningHost<'c> {
    pub(super) fn new(config: &'c HostConfig) -> anyhow::Result<Self> {
        let client =
            http_client::builder().no_proxy().timeout(PATIENCE).build().context("cannot set up the HTTP client")?;
        Ok(Self { config, client })
    }

    /// Where paths of its admin listener begin.
    pub(super) fn url(&self) -> anyhow::Result<Url> {
        Ok(Url::parse(&format!("http://{}/", reachable(self.config.admin)))?)
    }

    /// A request with the token, where the host demands one.
    pub(super) fn request(&self, method: Method, url: Url) -> RequestBuilder {
        let request = self.client.request(method, url);
        match &self.config.admin_token {
            Some(token) => request.bearer_auth(token.expose()),
            None => request,
        }
    }

    /// Sends it. The error says that no host runs there.
    pub(super) async fn send(&self, request: RequestBuilder) -> anyhow::Result<Response> {
        request.send().await.map_err(|error| {
            // The layers above the cause say that a request failed, in several ways.
            let error = anyhow::Error::new(error.without_url());
            let (admin, cause) = (reachable(self.config.admin), error.root_cause());
            anyhow!("no host answers at {admin}: {cause}; start one with this configuration: reprieve run")
        })
    }
}

/// An address that stands for all of the machine's cannot be connected to everywhere; its loopback can.
pub(super) fn reachable(admin: SocketAddr) -> SocketAddr {
    let ip = match admin.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, admin.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_listens_everywhere_is_asked_on_loopback() {
        let asked = |address: &str| reachable(address.parse().unwrap()).to_string();
        assert_eq!(asked("0.0.0.0:7878"), "127.0.0.1:7878");
        assert_eq!(asked("[::]:7878"), "[::1]:7878");
        assert_eq!(asked("10.0.0.7:7878"), "10.0.0.7:7878");
    }
}
