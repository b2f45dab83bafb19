#!/bin/sh
# Every .c and .h file of the tree is as clang-format writes it with the .clang-format at the top.
# Usage: format.sh ROOT
set -eu
cd "$1"
test -f .clang-format || { echo "format.sh: $1 has no .clang-format" >&2; exit 2; }
if git rev-parse --show-toplevel >/dev/null 2>&1 && [ "$(git rev-parse --show-toplevel)" = "$(pwd -P)" ]; then
    list() { git ls-files -z --cached -- '*.c' '*.h'; }
else
    list() { find . \( -name '*.c' -o -name '*.h' \) -print0; }
fi
# A file that is deleted and not yet committed is listed and not there.
list | xargs -0 -r sh -c 'for name do [ -f "$name" ] && printf "%s\0" "$name"; done; :' sh |
    xargs -0 -r "${CLANG_FORMAT:-clang-format}" --dry-run -Werror
