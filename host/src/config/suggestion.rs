//! What somebody may have meant by a word that means nothing here.

/// A cure for a word that is not one of `known`: the nearest of them, or all of them where none is near.
pub(super) fn suggest(word: &str, known: &[&str]) -> String {
    match nearest(word, known) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it may be {}", list(known)),
    }
}

/// The known word that differs from `word` by a slip of the hand.
pub(super) fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let word = word.to_lowercase().replace('-', "_");
    let distance = |candidate: &str| strsim::osa_distance(&word, &candidate.replace('-', "_"));
    let near = known.iter().copied().min_by_key(|candidate| distance(candidate))?;
    // A third of the letters may be wrong: enough for slips, too little for another word.
    (distance(near) <= near.chars().count().div_ceil(3)).then_some(near)
}

/// `` `a`, `b` or `c` ``.
pub(super) fn list(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        None => "nothing".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised() {
        assert_eq!(suggest("concurency", &["concurrency", "source"]), "did you mean `concurrency`?");
        assert_eq!(suggest("deadLetters", &["dead_letters"]), "did you mean `dead_letters`?");
        assert_eq!(suggest("max-attempts", &["max_attempts"]), "did you mean `max_attempts`?");
    }

    #[test]
    fn another_word_gets_the_whole_list() {
        assert_eq!(suggest("colour", &["kind", "url"]), "it may be `kind` or `url`");
        assert_eq!(suggest("x", &[]), "it may be nothing");
    }
}
