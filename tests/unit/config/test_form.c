/* One field of a form: decoded once, from the raw bytes. */
#include "common/config/form.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct form_case {
    const char *name;
    const char *form;
    enum ald_plus plus;
    enum ald_rc rc;
    const char *want;
};

static const struct form_case cases[] = {
    {"plain", "id=1&code=abc", ALD_PLUS_SPACE, ALD_OK, "abc"},
    {"absent", "id=1", ALD_PLUS_SPACE, ALD_NOTFOUND, NULL},
    {"no form", "", ALD_PLUS_SPACE, ALD_NOTFOUND, NULL},
    {"empty", "code=&id=1", ALD_PLUS_SPACE, ALD_OK, ""},
    {"without equals sign", "id=1&code", ALD_PLUS_SPACE, ALD_OK, ""},
    {"first of several", "code=a&code=b", ALD_PLUS_SPACE, ALD_OK, "a"},
    {"equals signs in the value", "code=a=b==", ALD_PLUS_SPACE, ALD_OK, "a=b=="},
    {"name that begins alike", "codex=1&code=2", ALD_PLUS_SPACE, ALD_OK, "2"},
    {"name that ends alike", "xcode=1&code=2", ALD_PLUS_SPACE, ALD_OK, "2"},
    {"encoded name", "c%6fde=1", ALD_PLUS_SPACE, ALD_OK, "1"},
    {"bad escape in another name", "%zz=1&code=2", ALD_PLUS_SPACE, ALD_OK, "2"},
    {"empty pairs", "&&code=2&&", ALD_PLUS_SPACE, ALD_OK, "2"},
    {"semicolon is no separator", "code=a;id=2", ALD_PLUS_SPACE, ALD_OK, "a;id=2"},
    {"case 38: plus as space", "id=1&code=ab+cd/ef==", ALD_PLUS_SPACE, ALD_OK, "ab cd/ef=="},
    {"case 38: plus as plus", "id=1&code=ab+cd/ef==", ALD_PLUS_LITERAL, ALD_OK, "ab+cd/ef=="},
    {"case 38: auto", "id=1&code=ab+cd/ef==", ALD_PLUS_AUTO, ALD_OK, "ab+cd/ef=="},
    {"case 39: auto", "code=Hbs+QbOotpyFj", ALD_PLUS_AUTO, ALD_OK, "Hbs+QbOotpyFj"},
    {"case 41: auto", "code=abc21fa9+2cbef==", ALD_PLUS_AUTO, ALD_OK, "abc21fa9+2cbef=="},
    {"case 41: %20 is a space", "code=a+b%20c", ALD_PLUS_AUTO, ALD_OK, "a+b c"},
    {"case 41: %20 beside a literal plus", "code=a+b%20c", ALD_PLUS_LITERAL, ALD_OK, "a+b c"},
    {"case 41: %2B is a plus in each mode", "code=a%2Bb+c", ALD_PLUS_SPACE, ALD_OK, "a+b c"},
    {"auto with words", "code=two+words,+said", ALD_PLUS_AUTO, ALD_OK, "two words, said"},
    {"auto with encoded base64", "code=a%2Bb+c%3D%3d%2f", ALD_PLUS_AUTO, ALD_OK, "a+b+c==/"},
    {"auto with an encoded bang", "code=a%21+b", ALD_PLUS_AUTO, ALD_OK, "a! b"},
    {"case 42: decoded once", "code=a%252Bb", ALD_PLUS_SPACE, ALD_OK, "a%2Bb"},
    {"case 44: bytes stay", "code=Kj%E6r", ALD_PLUS_SPACE, ALD_OK, "Kj\xe6r"},
    {"case 45: bytes stay", "code=%C4%E3", ALD_PLUS_SPACE, ALD_OK, "\xc4\xe3"},
    {"bad escape", "code=a%zz", ALD_PLUS_SPACE, ALD_MALFORMED, NULL},
    {"cut escape", "code=a%4", ALD_PLUS_SPACE, ALD_MALFORMED, NULL},
    {"cut escape at the end", "code=a%", ALD_PLUS_AUTO, ALD_MALFORMED, NULL},
    {"NUL", "code=a%00b", ALD_PLUS_SPACE, ALD_MALFORMED, NULL},
};

static enum ald_rc form_value(const char *form, enum ald_plus plus, struct ald_buf *out)
{
    struct ald_span raw;
    enum ald_rc rc = ald_form_find(ald_span_str(form), "code", &raw);
    return rc == ALD_OK ? ald_form_decode(raw, plus, out) : rc;
}

static void test_example(void **state)
{
    (void)state;
    struct ald_buf out;
    ald_buf_init(&out, 100);
    assert_int_equal(form_value("id=5&code=A%20B", ALD_PLUS_SPACE, &out), ALD_OK);
    assert_string_equal(ald_buf_str(&out), "A B");
    ald_buf_free(&out);
}

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        const struct form_case *c = &cases[i];
        struct ald_buf out;
        ald_buf_init(&out, 200);
        enum ald_rc rc = form_value(c->form, c->plus, &out);
        if (rc != c->rc || (c->want != NULL && strcmp(ald_buf_str(&out), c->want) != 0))
            fail_msg("%s: %s, \"%s\"", c->name, ald_rc_name(rc), ald_buf_str(&out));
        ald_buf_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
