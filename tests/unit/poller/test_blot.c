#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/guard.h"
#include "services/poller/blot.h"

static void blot_text(const char *in, const char *secret, char *out, size_t cap)
{
    size_t len = strlen(in) < cap - 1 ? strlen(in) : cap - 1;
    memcpy(out, in, len);
    out[len] = '\0';
    blot((uint8_t *)out, len, ald_span_of(in, strlen(in)), secret);
}

static void test_example(void **state)
{
    (void)state;
    char out[64];
    blot_text("no such key: abc%2Bdef", "abc+def", out, sizeof out);
    assert_string_equal(out, "no such key: *********");
}

static void test_spellings(void **state)
{
    (void)state;
    static const struct {
        const char *name, *secret, *in, *want;
    } cases[] = {
        {"as it is, twice", "s3cret", "s3cret s3cret.", "****** ******."},
        {"in part", "s3cret", "s3cre s3crex", "s3cre s3crex"},
        {"no secret", "", "all of it", "all of it"},
        {"percent, both cases", "a/b+c", "a%2Fb%2bc!", "*********!"},
        {"a form's space", "a b c", "a+b+c", "*****"},
        {"percent, every byte", "ab/", "%61%62%2f", "*********"},
        {"percent in percent", "a%2b", "a%252b a%2b", "****** ****"},
        {"JSON", "a/\"b\\c", "\"a\\/\\\"b\\\\c\"", "\"*********\""},
        {"JSON of what looks encoded", "a%25\"b", "a%25\\\"b", "*******"},
        {"HTML of what looks encoded", "a%25&b", "a%25&amp;b", "**********"},
        {"JSON, by number", "a<b", "a\\u003cb", "********"},
        {"backslashes as they are", "a\\\\b", "a\\\\b", "****"},
        {"HTML", "a&b<c", "a&amp;b&lt;c", "************"},
        {"HTML, by number", "a'b&", "a&#39;b&#x26;", "*************"},
        {"an entity as it is", "&amp;x", "&amp;x", "******"},
        {"hex", "key!", "6b657921 6B657921", "******** ********"},
        {"base64", "secret key", "c2VjcmV0IGtleQ==", "*************Q=="},
        {"base64 of more before it", "secret key", "eHNlY3JldCBrZXk=", "eH************k="},
        {"base64 of still more", "secret key", "eHlzZWNyZXQga2V5", "eHl*************"},
        {"base64url", "?>?>?>", "Pz4_Pj8-", "********"},
        {"base64 of another", "secret key", "c2VjcmV0IGxleQ==", "c2VjcmV0IGxleQ=="},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        char out[64];
        blot_text(cases[i].in, cases[i].secret, out, sizeof out);
        if (strcmp(out, cases[i].want) != 0)
            print_message("%s\n", cases[i].name);
        assert_string_equal(out, cases[i].want);
    }
}

/* The end of what is kept may cut through a secret. */
static void test_a_cut_hides_nothing(void **state)
{
    (void)state;
    char out[8];
    blot_text("is a%2Fb/c", "a/b/c", out, sizeof out);
    assert_string_equal(out, "is ****");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_a_cut_hides_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
