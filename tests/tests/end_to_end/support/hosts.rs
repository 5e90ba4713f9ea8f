//! Several programs, each with a folder of its own for its configuration, state and policies.

use super::{Program, Scene};

impl Scene {
    /// Makes the folder of a host, with an empty folder for its policies.
    pub(crate) fn host_folder(&self, host: &str) {
        std::fs::create_dir_all(self.path(host).join("policies")).expect("a writable folder");
    }

    /// Starts a host with these routes.
    pub(crate) fn host(&self, host: &str, routes: &str) -> Program {
        self.host_folder(host);
        let config = self.path(host).join("reprieve.toml");
        let text = self.configuration(&reprieve_tests::rabbitmq::url(), routes);
        std::fs::write(&config, text).expect("a writable folder");
        Program::start(&config)
    }

    /// Renames a policy into the policies folder of a host.
    pub(crate) fn install_on(&self, host: &str, name: &str, policy: &[u8]) {
        self.install_in(&format!("{host}/policies"), name, policy);
    }
}
