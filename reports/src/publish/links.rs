//! Links that will still lead somewhere, for somebody else.

/// A link that is refused, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("link {link:?} is refused: {why}")]
pub struct NotDurable {
    /// The link, without its query.
    link: String,
    why: &'static str,
}

/// Names in a query that mark an address as signed for a while only.
const SIGNATURES: [&str; 6] = ["signature=", "sig=", "token=", "expires=", "x-amz-", "x-goog-"];
/// Ends of names that only resolve at home.
const LOCAL: [&str; 6] = ["localhost", ".local", ".internal", ".svc", ".lan", ".localdomain"];

/// Refuses a link that leads nowhere for others, or not for long.
pub fn durable(link: &str) -> Result<(), NotDurable> {
    let refused = |why| {
        let link = link.split(['?', '#']).next().unwrap_or_default();
        // Credentials are not repeated in messages.
        let link = link.rsplit_once('@').map_or(link.to_owned(), |(_, rest)| format!("…@{rest}"));
        Err(NotDurable { link, why })
    };
    if link.chars().any(|c| c.is_whitespace() || c.is_control() || "<>\"`".contains(c)) {
        return refused("it contains spaces, quotes or brackets");
    }
    let Some(rest) = link.strip_prefix("https://") else { return refused("it is not an https address") };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return refused("it carries credentials");
    }
    let host = authority.split(':').next().unwrap_or_default().to_ascii_lowercase();
    let is_number = host.split('.').all(|part| part.parse::<u8>().is_ok()) || authority.starts_with('[');
    if !host.contains('.') || is_number || LOCAL.iter().any(|end| host.ends_with(end)) {
        return refused("its host has no public name");
    }
    let query = rest.split_once('?').map_or("", |(_, query)| query).to_ascii_lowercase();
    if SIGNATURES.iter().any(|signature| query.contains(signature)) {
        return refused("it is signed and will expire");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_https_addresses_are_durable() {
        for link in ["https://storage.example.org/bucket/run.tar.gz", "https://example.org:8443/a?b=c#d"] {
            assert_eq!(durable(link), Ok(()), "{link}");
        }
    }

    #[test]
    fn addresses_that_end_or_lead_nowhere_for_others_are_refused() {
        for (link, why) in [
            ("http://example.org/a", "not an https address"),
            ("/home/ada/results", "not an https address"),
            ("file:///results", "not an https address"),
            ("javascript:alert(1)", "not an https address"),
            ("https://localhost/a", "no public name"),
            ("https://10.0.0.7/a", "no public name"),
            ("https://[::1]/a", "no public name"),
            ("https://gateway.bench.svc/a", "no public name"),
            ("https://build-host/a", "no public name"),
            ("https://bucket.example.org/a?X-Amz-Signature=1", "will expire"),
            ("https://bucket.example.org/a?Expires=1&Signature=x", "will expire"),
            ("https://example.org/a b", "spaces"),
            ("https://example.org/\"><script>", "spaces"),
        ] {
            let refusal = durable(link).unwrap_err().to_string();
            assert!(refusal.contains(why), "{link}: {refusal}");
        }
        let refusal = durable("https://ada:secret@example.org/a").unwrap_err().to_string();
        assert!(refusal.contains("credentials") && !refusal.contains("secret"), "{refusal}");
    }
}
