//! What a failure allows next, as a table.

use std::time::Duration;

use bursar::{
    backend::Cause,
    call::policy::{REST_MAX, Reach, reach, rest},
};

#[test]
fn each_failure_reaches_so_far() {
    let table = [
        (Some(Cause::Unreachable), Reach::Passing),
        (Some(Cause::Disconnected), Reach::Passing),
        (Some(Cause::ErrorFrame), Reach::Passing),
        (Some(Cause::Unsupported), Reach::Way),
        (Some(Cause::NoKey), Reach::Backend),
        (Some(Cause::Quota(429)), Reach::Backend),
        (Some(Cause::Malformed), Reach::Backend),
        (Some(Cause::TooLarge), Reach::Backend),
        (None, Reach::Backend),
        (Some(Cause::Filtered(400)), Reach::Call),
    ];
    for (cause, expected) in table {
        assert_eq!(reach(cause), expected, "{cause:?}");
    }
    for status in 300..=599 {
        let expected = match status {
            408 | 425 | 429 | 500 | 502 | 503 | 504 | 529 => Reach::Passing,
            400 | 404 | 413 | 422 => Reach::Way,
            _ => Reach::Backend,
        };
        assert_eq!(reach(Some(Cause::Status(status))), expected, "{status}");
    }
}

#[test]
fn a_rest_doubles_and_is_never_shorter_than_the_backend_wishes() {
    let ms = Duration::from_millis;
    assert_eq!(rest(1, None, 0), Some(ms(200)));
    assert_eq!(rest(2, None, 0), Some(ms(400)));
    assert_eq!(rest(1, None, 255), Some(ms(300)));
    assert_eq!(rest(1, Some(ms(50)), 0), Some(ms(200)));
    assert_eq!(rest(1, Some(ms(2_000)), 255), Some(ms(2_100)));
    assert_eq!(rest(1, Some(REST_MAX), 0), Some(REST_MAX));
    assert_eq!(rest(1, Some(REST_MAX + ms(1)), 0), None);
    assert!(rest(255, None, 255).is_some());
}
