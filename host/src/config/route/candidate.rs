//! A route's `candidate`.

use toml::Spanned;

use crate::config::name::check_name;
use crate::config::section::Section;
use crate::config::suggestion::suggest;
use crate::policy::candidate::{CandidateMode, CandidatePlan};

pub(super) fn read_candidate(section: &Section<'_>) -> CandidatePlan {
    let mut plan = CandidatePlan::default();
    let Some(table) = section.section("candidate", format!("`candidate` of {}", section.title)) else { return plan };
    if let Some(policy) = table.text("policy")
        && check_name(table.problems, "a policy's name", &policy)
    {
        plan.policy = Some((*policy.get_ref()).to_owned());
    }
    if let Some(mode) = read_mode(&table) {
        plan.mode = mode;
    }
    if let Some(share) = read_share(&table, "share") {
        plan.share = share;
    }
    plan.promote_after = table.integer("promote_after", 1..=u64::MAX);
    if let Some(faults) = table.integer("max_faults", 0..=u64::MAX) {
        plan.max_faults = faults;
    }
    if let Some(changed) = read_share(&table, "max_changed") {
        plan.max_changed = changed;
    }
    if let Some(decisions) = table.integer("min_decisions", 1..=u64::MAX) {
        plan.min_decisions = decisions;
    }
    table.finish();
    plan
}

fn read_mode(table: &Section<'_>) -> Option<CandidateMode> {
    let mode = table.text("mode")?;
    match *mode.get_ref() {
        "shadow" => Some(CandidateMode::Shadow),
        "canary" => Some(CandidateMode::Canary),
        other => {
            let message = format!("there is no mode \"{}\"", other.escape_debug());
            table.problems.error(&mode.span(), message, suggest(other, &["shadow", "canary"]));
            None
        }
    }
}

/// `"5%"` as 0.05.
fn read_share(table: &Section<'_>, key: &'static str) -> Option<f64> {
    let written: Spanned<&str> = table.text(key)?;
    let number = written.get_ref().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = number.filter(|percent| (0.0..=100.0).contains(percent)).map(|percent| percent / 100.0);
    if share.is_none() {
        let message = format!("`{key}` cannot be \"{}\"", written.get_ref().escape_debug());
        table.problems.error(&written.span(), message, "write a share from \"0%\" to \"100%\", such as \"5%\"");
    }
    share
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn parse(candidate: &str) -> Result<CandidatePlan, String> {
        let text = format!(
            "[brokers.b]\nkind = \"memory\"\n[[routes]]\nname = \"r\"\nbroker = \"b\"\nsource = \"q\"\n\
             dead_letters = {{ default = \"d\" }}\nhandler = {{ kind = \"http\", url = \"http://127.0.0.1:9\" }}\n{candidate}"
        );
        let config = Config::parse(text, "reprieve.toml").map_err(|error| error.to_string())?;
        Ok(config.routes[0].candidate.clone())
    }

    #[test]
    fn without_a_section_a_candidate_is_a_shadow() {
        assert_eq!(parse(""), Ok(CandidatePlan::default()));
        assert_eq!(CandidatePlan::default().mode, CandidateMode::Shadow);
    }

    #[test]
    fn a_canary_is_read_with_its_bounds() {
        let text = "[routes.candidate]\nmode = \"canary\"\nshare = \"2.5%\"\npromote_after = 1000\nmax_faults = 2\n\
                    max_changed = \"10%\"\nmin_decisions = 50\npolicy = \"other\"";
        let plan = CandidatePlan {
            policy: Some("other".to_owned()),
            mode: CandidateMode::Canary,
            share: 0.025,
            promote_after: Some(1000),
            max_faults: 2,
            max_changed: 0.1,
            min_decisions: 50,
        };
        assert_eq!(parse(text), Ok(plan));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_cure() {
        let wrong = |text: &str| parse(&format!("[routes.candidate]\n{text}")).unwrap_err();
        assert!(wrong("mode = \"canari\"").contains("canary"));
        for share in ["5", "-1%", "101%", "x%"] {
            assert!(wrong(&format!("share = \"{share}\"")).contains("from \"0%\" to \"100%\""));
        }
        assert!(wrong("promote_after = 0").contains("promote_after"));
        assert!(wrong("shares = \"5%\"").contains("share"));
    }
}
