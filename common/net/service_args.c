#include "common/net/service_args.h"

#include <argp.h>

#include "common/base/text.h"

enum { OPT_CHECK = 256, OPT_PRINT, OPT_SET, OPT_MODE, OPT_PATIENCE, OPT_VERIFY };

static error_t service_option(int key, char *value, struct argp_state *state)
{
    struct service_arguments *arguments = state->input;
    switch (key) {
    case 'c':
        arguments->config = value;
        return 0;
    case OPT_CHECK:
        arguments->check = true;
        return 0;
    case OPT_PRINT:
        arguments->print = true;
        return 0;
    case OPT_SET:
        if (arguments->flag_count == SERVICE_FLAGS_MAX)
            argp_error(state, "more than %d --set options", SERVICE_FLAGS_MAX);
        arguments->flags[arguments->flag_count++] = value;
        return 0;
    case OPT_MODE:
        arguments->folder = value;
        return 0;
    case OPT_VERIFY:
        arguments->verify = value;
        return 0;
    case OPT_PATIENCE:
        if (ald_text_duration_ms(ald_span_str(value), &arguments->patience_ms) != ALD_OK)
            argp_error(state, "--patience takes a time such as 90s or 5m, not '%s'", value);
        return 0;
    case ARGP_KEY_END:
        if (arguments->patience_ms >= 0 && !arguments->folder)
            argp_error(state, "--patience goes with --%s", arguments->mode->option);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument: %s", value);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void service_version(FILE *stream, struct argp_state *state)
{
    (void)fprintf(stream, "%s %s\n", state->name, ALDABA_VERSION);
}

void service_arguments(int argc, char **argv, const struct ald_service_ops *ops,
                       struct service_arguments *out)
{
    struct argp_option options[] = {
        {"config", 'c', "FILE", 0, "Read the settings from FILE", 0},
        {"set", OPT_SET, "KEY=VALUE", 0, "Set one setting, over file and environment", 0},
        {"check-config", OPT_CHECK, NULL, 0, "Print all errors in the settings; exit 0 or 78", 0},
        {"print-config", OPT_PRINT, NULL, 0, "Print the settings in force, secrets masked", 0},
        {0},
        {0},
        {0},
        {0},
    };
    struct argp_option *more = &options[ALD_COUNT(options) - 4];
    out->mode = ops->mode;
    out->patience_ms = -1;
    if (ops->verify)
        *more++ = (struct argp_option){
            "verify",
            OPT_VERIFY,
            "DIR",
            0,
            "Only look at the stores in DIR, and print what is found; exit 0, or 1 if something is "
            "wrong",
            0};
    if (ops->mode) {
        more[0] = (struct argp_option){ops->mode->option, OPT_MODE, "DIR", 0, ops->mode->help, 0};
        more[1] = (struct argp_option){
            "patience", OPT_PATIENCE, "TIME", 0, "Give up after so long without getting on", 0};
    }
    struct argp argp = {.options = options, .parser = service_option, .doc = ops->help};
    argp_program_version_hook = service_version;
    argp_err_exit_status = ALD_EXIT_USAGE;
    (void)argp_parse(&argp, argc, argv, 0, NULL, out);
}
