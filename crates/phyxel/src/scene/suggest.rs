//! "Did you mean": the known word nearest to what was written.

/// The candidate nearest to `word` by edit distance, if it is near enough to be a slip of the keyboard.
pub(crate) fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    candidates
        .into_iter()
        .map(|c| {
            let candidate = c.to_lowercase();
            let short = word.len().min(candidate.len());
            let begins = short >= 3 && (candidate.starts_with(&word) || word.starts_with(&candidate));
            let distance = strsim::damerau_levenshtein(&word, &candidate);
            (if begins { distance.min(1) } else { distance }, c)
        })
        .filter(|(distance, c)| *distance <= 1.max(c.chars().count().max(word.chars().count()) / 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, c)| c)
}

/// `a, b or c`, for messages; long lists are cut.
pub(crate) fn one_of<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<&str> = words.into_iter().collect();
    match words.as_slice() {
        [] => "nothing: there are none".into(),
        [one] => one.to_string(),
        [first @ .., last] if words.len() <= 16 => format!("{} or {last}", first.join(", ")),
        many => format!("{}, ...", many[..16].join(", ")),
    }
}
