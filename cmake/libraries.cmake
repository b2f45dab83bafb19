# Third-party libraries as imported targets, so that their headers count as system headers.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(CZMQ REQUIRED IMPORTED_TARGET libczmq>=4.2)
pkg_check_modules(ZMQ REQUIRED IMPORTED_TARGET libzmq>=4.3)
pkg_check_modules(MSGPACK REQUIRED IMPORTED_TARGET msgpack>=4)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(SYSTEMD REQUIRED IMPORTED_TARGET libsystemd)
find_package(CURL REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(SQLite3 REQUIRED)

# Debian's civetweb has no .pc file, and its CMake export demands a program of another package.
find_path(CIVETWEB_INCLUDE_DIR civetweb.h REQUIRED)
find_library(CIVETWEB_LIBRARY civetweb REQUIRED)
add_library(civetweb UNKNOWN IMPORTED)
set_target_properties(civetweb PROPERTIES
    IMPORTED_LOCATION ${CIVETWEB_LIBRARY}
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${CIVETWEB_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES Threads::Threads)
