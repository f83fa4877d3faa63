//! Names close to one that was mistyped.

/// At most this many suggestions.
const MOST: usize = 3;

/// How much further than the best suggestion another may be.
const SLACK: usize = 2;

/// The known names that `name` may have meant, best first; empty when none is close.
///
/// Close is an optimal-string-alignment distance of at most a third of the longer name, or one name containing the other.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut scored: Vec<_> = known
        .into_iter()
        .filter_map(|candidate| {
            let distance = strsim::osa_distance(&name.to_lowercase(), &candidate.to_lowercase());
            let close = distance <= name.len().max(candidate.len()) / 3;
            let contains = name.len() >= 3 && (candidate.contains(name) || name.contains(candidate));
            (close || contains).then_some((distance, candidate))
        })
        .collect();
    scored.sort_by_key(|(distance, _)| *distance);
    let best = scored.first().map_or(0, |(distance, _)| *distance);
    scored.retain(|(distance, candidate)| *distance <= best + SLACK || candidate.contains(name));
    scored.into_iter().take(MOST).map(|(_, candidate)| candidate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transposed_name_is_recognised() {
        assert_eq!(nearest("qiuck", ["quick", "smoke"]), ["quick"]);
    }

    #[test]
    fn a_part_of_a_name_is_recognised() {
        assert_eq!(
            nearest("gateway", ["service", "agentgateway-gateway", "gke-gateway"]),
            ["gke-gateway", "agentgateway-gateway"]
        );
    }

    #[test]
    fn nothing_close_gives_no_suggestion() {
        assert!(nearest("zzz", ["quick", "smoke"]).is_empty());
    }
}
