//! Handlers that answer garbage, hang, break off, or are not there: each attempt fails with words for it, and no message
//! is lost.

use serde_json::Value;

use crate::endpoint::Endpoint;
use crate::place::Place;
use crate::text::replaced;
use crate::wait_for;

/// A handler that does as its input says.
const SCRIPT: &str = r#"case "$(cat)" in
    garbage) printf '\000\377\376 \033[31mwhat is this?\n' >&2; exit 3;;
    hang) sleep 600;;
    die) kill -9 $$;;
    deaf) exec <&-; exit 1;;
esac"#;

fn route(name: &str, handler: &str) -> String {
    format!(
        "\n[[routes]]\nname = \"{name}\"\nbroker = \"local\"\nsource = \"{name}\"\nhandler = {handler}\n\
         dead_letters = {{ default = \"dead\" }}\n"
    )
}

/// A dead letter's id, body, and what its headers say of the error.
fn shown(letter: &Value) -> String {
    let headers = letter["headers"].as_array().expect("headers");
    let error = headers.iter().filter(|header| {
        header[0].as_str().is_some_and(|name| name.starts_with("reprieve-error") || name == "reprieve-attempts")
    });
    let error: Vec<_> =
        error.map(|header| format!("  {}: {}", header[0].as_str().unwrap_or_default(), header[1])).collect();
    format!("{} {}\n{}", letter["id"], letter["body"], error.join("\n"))
}

#[test]
fn a_handler_that_misbehaves_fails_its_message_and_nothing_else() {
    let endpoint = Endpoint::start();
    let url = format!("http://{}/orders", endpoint.address);
    let place = Place::new(
        &[
            route("http", &format!("{{ kind = \"http\", url = \"{url}\", timeout = \"500ms\" }}")),
            route("absent-http", "{ kind = \"http\", url = \"http://127.0.0.1:1/orders\" }"),
            route("command", "{ kind = \"command\", program = [\"sh\", \"handler.sh\"], timeout = \"500ms\" }"),
            route("absent-command", "{ kind = \"command\", program = [\"./no-such-program\"] }"),
        ]
        .concat(),
    );
    place.write("handler.sh", SCRIPT);
    let program = place.run();
    for name in ["http", "absent-http", "command", "absent-command"] {
        program.wait_until_ready(name);
    }

    let bad = [
        ("http", "garbage"),
        ("http", "close"),
        ("http", "break off"),
        ("http", "odd error"),
        ("http", "hang"),
        ("absent-http", "anything"),
        ("command", "garbage"),
        ("command", "hang"),
        ("command", "die"),
        ("command", "deaf"),
        ("absent-command", "anything"),
    ];
    for (route, body) in bad {
        program.send(route, &format!("{route}: {body}"), body);
    }
    program.assert_that_mails_are_handled(&place);
    let letters: Vec<_> = program.messages("dead", bad.len()).iter().map(shown).collect();
    // A letter is there before the line about it.
    for (route, body) in bad {
        program.wait_for_line(&["dead-lettered", &format!("id=\"{route}: {body}\"")]);
    }
    let address = endpoint.address.to_string();
    let folder = place.path("").display().to_string();
    let names = [(address.as_str(), "HANDLER"), (folder.as_str(), "FOLDER/")];
    insta::assert_snapshot!("dead_letters", replaced(&letters.join("\n"), &names));
    insta::assert_snapshot!("log", program.lines(&["attempt failed", "dead-lettered"], &names));

    for name in ["http", "command"] {
        program.send(name, "good", "good");
        wait_for("the good message", || {
            let (_, topic) = program.get(&format!("/topics/{name}"));
            (topic["ready"] == 0 && topic["unsettled"] == 0).then_some(())
        });
    }
    program.messages("dead", bad.len());
    assert_eq!(program.get("/readyz").0, 200);
    program.stop();
}
