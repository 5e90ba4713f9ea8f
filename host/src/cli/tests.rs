//! The help texts, as people see them.

use clap::{Args, CommandFactory as _};

use super::*;

/// The long help of a subcommand, at a width that does not depend on the terminal.
fn help<A: Args>(name: &'static str) -> String {
    let command = A::augment_args(clap::Command::new(name)).term_width(100);
    clap::Command::new("reprieve")
        .subcommand(command)
        .try_get_matches_from(["reprieve", name, "--help"])
        .unwrap_err()
        .to_string()
}

#[test]
fn each_command_explains_itself_with_examples() {
    insta::assert_snapshot!("help", Arguments::command().term_width(100).render_long_help());
    insta::assert_snapshot!("help_check", help::<check::CheckArguments>("check"));
    insta::assert_snapshot!("help_run", help::<run::RunArguments>("run"));
    insta::assert_snapshot!("help_status", help::<status::StatusArguments>("status"));
    insta::assert_snapshot!("help_demo", help::<demo::DemoArguments>("demo"));
    insta::assert_snapshot!("help_send", help::<send::SendArguments>("send"));
    insta::assert_snapshot!("help_why", help::<why::WhyArguments>("why"));
}

/// The long help of a command in a group of commands.
fn group_help(group: &str, command: &str) -> String {
    let reprieve = Arguments::command().term_width(100);
    reprieve.try_get_matches_from(["reprieve", group, command, "--help"]).unwrap_err().to_string()
}

#[test]
fn each_command_for_policies_explains_itself_with_examples() {
    insta::assert_snapshot!("help_policy_new", group_help("policy", "new"));
    insta::assert_snapshot!("help_policy_build", group_help("policy", "build"));
    for command in ["backtest", "history", "rollback"] {
        insta::assert_snapshot!(format!("help_policy_{command}"), group_help("policy", command));
    }
}

#[test]
fn each_command_for_dead_letters_explains_itself_with_examples() {
    insta::assert_snapshot!("help_dead_letters_peek", group_help("dead-letters", "peek"));
    insta::assert_snapshot!("help_dead_letters_redrive", group_help("dead-letters", "redrive"));
}

#[test]
fn each_command_for_journals_explains_itself_with_examples() {
    for command in ["tail", "query", "show", "export", "stats"] {
        insta::assert_snapshot!(format!("help_journal_{command}"), group_help("journal", command));
    }
}

#[test]
fn the_arguments_are_consistent() {
    Arguments::command().debug_assert();
    for command in [
        check::CheckArguments::augment_args(clap::Command::new("check")),
        run::RunArguments::augment_args(clap::Command::new("run")),
        status::StatusArguments::augment_args(clap::Command::new("status")),
        demo::DemoArguments::augment_args(clap::Command::new("demo")),
        send::SendArguments::augment_args(clap::Command::new("send")),
    ] {
        command.debug_assert();
    }
}
