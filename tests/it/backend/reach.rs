//! Where backends may be, and which key goes where.

use bursar::{
    catalogue::reach::Reach,
    net::{Private, is_private},
};

#[test]
fn only_public_addresses_are_public() {
    for private in [
        "0.0.0.0",
        "10.1.2.3",
        "100.64.0.1",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.51.100.7",
        "203.0.113.9",
        "224.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::a00:1",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2002:c0a8:1::1",
        "2001:db8::1",
        "100::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ] {
        assert!(is_private(private.parse().unwrap()), "{private}");
    }
    for public in [
        "1.1.1.1",
        "8.8.8.8",
        "100.63.255.255",
        "100.128.0.1",
        "172.15.0.1",
        "172.32.0.1",
        "192.0.1.1",
        "198.17.0.1",
        "198.20.0.1",
        "223.255.255.255",
        "2606:4700::1111",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2002:808:808::1",
    ] {
        assert!(!is_private(public.parse().unwrap()), "{public}");
    }
}

#[test]
fn an_address_is_recognised_in_every_writing() {
    let none = Private::of(&[]);
    for url in [
        "http://127.0.0.1/v1",
        "http://127.1/v1",
        "http://0x7f.0.0.1/v1",
        "http://2130706433/v1",
        "http://0177.0.0.1/",
        "http://[::1]:8080/v1",
        "http://[::ffff:127.0.0.1]/",
        "http://LOCALHOST:11434/v1",
        "http://localhost./v1",
        "http://a.localhost/",
        "http://169.254.169.254/latest",
        "no url",
        "",
    ] {
        assert!(!none.permits(url), "{url}");
    }
    assert!(none.permits("https://api.example.org/v1"));
    let some = Private::of(&["Localhost".to_owned(), "10.0.0.5".to_owned()]);
    assert!(some.permits("http://localhost:11434/v1") && some.permits("http://10.0.0.5:8000/v1"));
    assert!(!some.permits("http://10.0.0.6:8000/v1"));
}

#[test]
fn a_key_goes_to_its_own_host_alone() {
    let reach = Reach::new(&[], &["BURSAR_BACKEND_EU=LLM.example.org".to_owned()]).unwrap();
    let field = |url: &str, key: &str| reach.problem(url, key).map(|it| it.0);
    for (url, key, problem) in [
        ("https://api.openai.com/v1", "OPENAI_API_KEY", None),
        ("https://API.OpenAI.com:443/v1", "OPENAI_API_KEY", None),
        ("https://api.openai.com.evil.example/v1", "OPENAI_API_KEY", Some("key_env")),
        ("https://evil.example/api.openai.com", "OPENAI_API_KEY", Some("key_env")),
        ("https://api.anthropic.com", "OPENAI_API_KEY", Some("key_env")),
        ("https://api.anthropic.com", "ANTHROPIC_API_KEY", None),
        ("https://llm.example.org/v1", "BURSAR_BACKEND_EU", None),
        ("https://llm.example.org/v1", "BURSAR_BACKEND_US", Some("key_env")),
        ("https://llm.example.org/v1", "", None),
        ("http://10.0.0.1/v1", "", Some("base_url")),
    ] {
        assert_eq!(field(url, key), problem, "{url} {key}");
    }
    for wrong in ["", "KEY", "=host", "KEY="] {
        assert!(Reach::new(&[], &[wrong.to_owned()]).is_err(), "{wrong}");
    }
}

#[tokio::test]
async fn a_name_that_leads_to_this_machine_is_not_followed() {
    let client = bursar::net::client(&Private::of(&[])).unwrap();
    // As a name that changed its mind after it was looked at.
    let refused = client.get("http://localhost:1/").send().await.unwrap_err();
    assert!(refused.is_connect(), "{refused:?}");
    let mut cause: &dyn std::error::Error = &refused;
    while let Some(it) = cause.source() {
        cause = it;
    }
    assert_eq!(cause.to_string(), "the host is at a private address");
}
