/* MANIFEST of a backup: what is read, what is refused. */
#include "services/ctl/manifest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SUM "8509cf7f4ffacab57d8dbc2c278e813e9ab62acb1d114ef7a83738a6405f8c34"
#define ALL SUM "  tracker.db\n" SUM "  letters.db\n" SUM "  callback.key\n"

static void test_example(void **state)
{
    struct manifest self;
    struct ald_err err;
    (void)state;
    assert_int_equal(
        manifest_parse(&self,
                       ald_span_str("# aldaba backup, manifest 1\n# made 2026-11-30 by "
                                    "aldaba 0.1.0\n" ALL),
                       &err),
        ALD_OK);
    assert_string_equal(self.made, "made 2026-11-30 by aldaba 0.1.0");
    assert_int_equal(self.file[0].sum[0], 0x85);
    assert_int_equal(self.file[2].sum[31], 0x34);
}

static void test_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "no line for tracker.db"},
        {SUM "  tracker.db\n", "no line for letters.db"},
        {ALL "x\n", "line 4 of MANIFEST"},
        {ALL SUM "  tracker.db\n", "line 4 of MANIFEST"},
        {SUM "  ../tracker.db\n", "line 1 of MANIFEST"},
        {SUM "  /etc/passwd\n", "line 1 of MANIFEST"},
        {"zz" SUM "  tracker.db\n", "line 1 of MANIFEST"},
        {"0g09cf7f4ffacab57d8dbc2c278e813e9ab62acb1d114ef7a83738a6405f8c34  tracker.db\n",
         "line 1 of MANIFEST"},
    };
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct manifest self;
        struct ald_err err = {0};
        assert_int_equal(manifest_parse(&self, ald_span_str(cases[i].text), &err), ALD_INVALID);
        if (strstr(err.text, cases[i].says) == NULL)
            fail_msg("case %zu says: %s", i, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_example),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
