/* Makes a manual page out of its template, when aldaba is built: TEMPLATE PAGE. */
#include <stdio.h>

#include "common/config/file.h"
#include "services/ctl/man.h"

enum { MAN_TEMPLATE_MAX = 1 << 20, MAN_PAGE_MAX = 4 << 20 };

static int man_write(const char *path, const struct ald_buf *page)
{
    FILE *file = fopen(path, "w");
    bool good = file != NULL && fwrite(page->data, 1, page->len, file) == page->len;
    good = file != NULL && fclose(file) == 0 && good;
    if (!good)
        (void)fprintf(stderr, "%s can't be written\n", path);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct ald_buf template;
    struct ald_buf page;
    struct ald_err err = {.text = "it can't be read"};
    if (argc != 3)
        return 64;
    ald_buf_init(&template, MAN_TEMPLATE_MAX);
    ald_buf_init(&page, MAN_PAGE_MAX);
    int code = 1;
    if (ald_file_read(argv[1], &template) == ALD_OK &&
        man_page(ald_buf_span(&template), &page, &err) == ALD_OK && ald_buf_ok(&page))
        code = man_write(argv[2], &page);
    else
        (void)fprintf(stderr, "%s: %s\n", argv[1], err.text);
    ald_buf_free(&template);
    ald_buf_free(&page);
    return code;
}
