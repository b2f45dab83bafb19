# Third-party libraries as imported targets, so that their headers count as system headers.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# ald_package(NAME SPEC): PkgConfig::NAME. CMake 3.25 takes `-isystem DIR` of a .pc file for a folder
# when it asks pkg-config, and for options when it reads its own cache: the second run of cmake would
# change every command, and compile everything again. Here it is a folder always.
function(ald_package name spec)
    pkg_check_modules(${name} REQUIRED IMPORTED_TARGET ${spec})
    get_target_property(options PkgConfig::${name} INTERFACE_COMPILE_OPTIONS)
    set(kept "")
    set(folder_next OFF)
    foreach(option IN LISTS options)
        if(folder_next)
            target_include_directories(PkgConfig::${name} INTERFACE ${option})
            set(folder_next OFF)
        elseif(option STREQUAL "-isystem")
            set(folder_next ON)
        elseif(option)
            list(APPEND kept ${option})
        endif()
    endforeach()
    set_target_properties(PkgConfig::${name} PROPERTIES INTERFACE_COMPILE_OPTIONS "${kept}")
endfunction()

ald_package(CZMQ libczmq>=4.2)
ald_package(ZMQ libzmq>=4.3)
ald_package(MSGPACK msgpack>=4)
ald_package(JANSSON jansson)
ald_package(YAML yaml-0.1)
ald_package(SYSTEMD libsystemd)
ald_package(GCRYPT libgcrypt>=1.8)
ald_package(SODIUM libsodium)
find_package(CURL REQUIRED)
find_package(SQLite3 REQUIRED)

# Debian's civetweb has no .pc file, and its CMake export demands a program of another package.
find_path(CIVETWEB_INCLUDE_DIR civetweb.h REQUIRED)
find_library(CIVETWEB_LIBRARY civetweb REQUIRED)
add_library(civetweb UNKNOWN IMPORTED)
set_target_properties(civetweb PROPERTIES
    IMPORTED_LOCATION ${CIVETWEB_LIBRARY}
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${CIVETWEB_INCLUDE_DIR}
    INTERFACE_LINK_LIBRARIES Threads::Threads)
