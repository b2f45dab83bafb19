# Debian packages, made by `cpack` in a build of the preset `package`: aldaba, libaldaba0, libaldaba-dev.
# Components: what says nothing else is of aldaba; `library` is what programs load, `client` what they
# are built with.
include(GNUInstallDirs)
set(debian ${CMAKE_CURRENT_LIST_DIR}/debian)
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL aldaba library client)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/pack.cmake)
set(CPACK_PACKAGE_CONTACT "aldaba maintainers <maintainers@aldaba.invalid>")
set(CPACK_DEBIAN_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_ALDABA_PACKAGE_NAME aldaba)
set(CPACK_DEBIAN_ALDABA_PACKAGE_SECTION net)
set(CPACK_DEBIAN_ALDABA_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers | systemd-sysusers, systemd | systemd-standalone-tmpfiles | systemd-tmpfiles")
set(CPACK_DEBIAN_ALDABA_PACKAGE_RECOMMENDS "ca-certificates")
set(CPACK_DEBIAN_ALDABA_DESCRIPTION "safety net for the callbacks of asynchronous APIs
Programs submit work to somebody else's HTTP API, and the answer comes later
as a callback, which gets lost. aldaba stands between the two: a callback that
it answered 200 is on disk, what never came is asked for, what can't be
processed is kept, and each task ends in exactly one result.

This package has the services (gateway, tracker, poller, dlq), their systemd
units, and the command aldaba.")
set(CPACK_DEBIAN_ALDABA_PACKAGE_CONTROL_EXTRA
    ${debian}/postinst ${debian}/prerm ${debian}/postrm ${debian}/conffiles)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libaldaba0)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "results of asynchronous APIs from aldaba: library
libaldaba brings the results that aldaba has saved to other programs: each of
them, in order, until it was acknowledged.")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${debian}/triggers)

set(CPACK_DEBIAN_CLIENT_PACKAGE_NAME libaldaba-dev)
set(CPACK_DEBIAN_CLIENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_CLIENT_PACKAGE_DEPENDS "libaldaba0 (= ${PROJECT_VERSION}), libzmq3-dev")
set(CPACK_DEBIAN_CLIENT_DESCRIPTION "results of asynchronous APIs from aldaba: development files
Header, static library, and what pkg-config and CMake need to build programs
that read results from aldaba.")

foreach(pair aldaba:aldaba library:libaldaba0 client:libaldaba-dev)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 component)
    list(GET pair 1 package)
    set(place ${CMAKE_INSTALL_DATADIR}/doc/${package})
    install(FILES ${debian}/changelog ${debian}/copyright DESTINATION ${place} COMPONENT ${component})
endforeach()
include(CPack)
