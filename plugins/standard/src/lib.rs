//! The policy that judges where a route names none. What it does is in the SDK, so that other policies
//! can build on it; here it becomes a policy of its own.

use reprieve_sdk::standard::Standard;

reprieve_sdk::policy!(Standard);
