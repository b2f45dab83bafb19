#include "services/ctl/commands.h"
#include "services/ctl/help.h"

/* --help of a command is what `help COMMAND` says; of a group, the group. */
static int main_help(struct ctl *ctl, const struct args *args)
{
    if (args->command == NULL)
        return help_show(ctl, args);
    help_one(args->command, &ctl->out);
    return CTL_OK;
}

static int main_run(struct ctl *ctl, const struct args *args)
{
    if (args_has(args, ARG_VERSION)) {
        ald_buf_put_str(&ctl->out, "aldaba " ALDABA_VERSION "\n");
        return CTL_OK;
    }
    if (args_has(args, ARG_HELP))
        return main_help(ctl, args);
    return args->command->run(ctl, args);
}

int main(int argc, char **argv)
{
    struct args args;
    struct ald_err err;
    struct ctl ctl;
    static char name[] = "aldaba";
    if (argc > 0)
        argv[0] = name; /* messages name the command, not where it lies */
    if (args_parse(argc, argv, COMMANDS, COMMANDS_COUNT, &args, &err) != ALD_OK) {
        if (err.text[0] != '\0')
            ctl_say("%s", CTL_SAFE(err.text));
        return CTL_USAGE;
    }
    ctl_begin(&ctl, &args);
    return ctl_end(&ctl, main_run(&ctl, &args));
}
