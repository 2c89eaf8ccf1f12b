//! Headers that proxies add to a request. Then the peer is not the sender, so the request is not from a program of this
//! machine.
//!
//! A proxy that adds no header can't be told from a program of this machine. Its operator must block `POST /v1/stop`
//! there. Otherwise everybody who reaches the proxy can stop the agent.

use axum::http::HeaderMap;

/// Headers of proxies, load balancers and content networks, by their whole name.
const NAMES: &[&str] = &[
    "ali-cdn-real-ip",
    "cdn-loop",
    "cdn-real-ip",
    "cdn-src-ip",
    "client-ip",
    "do-connecting-ip",
    "forwarded",
    "forwarded-for",
    "front-end-https",
    "http-client-ip",
    "http-x-forwarded-for",
    "incap-client-ip",
    "max-forwards",
    "proxy-authorization",
    "proxy-client-ip",
    "proxy-connection",
    "remote-addr",
    "remote-user",
    "surrogate-capability",
    "true-client-ip",
    "via",
    "wl-proxy-client-ip",
    "x-base-url",
    "x-client-cert",
    "x-client-dn",
    "x-client-ip",
    "x-client-port",
    "x-cluster-client-ip",
    "x-coming-from",
    "x-from-ip",
    "x-host",
    "x-http-host-override",
    "x-https",
    "x-ip",
    "x-originating-ip",
    "x-proto",
    "x-proxyuser-ip",
    "x-real-host",
    "x-real-ip",
    "x-real-port",
    "x-real-proto",
    "x-real-scheme",
    "x-rewrite-url",
    "x-scheme",
    "x-script-name",
    "x-true-client-ip",
    "x-url-scheme",
    "x-varnish",
    "z-forwarded-for",
];

/// Beginnings of the names that one maker or kind of proxy uses.
const FAMILIES: &[&str] = &[
    "akamai-",
    "cf-",
    "cloudfront-",
    "eagleeye-",
    "fastly-",
    "fly-",
    "ngrok-",
    "proxy-",
    "ssl-client-",
    "tailscale-",
    "x-akamai-",
    "x-amz-cf-",
    "x-amzn-",
    "x-appengine-",
    "x-arr-",
    "x-auth-request-",
    "x-azure-",
    "x-cdn-",
    "x-cloud-trace-",
    "x-cloudfront-",
    "x-envoy-",
    "x-fastly-",
    "x-fd-",
    "x-forward",
    "x-goog-",
    "x-haproxy-",
    "x-ingress-",
    "x-lb-",
    "x-nf-",
    "x-nginx-",
    "x-original-",
    "x-proxied-",
    "x-proxy-",
    "x-remote-",
    "x-ssl-",
    "x-sucuri-",
    "x-traefik-",
    "x-vercel-",
    "x-webauth-",
];

/// The first header that shows that a proxy passed the request on.
pub fn trace_of_proxy(headers: &HeaderMap) -> Option<&str> {
    let is_of_proxy =
        |name: &&str| NAMES.binary_search(name).is_ok() || FAMILIES.iter().any(|family| name.starts_with(family));
    // Some proxies and gateways write an underscore where the standard has a hyphen.
    headers
        .keys()
        .map(|name| name.as_str())
        .find(|name| is_of_proxy(name) || is_of_proxy(&name.replace('_', "-").as_str()))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    fn found(name: &str) -> bool {
        let name: HeaderName = name.parse().expect("a name");
        trace_of_proxy(&[(name, "x".parse().expect("a value"))].into_iter().collect()).is_some()
    }

    #[test]
    fn the_tables_are_in_order() {
        assert!(NAMES.is_sorted() && FAMILIES.is_sorted());
    }

    #[test]
    fn whatever_a_proxy_adds_is_seen() {
        for name in [
            "Forwarded",
            "Via",
            "X-Forwarded-For",
            "X-Forwarded-Host",
            "X-Forwarded-Proto",
            "X-Forwarded-Port",
            "X-Forwarded-Server",
            "X-Forwarded-Prefix",
            "X-Forwarded",
            "X-Forwarded-By",
            "X_Forwarded_For",
            "X-Client-IP",
            "True-Client-IP",
            "CF-Connecting-IP",
            "CF-Ray",
            "X-Cluster-Client-IP",
            "Fastly-Client-IP",
            "Fly-Client-IP",
            "X-Real-IP",
            "X-Original-URL",
            "X-Original-Forwarded-For",
            "X-Envoy-External-Address",
            "X-Amzn-Trace-Id",
            "X-Azure-ClientIP",
            "X-AppEngine-User-IP",
            "X-Remote-Addr",
            "X-ARR-LOG-ID",
            "X-Originating-IP",
            "X-ProxyUser-Ip",
            "CDN-Loop",
            "Proxy-Connection",
            "Tailscale-User-Login",
            "X-Goog-IAP-JWT-Assertion",
        ] {
            assert!(found(name), "{name}");
        }
    }

    #[test]
    fn what_programs_and_browsers_send_is_no_proxys() {
        for name in [
            "Host",
            "User-Agent",
            "Accept",
            "Accept-Encoding",
            "Authorization",
            "Connection",
            "Content-Length",
            "Content-Type",
            "Cookie",
            "Expect",
            "Idempotency-Key",
            "Origin",
            "Referer",
            "Sec-Fetch-Site",
            "Sec-Fetch-Mode",
            "Traceparent",
            "X-Request-Id",
            "X-Requested-With",
            "X-Stainless-Retry-Count",
            "X-CSRF-Token",
        ] {
            assert!(!found(name), "{name}");
        }
    }
}
