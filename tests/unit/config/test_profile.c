/* Loading profiles, the poll request, who may call, and when two results are the same. */
#include "common/config/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/config/cidr.h"
#include "tests/unit/config/profile_of.h"

static void test_example(void **state)
{
    (void)state;
    setenv("ALD_TEST_KEY", "secret", 1);
    struct ald_errors errors;
    ald_profiles_t *profiles = profiles_of("mine:\n"
                                           "  family: inphp\n"
                                           "  secrets: {key: {env: ALD_TEST_KEY}}\n"
                                           "  poll:\n"
                                           "    request: {method: POST, url: \"https://h/res\"}\n"
                                           "    schedule: {every: 7s, jitter: 10%}\n"
                                           "  callback: {trust: id, stale_after: 2m}\n",
                                           ALD_SECRETS_POLL, &errors);
    assert_string_equal(ald_errors_text(&errors), "");
    const struct ald_profile *mine = ald_profiles_find(profiles, "mine");
    assert_ptr_equal(mine, ald_profiles_at(profiles, 0));
    assert_null(ald_profiles_find(profiles, "yours"));
    assert_string_equal(mine->name, "mine");
    assert_string_equal(mine->key, "secret");
    assert_true(mine->poll_post);
    assert_int_equal(mine->schedule.every_ms, 7000);
    assert_int_equal(mine->schedule.jitter_percent, 10);
    assert_int_equal(mine->trust, ALD_TRUST_ID);
    assert_int_equal(mine->stale_after_ms, 120000);
    ald_profiles_destroy(&profiles);
    assert_null(profiles);
    ald_errors_free(&errors);
}

static void test_defaults(void **state)
{
    (void)state;
    struct ald_profile p = profile_of("");
    assert_string_equal(p.dialect, "2captcha");
    assert_false(p.poll_post);
    assert_int_equal(p.poll_timeout_ms, 30000);
    assert_int_equal(p.poll_max_bytes, 4 << 20);
    assert_int_equal(p.schedule.every_ms, 5000);
    assert_int_equal(p.schedule.backoff_percent, 150);
    assert_int_equal(p.schedule.max_every_ms, 60000);
    assert_int_equal(p.schedule.jitter_percent, 20);
    assert_int_equal(p.schedule.max_requests, 20);
    assert_int_equal(p.schedule.give_up_after_ms, 600000);
    assert_int_equal(p.result_ttl_ms, 0);
    assert_int_equal(p.trust, ALD_TRUST_TOKEN);
    assert_int_equal(p.source_ip_count, 0);
    assert_int_equal(p.max_body, 4 << 20);
    assert_int_equal(p.stale_after_ms, 45000);
    assert_false(p.stale.learned);
    p = profile_of("callback: {stale_after: auto, stale_auto: {start: 30s, ceiling: 2m}}");
    assert_true(p.stale.learned);
    assert_int_equal(p.stale_after_ms, 30000);
    assert_int_equal(p.stale.floor_ms, 1000);
    assert_int_equal(p.stale.ceiling_ms, 120000);
    assert_int_equal(p.parked_for_ms, 86400000);
    assert_int_equal(p.provider_retries_ms, INT64_C(7) * 86400000);
    assert_int_equal(p.plus, 's');
    assert_int_equal(p.quota_count, 10000);
    assert_int_equal(p.quota_bytes, 64 << 20);
}

#define HEAD "p: {family: inphp, secrets: {key: {env: ALD_TEST_KEY}}, "
#define POLL "poll: {request: {url: \"http://h/r\"}}"

struct load_case {
    const char *yaml;
    const char *want; /* errors */
};

static const struct load_case load_cases[] = {
    {HEAD POLL "}", ""},
    {"p: {family: inphp, poll: none}", ""},
    {"p: {profile: p, version: 1, family: inphp, poll: none}", ""},
    {"{}", ""},
    {HEAD POLL ", callback: {verification_file: {path: /2captcha.txt, content: x}}}", ""},
    {HEAD POLL ", callback: {auth: {source_ips: [10.0.0.0/8, \"::1\"]}}}", ""},
    {"p: {family: inphp, poll: none, late_results: keep, volatile: [/a]}", ""},
    {"p: {family: inphp, poll: none, late_results: drop}",
     "p.yaml:1:32: late_results is \"drop\"; it must be one of: keep publish.\n"},
    {"p: {family: inphp, poll: none, volatile: [/a, b]}",
     "p.yaml:1:32: volatile: at most 8 JSON pointers of at most 128 characters, such as /url: not "
     "b.\n"},
    {"p: {poll: none}", "p.yaml:1:1: p needs a family, such as family: inphp.\n"},
    {"p: {family: inhpp, poll: none}",
     "p.yaml:1:5: family is \"inhpp\"; it must be one of: inphp.\n"},
    {"P!: {family: inphp, poll: none}",
     "p.yaml:1:1: The name of a profile is 1 to 32 of a-z, 0-9 and -, not P!.\n"},
    {"p: {family: inphp, profile: q, poll: none}",
     "p.yaml:1:1: The profile is called p here and q inside.\n"},
    {"p: {family: inphp, poll: nothing}", "p.yaml:1:20: poll must hold settings by their names.\n"},
    {"p: {family: inphp, secrets: {key: abc}, poll: none}",
     "p.yaml:1:30: A secret is written as {env: VAR} or {file: PATH}.\n"},
    {"p: {family: inphp}", "p.yaml:1:1: p needs poll.request.url, or poll: none.\n"
                           "p.yaml:1:1: p polls, so it needs secrets.key: {env: VAR} or {file: "
                           "PATH}.\n"},
    {HEAD "poll: {request: {url: \"ftp://h\"}}}",
     "p.yaml:1:1: poll.request.url must begin with http:// or https://, name a host, and hold no "
     "space or #.\n"},
    {HEAD "poll: {requests: {url: \"ftp://h\"}}}",
     "p.yaml:1:64: There is no setting poll.requests; did you mean poll.request?\n"},
    {HEAD POLL ", callback: {trsut: id}}",
     "p.yaml:1:106: There is no setting callback.trsut; did you mean callback.trust?\n"},
    {HEAD POLL ", callback: {trust: auth}}",
     "p.yaml:1:106: trust: auth needs a scheme in callback.auth: header_secret, standard_webhooks, "
     "hmac or ed25519.\n"},
    {HEAD POLL ", callback: {auth: {source_ips: [10.0.0.1/8, host]}}}",
     "p.yaml:1:126: A value of callback.auth.source_ips is \"10.0.0.1/8\"; it must be an address, "
     "or a block of them such as 10.0.0.0/8.\n"
     "p.yaml:1:138: A value of callback.auth.source_ips is \"host\"; it must be an address, or a "
     "block of them such as 10.0.0.0/8.\n"},
    {HEAD POLL ", callback: {verification_file: {path: /a/b}}}",
     "p.yaml:1:1: p: verification_file needs both path and content.\n"
     "p.yaml:1:1: p: verification_file.path is a name at the root: /name.txt.\n"},
    {HEAD "poll: {request: {url: \"http://h\"}, schedule: {every: 2m, give_up_after: 10s}}}",
     "p.yaml:1:1: p: first_after and stale_after must be shorter than give_up_after.\n"
     "p.yaml:1:1: p: every must not be longer than max_every.\n"},
    {HEAD POLL ", callback: {stale_after: atuo}}",
     "p.yaml:1:106: callback.stale_after is \"atuo\"; it must be a time with its unit, such as "
     "250ms, 30s, 5m, 24h or 30d.\n"},
    {HEAD POLL ", callback: {stale_after: auto, stale_auto: {start: 10m, floor: 3m, ceiling: 2m}}}",
     "p.yaml:1:1: p: first_after and stale_after must be shorter than give_up_after.\n"
     "p.yaml:1:1: p: stale_auto.floor must not be longer than its ceiling.\n"},
    {HEAD POLL ", callback: {parked_for: auto}}",
     "p.yaml:1:106: callback.parked_for is \"auto\"; it must be a time with its unit, such as "
     "250ms, 30s, 5m, 24h or 30d.\n"},
    {"[p]", "p.yaml:1:1: providers must hold profiles by their names.\n"},
};

static void test_load(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(load_cases); i++) {
        struct ald_errors errors;
        ald_profiles_t *profiles = profiles_of(load_cases[i].yaml, 0, &errors);
        if (strcmp(ald_errors_text(&errors), load_cases[i].want) != 0)
            fail_msg("%s\nsays: %s\nwants: %s", load_cases[i].yaml, ald_errors_text(&errors),
                     load_cases[i].want);
        assert_int_equal(profiles != NULL, load_cases[i].want[0] == '\0');
        ald_profiles_destroy(&profiles);
        ald_errors_free(&errors);
    }
}

static void test_fit(void **state)
{
    (void)state;
    struct ald_errors errors;
    ald_profiles_t *profiles =
        profiles_of("p: {family: inphp, poll: none, callback: {max_body: 64MiB}}", 0, &errors);
    assert_true(ald_profiles_fit(profiles, NULL, 64 << 20, &errors));
    assert_false(ald_profiles_fit(profiles, NULL, (64 << 20) - 1, &errors));
    assert_string_equal(ald_errors_text(&errors),
                        "providers: p: callback.max_body must not be larger than bus.max_item.\n");
    ald_profiles_destroy(&profiles);
    ald_errors_free(&errors);
}

/* Where the value is written, else where its profile is. */
static void test_fit_says_where(void **state)
{
    (void)state;
    static const char text[] = "p: {family: inphp, poll: none,\n callback: {max_body: 64MiB}}\n"
                               "q: {family: inphp, poll: none}";
    struct ald_errors errors;
    ald_yaml_t *yaml = NULL;
    ald_profiles_t *profiles = NULL;
    ald_errors_init(&errors);
    assert_int_equal(ald_yaml_parse("p.yaml", ald_span_str(text), 0, &errors, &yaml), ALD_OK);
    const struct ald_node *providers = ald_yaml_root(yaml);
    assert_int_equal(ald_profiles_load(providers, 0, &errors, &profiles), ALD_OK);
    assert_false(ald_profiles_fit(profiles, providers, 1 << 20, &errors));
    assert_string_equal(ald_errors_text(&errors),
                        "p.yaml:2:13: p: callback.max_body must not be larger than bus.max_item.\n"
                        "p.yaml:1:1: p: poll.max_bytes must not be larger than bus.max_item.\n"
                        "p.yaml:3:1: q: callback.max_body must not be larger than bus.max_item.\n"
                        "p.yaml:3:1: q: poll.max_bytes must not be larger than bus.max_item.\n");
    ald_profiles_destroy(&profiles);
    ald_yaml_destroy(&yaml);
    ald_errors_free(&errors);
}

/* What is printed reads back as the same profiles, but for the secrets. */
static void test_print_reads_back(void **state)
{
    (void)state;
    static const char text[] = "p: {secrets: {key: {env: ALD_TEST_KEY}}, family: inphp, " POLL
                               ", callback: {trust: id, auth: {source_ips: [10.0.0.0/8]}}}\n"
                               "q: {family: inphp, poll: none, callback: {stale_after: auto}}";
    struct ald_errors errors;
    struct ald_buf said;
    ald_yaml_t *yaml = NULL;
    ald_yaml_t *again = NULL;
    ald_errors_init(&errors);
    ald_buf_init(&said, 1 << 16);
    assert_int_equal(ald_yaml_parse("p.yaml", ald_span_str(text), 0, &errors, &yaml), ALD_OK);
    ald_profiles_print(ald_yaml_root(yaml), &said);
    assert_int_equal(ald_yaml_parse("s", ald_buf_span(&said), 0, &errors, &again), ALD_OK);
    const struct ald_node *root = ald_yaml_root(again);
    static const struct {
        const char *path, *want;
    } cases[] = {{"providers.p.secrets.key", "***"},
                 {"providers.p.poll.request.url", "http://h/r"},
                 {"providers.p.poll.schedule.every", "5s"},
                 {"providers.p.callback.trust", "id"},
                 {"providers.p.callback.stale_after", "45s"},
                 {"providers.q.callback.stale_after", "auto"},
                 {"providers.q.poll", "none"},
                 {"providers.q.secrets.key", ""}};
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        const struct ald_node *node = ald_node_at(root, cases[i].path);
        assert_non_null(node);
        assert_string_equal(node->text, cases[i].want);
    }
    assert_int_equal(ald_node_at(root, "providers.p.callback.auth.source_ips")->count, 1);
    assert_null(ald_node_at(root, "providers.p.profile"));
    assert_null(ald_node_at(root, "providers.q.poll.every"));
    ald_buf_reset(&said);
    ald_profiles_print(NULL, &said);
    assert_string_equal(ald_buf_str(&said), "providers: {}\n");
    ald_yaml_destroy(&again);
    ald_yaml_destroy(&yaml);
    ald_buf_free(&said);
    ald_errors_free(&errors);
}

static void test_secrets(void **state)
{
    (void)state;
    unsetenv("ALD_TEST_KEY");
    struct ald_errors errors;
    ald_profiles_t *profiles = profiles_of(HEAD POLL "}", 0, &errors);
    struct ald_buf url;
    struct ald_buf body;
    ald_buf_init(&url, 100);
    ald_buf_init(&body, 100);
    assert_int_equal(ald_profile_poll_request(ald_profiles_at(profiles, 0), "1", &url, &body),
                     ALD_MISSING);
    ald_profiles_destroy(&profiles);
    ald_errors_free(&errors);
    assert_null(profiles_of(HEAD POLL "}", ALD_SECRETS_POLL, &errors));
    assert_string_equal(ald_errors_text(&errors),
                        "p.yaml:1:36: The environment variable ALD_TEST_KEY is not set.\n");
    ald_errors_free(&errors);
    ald_buf_free(&url);
    ald_buf_free(&body);
}

static void test_poll_request(void **state)
{
    (void)state;
    struct ald_profile p = profile_of("");
    struct ald_buf url;
    struct ald_buf body;
    ald_buf_init(&url, 2048);
    ald_buf_init(&body, 2048);
    assert_int_equal(ald_profile_poll_request(&p, "1&id=2", &url, &body), ALD_OK);
    assert_string_equal(ald_buf_str(&url),
                        "https://h.example/res.php?key=k%2By&action=get&id=1%26id%3D2&json=1");
    assert_string_equal(ald_buf_str(&body), "");
    (void)snprintf(p.poll_url, sizeof p.poll_url, "http://h/r?a=1");
    assert_int_equal(ald_profile_poll_request(&p, "5", &url, &body), ALD_OK);
    assert_string_equal(ald_buf_str(&url), "http://h/r?a=1&key=k%2By&action=get&id=5&json=1");
    p.poll_post = true;
    assert_int_equal(ald_profile_poll_request(&p, "5", &url, &body), ALD_OK);
    assert_string_equal(ald_buf_str(&url), "http://h/r?a=1");
    assert_string_equal(ald_buf_str(&body), "key=k%2By&action=get&id=5&json=1");
    p.poll_url[0] = '\0';
    assert_int_equal(ald_profile_poll_request(&p, "5", &url, &body), ALD_MISSING);
    ald_buf_free(&url);
    ald_buf_free(&body);
    struct ald_buf small;
    ald_buf_init(&small, 10);
    ald_buf_init(&body, 10);
    p = profile_of("");
    assert_int_equal(ald_profile_poll_request(&p, "5", &small, &body), ALD_TOOBIG);
    ald_buf_free(&small);
    ald_buf_free(&body);
}

struct peer_case {
    const char *block;
    const char *peer;
    bool in;
};

static const struct peer_case peers[] = {
    {"10.0.0.0/8", "10.255.0.1", true},
    {"10.0.0.0/8", "11.0.0.1", false},
    {"10.0.0.0/8", "::ffff:10.1.2.3", true},
    {"127.0.0.1", "127.0.0.1", true},
    {"127.0.0.1", "127.0.0.2", false},
    {"127.0.0.1", "::1", false},
    {"0.0.0.0/0", "255.255.255.255", true},
    {"0.0.0.0/0", "::1", false},
    {"::/0", "1.2.3.4", true},
    {"2001:db8::/33", "2001:db8:7fff::1", true},
    {"2001:db8::/33", "2001:db8:8000::1", false},
    {"::1", "::1", true},
    {"10.0.0.0/8", "10.0.0", false},
    {"10.0.0.0/8", "", false},
    {"10.0.0.0/8", "10.0.0.1:80", false},
};

static void test_peers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(peers); i++) {
        struct ald_profile p = profile_of("");
        assert_true(ald_profile_peer_ok(&p, peers[i].peer));
        p.source_ip_count = 2;
        assert_int_equal(ald_cidr_parse("192.0.2.1", &p.source_ips[0]), ALD_OK);
        assert_int_equal(ald_cidr_parse(peers[i].block, &p.source_ips[1]), ALD_OK);
        if (ald_profile_peer_ok(&p, peers[i].peer) != peers[i].in)
            fail_msg("%s in %s", peers[i].peer, peers[i].block);
    }
    static const char *const bad[] = {
        "",         "10.0.0.0/33", "10.0.0.1/8",   "::/129", "10.0.0.0/", "10.0.0.0/-1",
        "10.0.0/8", "a",           "10.0.0.0/8/8", "::1/x"};
    struct ald_cidr block;
    for (size_t i = 0; i < ALD_COUNT(bad); i++)
        assert_int_equal(ald_cidr_parse(bad[i], &block), ALD_INVALID);
}

struct same_case {
    const char *a;
    bool a_json;
    const char *b;
    bool b_json;
    char plus;
    bool same;
};

static const struct same_case sames[] = {
    {"x", false, "x", false, 's', true},
    {"x", false, "y", false, 's', false},
    {" x\n", false, "x", false, 's', true},
    {"\"x\"", true, "x", false, 's', true},
    {"\"\\u0061b\"", true, "ab", false, 's', true},
    {"a+b", false, "a b", false, 's', false},
    {"a+b", false, "a b", false, 'a', true},
    {"\"a+b\"", true, "a b", false, 'a', true},
    {"{\"a\":1,\"b\":2}", true, "{ \"b\":2, \"a\":1 }", true, 's', true},
    {"{\"a\":1}", true, "{\"a\":1.0}", true, 's', false},
    {"{\"a\":1}", true, "{\"a\" : 1}", false, 's', true},
    {"[1,2]", true, "[2,1]", true, 's', false},
    {"12", true, "12", false, 's', true},
    {"{\"a\":1", true, "{\"a\":1", false, 's', true},
    {"", false, " ", false, 's', true},
};

static void test_digest(void **state)
{
    (void)state;
    struct ald_profile p = profile_of("");
    for (size_t i = 0; i < ALD_COUNT(sames); i++) {
        const struct same_case *c = &sames[i];
        char a[65];
        char b[65];
        p.plus = c->plus;
        ald_profile_digest(&p, "done", ald_span_str(c->a), c->a_json, a);
        ald_profile_digest(&p, "done", ald_span_str(c->b), c->b_json, b);
        assert_int_equal(strlen(a), 64);
        if ((strcmp(a, b) == 0) != c->same)
            fail_msg("%s and %s", c->a, c->b);
        ald_profile_digest(&p, "failed", ald_span_str(c->b), c->b_json, b);
        assert_string_not_equal(a, b);
    }
}

/* Rule 9: members that differ each time, such as a signed address, do not make a conflict. */
static void test_volatile(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"{\"url\":\"x?sig=1\",\"text\":\"A\"}", "{\"text\":\"A\",\"url\":\"x?sig=2\"}", true},
        {"{\"url\":\"x?sig=1\",\"text\":\"A\"}", "{\"text\":\"B\",\"url\":\"x?sig=1\"}", false},
        {"{\"url\":\"x\",\"text\":\"A\"}", "{\"text\":\"A\"}", true},
        {"{\"files\":[{\"at\":1,\"n\":2}]}", "{\"files\":[{\"at\":2,\"n\":2}]}", true},
        {"{\"files\":[{\"at\":1},{\"at\":1}]}", "{\"files\":[{\"at\":1},{\"at\":2}]}", false},
        {"{\"in\":{\"url\":\"x\"}}", "{\"in\":{\"url\":\"y\"}}", false},
        {"{\"url\":[1,2],\"a\":1}", "{\"url\":{},\"a\":1}", true},
    };
    struct ald_profile p = profile_of("volatile: [/url, /files/0/at]");
    assert_int_equal(p.volatile_count, 2);
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        char a[65];
        char b[65];
        ald_profile_digest(&p, "done", ald_span_str(cases[i].a), true, a);
        ald_profile_digest(&p, "done", ald_span_str(cases[i].b), true, b);
        if ((strcmp(a, b) == 0) != cases[i].same)
            fail_msg("%s and %s", cases[i].a, cases[i].b);
    }
}

static void test_words(void **state)
{
    (void)state;
    enum ald_then then = ALD_THEN_DONE;
    enum ald_class cls = ALD_CLASS_NONE;
    enum ald_scope scope = ALD_SCOPE_TASK;
    for (int i = ALD_THEN_UNKNOWN; i <= ALD_THEN_CODE; i++) {
        assert_true(ald_then_find(ald_then_name((enum ald_then)i), &then));
        assert_int_equal(then, i);
    }
    for (int i = ALD_CLASS_NONE; i <= ALD_CLASS_UNKNOWN; i++) {
        assert_true(ald_class_find(ald_class_name((enum ald_class)i), &cls));
        assert_int_equal(cls, i);
    }
    for (int i = ALD_SCOPE_TASK; i <= ALD_SCOPE_PROXY; i++) {
        assert_true(ald_scope_find(ald_scope_name((enum ald_scope)i), &scope));
        assert_int_equal(scope, i);
    }
    assert_false(ald_then_find("gone", &then));
    assert_int_equal(then, ALD_THEN_CODE);
}

/* Read anew: what is gone stays good, through any number of readings, until it comes back. */
static void test_kept(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "a: {family: inphp, poll: none}\nb: {family: inphp, poll: none, callback: {plus: auto}}\n",
        "a: {family: inphp, poll: none, callback: {plus: literal}}\n",
        "c: {family: inphp, poll: none}\n",
        "b: {family: inphp, poll: none}\n",
    };
    ald_profiles_t *set = NULL;
    struct ald_errors errors[ALD_COUNT(texts)];
    for (size_t i = 0; i < ALD_COUNT(texts); i++) {
        ald_profiles_t *fresh = profiles_of(texts[i], 0, &errors[i]);
        ald_profiles_t *reader = ald_profiles_share(set);
        if (set)
            ald_profiles_keep(fresh, set);
        ald_profiles_destroy(&set);
        if (reader) /* it has the old set for as long as it likes */
            assert_non_null(ald_profiles_find(reader, "a"));
        ald_profiles_destroy(&reader);
        set = fresh;
        ald_errors_free(&errors[i]);
    }
    assert_int_equal(ald_profiles_count(set), 3);
    const struct ald_profile *a = ald_profiles_find(set, "a");
    assert_int_equal(a->plus, 'l');
    assert_true(ald_profiles_gone(set, a));
    assert_true(ald_profiles_gone(set, ald_profiles_find(set, "c")));
    const struct ald_profile *b = ald_profiles_find(set, "b");
    assert_int_equal(b->plus, 's');
    assert_false(ald_profiles_gone(set, b));
    assert_ptr_equal(ald_profiles_at(set, 0), b);
    assert_null(ald_profiles_at(set, 3));
    ald_profiles_destroy(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_load),
        cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_peers),
        cmocka_unit_test(test_poll_request),
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_fit_says_where),
        cmocka_unit_test(test_print_reads_back),
        cmocka_unit_test(test_digest),
        cmocka_unit_test(test_volatile),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
