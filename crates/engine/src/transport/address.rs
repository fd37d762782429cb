//! Rules for addresses of web pages: syntax of the URL, and private or local IP addresses that are refused.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use super::error::FetchError;

/// Longer addresses are refused.
const MAX_ADDRESS_BYTES: usize = 8 * 1024;
/// Replaces the value of a secret parameter of an address.
const HIDDEN: &str = "hidden";
/// Words in the names of parameters whose values are secret, such as `X-Amz-Signature`.
const SECRET_WORDS: [&str; 13] =
    ["token", "secret", "signature", "sig", "password", "passwd", "pwd", "key", "apikey", "auth", "credential", "session", "jwt"];

/// Parses an address and checks everything about it that needs no name look-up. Removes its fragment, which
/// is not part of a request.
pub(super) fn parse(address: &str) -> Result<Url, FetchError> {
    let shown = || address.chars().take(120).collect::<String>();
    let fail = |detail: &str| FetchError::Address { address: shown(), detail: detail.to_owned() };
    if address.len() > MAX_ADDRESS_BYTES {
        return Err(fail("it is too long"));
    }
    let url = Url::parse(address.trim()).map_err(|error| fail(&error.to_string()))?;
    check(url)
}

/// Does the same checks on a parsed address, such as that of a redirection.
pub(super) fn check(mut url: Url) -> Result<Url, FetchError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(FetchError::Scheme(url.scheme().to_owned()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(FetchError::Credentials(url.host_str().unwrap_or_default().to_owned()));
    }
    if url.host_str().is_none_or(str::is_empty) || url.as_str().len() > MAX_ADDRESS_BYTES {
        let address = url.as_str().chars().take(120).collect();
        return Err(FetchError::Address { address, detail: "it has no host, or is too long".to_owned() });
    }
    url.set_fragment(None);
    Ok(url)
}

/// Returns the IP address of a host that is written as one.
pub(super) fn literal(url: &Url) -> Option<IpAddr> {
    match url.host()? {
        Host::Ipv4(address) => Some(address.into()),
        Host::Ipv6(address) => Some(address.into()),
        Host::Domain(_) => None,
    }
}

/// Returns an address as it may be stored and shown: without the values of secret parameters.
pub(super) fn shown(url: &Url) -> String {
    if !url.query_pairs().any(|(name, _)| is_secret(&name)) {
        return url.as_str().to_owned();
    }
    let mut shown = url.clone();
    shown.query_pairs_mut().clear().extend_pairs(
        url.query_pairs().map(|(name, value)| if is_secret(&name) { (name, HIDDEN.into()) } else { (name, value) }),
    );
    shown.into()
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.split(|character: char| !character.is_ascii_alphanumeric())
        .any(|word| SECRET_WORDS.iter().any(|secret| word == *secret || (secret.len() > 4 && word.ends_with(secret))))
}

/// Returns whether an IP address belongs to the public Internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, d] = address.octets();
    let is_reserved = match a {
        // "This network", private, loopback.
        0 | 10 | 127 => true,
        // Carrier-grade NAT; in some clouds, the service with the machine's own secrets is there.
        100 => b & 0xc0 == 64,
        // Link-local, with the metadata service of most clouds.
        169 => b == 254,
        172 => b & 0xf0 == 16,
        // Protocol assignments, documentation, 6to4 relays, private.
        192 => (b == 0 && (c == 0 || c == 2)) || (b == 88 && c == 99) || b == 168,
        // Benchmarks, documentation.
        198 => b & 0xfe == 18 || (b == 51 && c == 100),
        203 => b == 0 && c == 113,
        // A cloud's agent for its own machines, although it looks like a public address.
        168 => (b, c, d) == (63, 129, 16),
        // Multicast, reserved, broadcast.
        224..=255 => true,
        _ => false,
    };
    !is_reserved
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        // Mapped, and translated by NAT64: the embedded IPv4 address decides.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        // 6to4.
        [0x2002, high, low, ..] => embedded(high, low),
        // Protocol assignments (Teredo among them) and documentation.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [0x3fff, second, ..] if second < 0x1000 => false,
        // Only this range is assigned for general use: not loopback, link-local, unique-local, multicast.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

/// Returns whether an address leads to this computer.
pub fn is_here(address: &str) -> bool {
    let host = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    // A name before an `@` is no host.
    let host = host.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_of_private_networks_and_of_machines_are_not_public() {
        for private in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.255.0.1",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.1.1",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:2::1",
            "2001:10::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:a9fe:a9fe::1",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "5f00::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
    }

    #[test]
    fn addresses_of_servers_are_public() {
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.255.255",
            "100.128.0.1",
            "168.63.129.17",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "192.167.1.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.1",
            "2606:4700::1111",
            "2001:4860::8888",
            "2a00:1450::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
        ] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }

    #[test]
    fn only_plain_addresses_of_pages_are_taken() {
        assert!(matches!(parse("file:///etc/passwd"), Err(FetchError::Scheme(scheme)) if scheme == "file"));
        assert!(matches!(parse("ftp://example.org/x"), Err(FetchError::Scheme(_))));
        assert!(matches!(parse("https://ada:word@example.org/"), Err(FetchError::Credentials(_))));
        assert!(matches!(parse("https://ada@example.org/"), Err(FetchError::Credentials(_))));
        assert!(matches!(parse("no address"), Err(FetchError::Address { .. })));
        assert!(matches!(parse("http://"), Err(FetchError::Address { .. })));
        assert!(matches!(parse(&format!("http://example.org/{}", "a".repeat(9000))), Err(FetchError::Address { .. })));
        assert_eq!(parse(" http://Example.ORG:80/a/../b#part ").unwrap().as_str(), "http://example.org/b");
    }

    #[test]
    fn odd_spellings_of_numbers_are_numbers() {
        for spelling in ["http://0x7f.1/", "http://2130706433/", "http://0177.0.0.1/", "http://127.1/", "http://[::ffff:7f00:1]/"]
        {
            let address = literal(&parse(spelling).unwrap()).unwrap();
            assert!(!is_public(address), "{spelling}: {address}");
        }
    }

    #[test]
    fn values_that_open_something_are_not_shown() {
        let shown = |address: &str| shown(&parse(address).unwrap());
        assert_eq!(
            shown("https://example.org/a?page=2&access_token=abc&X-Amz-Signature=def&apiKey=x&monkey=y"),
            "https://example.org/a?page=2&access_token=hidden&X-Amz-Signature=hidden&apiKey=hidden&monkey=y"
        );
        assert_eq!(shown("https://example.org/a?q=a%20b+c"), "https://example.org/a?q=a%20b+c");
    }

    proptest! {
        #[test]
        fn any_words_are_an_address_or_an_error(words in ".{0,80}") {
            if let Ok(url) = parse(&words) {
                shown(&url);
                literal(&url);
            }
        }

        #[test]
        fn every_mapped_address_is_as_public_as_its_own(bits in any::<u32>()) {
            let plain = Ipv4Addr::from_bits(bits);
            prop_assert_eq!(is_public(IpAddr::V6(plain.to_ipv6_mapped())), is_public(IpAddr::V4(plain)));
        }
    }

    #[test]
    fn this_computer_is_told_from_others() {
        for here in ["http://127.0.0.1:11434", "http://localhost/v1", "https://[::1]:8443/", "http://127.0.0.9"] {
            assert!(is_here(here), "{here}");
        }
        for elsewhere in
            ["http://localhost.example.com", "http://127.0.0.1@example.com/", "https://api.example.com", "http://10.0.0.1", ""]
        {
            assert!(!is_here(elsewhere), "{elsewhere}");
        }
    }
}
