use super::*;

#[derive(Debug, PartialEq)]
struct Strict(Settings);

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(default)]
    rules: Vec<Rule>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    #[serde(rename = "odd/name~")]
    limit: u8,
}

impl Policy for Strict {
    type Settings = Settings;

    fn configure(settings: Settings, route: &Route) -> Result<Self, Vec<Problem>> {
        if route.name.is_empty() { Err(vec![Problem::new("no name")]) } else { Ok(Self(settings)) }
    }

    fn decide(&self, _: &Failure) -> Verdict {
        Verdict::drop()
    }
}

fn problem(settings: &str) -> String {
    configure::<Strict>(settings, &Route::new("orders")).unwrap_err()[0].to_string()
}

#[test]
fn settings_may_be_left_out() {
    let none = Strict(Settings { rules: Vec::new() });
    assert_eq!(configure("{}", &Route::new("orders")), Ok(none));
    assert!(configure::<Strict>("null", &Route::new("orders")).is_ok());
}

#[test]
fn a_problem_has_a_json_pointer_with_special_characters_escaped() {
    assert_eq!(
        problem(r#"{"rules": [{"odd/name~": 1}, {"odd/name~": 256}]}"#),
        "/rules/1/odd~1name~0: invalid value: integer `256`, expected u8"
    );
}

#[test]
fn settings_that_are_no_json_or_no_table_are_refused_as_a_whole() {
    assert!(problem("{").starts_with("the settings are not valid JSON: EOF"), "{}", problem("{"));
    assert_eq!(problem("7"), "invalid type: integer `7`, expected struct Settings");
}

#[test]
fn the_policys_own_problems_are_handed_on() {
    let problems = configure::<Strict>("{}", &Route::new("")).unwrap_err();
    assert_eq!(problems, [Problem::new("no name")]);
}
