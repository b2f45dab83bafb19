# Between installing and packing: Debian's manual pages and changelogs are compressed, and a static
# library brings no debugging symbols.
file(GLOB_RECURSE all ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*)
set(found ${all})
list(FILTER found INCLUDE REGEX "/share/(man/man[0-9]/[^/]+[.][0-9]|doc/[^/]+/changelog)$")
foreach(file IN LISTS found)
    execute_process(COMMAND gzip -9n ${file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
set(found ${all})
list(FILTER found INCLUDE REGEX "[.]a$")
foreach(file IN LISTS found)
    execute_process(COMMAND strip --strip-debug --enable-deterministic-archives ${file}
        COMMAND_ERROR_IS_FATAL ANY)
endforeach()
