//! The admin listener behind its token, and the commands that ask it.

use crate::place::{Place, ROUTE};

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn a_host_that_listens_everywhere_asks_for_the_token_and_the_programs_own_commands_send_it() {
    let place = Place::new("admin = \"0.0.0.0:0\"\nadmin_token = { file = \"token\" }", ROUTE);
    place.write("token", format!("{TOKEN}\n"));
    let program = place.run(&[], &[]);
    program.wait_for_line("ready: every route takes messages");
    // The commands need the port that was taken.
    let config = std::fs::read_to_string(place.path("reprieve.toml")).unwrap();
    place.write("reprieve.toml", config.replace("0.0.0.0:0", &format!("0.0.0.0:{}", program.admin.port())));

    assert_eq!(program.get("/healthz", "").0, 200);
    assert_eq!(program.get("/readyz", ""), (200, "{\"ready\":true}".to_owned()));
    assert_eq!(program.get("/metrics", "").0, 401);
    let right = format!("Authorization: Bearer {TOKEN}\r\n");
    let (code, metrics) = program.get("/metrics", &right);
    assert!(code == 200 && metrics.contains("reprieve_build_info"), "{metrics}");

    assert_eq!(place.call(&["status"], &[]), (Some(0), "ready\n".to_owned()));
    assert_eq!(place.call(&["status", "--alive"], &[]), (Some(0), "alive\n".to_owned()));
    let (code, text) = place.call(&["send", "orders", "an order", "--id", "o-1"], &[]);
    assert_eq!((code, text.as_str()), (Some(0), "o-1\n"));
    // Where to look is said with the address that answers, and without the token itself.
    let (code, text) = place.call(&["dead-letters", "peek"], &[]);
    let curl = format!(
        "curl --header 'Authorization: Bearer ADMIN_TOKEN' 'http://127.0.0.1:{}/topics/orders.dlq?broker=local'",
        program.admin.port()
    );
    assert!(code == Some(2) && text.contains(&curl), "{text}");
    place.write("token", "fedcba9876543210fedcba9876543210");
    let (code, text) = place.call(&["send", "orders", "an order"], &[]);
    assert!(code == Some(1) && text.contains("401") && text.contains("admin_token"), "{text}");
    let log = program.stop();
    assert!(!log.contains(TOKEN), "{log}");
}

#[test]
fn status_with_another_token_says_that_the_host_does_not_know_it() {
    let route = ROUTE.replace("source =", "policy = \"missing\"\nsource =");
    let place =
        Place::new("admin_token = { file = \"token\" }", &format!("[policies]\nfolder = \"policies\"\n{route}"));
    std::fs::create_dir(place.path("policies")).unwrap();
    place.write("token", TOKEN);
    let program = place.run(&[], &[]);
    let config = std::fs::read_to_string(place.path("reprieve.toml")).unwrap();
    place.write("reprieve.toml", config.replace("127.0.0.1:0", &program.admin.to_string()));

    place.write("token", "fedcba9876543210fedcba9876543210");
    let (code, text) = place.call(&["status"], &[]);
    assert!(code == Some(1) && text.starts_with("not ready\n"), "{text}");
    assert!(text.contains("does not know the `admin_token` of this configuration"), "{text}");
    place.write("token", TOKEN);
    let (code, text) = place.call(&["status"], &[]);
    assert!(code == Some(1) && text.starts_with("not ready\n  orders: no policy: "), "{text}");
    program.stop();
}

#[test]
fn status_says_what_a_host_waits_for_and_that_none_is_there() {
    let route = ROUTE.replace("source =", "policy = \"missing\"\nsource =");
    let place = Place::new("", &format!("[policies]\nfolder = \"policies\"\n{route}"));
    std::fs::create_dir(place.path("policies")).unwrap();
    let program = place.run(&[], &[]);
    let config = std::fs::read_to_string(place.path("reprieve.toml")).unwrap();
    place.write("reprieve.toml", config.replace("127.0.0.1:0", &program.admin.to_string()));

    let (code, text) = place.call(&["status"], &[]);
    assert!(code == Some(1) && text.starts_with("not ready\n  orders: no policy: "), "{text}");
    assert_eq!(place.call(&["status", "--alive"], &[]), (Some(0), "alive\n".to_owned()));
    let admin = program.admin;
    program.stop();
    let (code, text) = place.call(&["status", "--alive"], &[]);
    assert!(code == Some(1) && text.contains(&format!("no host answers at {admin}")), "{text}");
}
