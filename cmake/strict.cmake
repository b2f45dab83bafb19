# ald_strict: every flag that aldaba's own code is built with, on a target and never on a directory.
# ald_library(NAME SOURCES...) and ald_program(NAME SOURCES...) are the only ways to make a target.
add_library(ald_strict INTERFACE)
target_compile_definitions(ald_strict INTERFACE _GNU_SOURCE)
target_include_directories(ald_strict INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(ald_strict INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wcast-qual -Wcast-align -Wundef
    -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wpointer-arith -Wwrite-strings
    -Wformat=2 -Wvla -Wswitch-enum -Wnull-dereference -fno-common -fno-omit-frame-pointer)

option(ALDABA_WERROR "warnings are errors" ON)
if(ALDABA_WERROR)
    target_compile_options(ald_strict INTERFACE -Werror)
endif()

# Assertions stay on in every build: CMake's Release types would add -DNDEBUG.
set(CMAKE_C_FLAGS_RELEASE "-O2 -g")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g")

set(ALDABA_SANITIZE "" CACHE STRING "sanitizers to build with, such as address,undefined")
if(ALDABA_SANITIZE)
    target_compile_options(ald_strict INTERFACE -fsanitize=${ALDABA_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(ald_strict INTERFACE -fsanitize=${ALDABA_SANITIZE})
else()
    target_compile_options(ald_strict INTERFACE
        -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection -fcf-protection
        $<IF:$<BOOL:$<TARGET_PROPERTY:POSITION_INDEPENDENT_CODE>>,-fPIC,-fPIE>)
    target_link_options(ald_strict INTERFACE
        $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie> -Wl,-z,relro,-z,now)
endif()

option(ALDABA_COVERAGE "count lines run" OFF)
if(ALDABA_COVERAGE)
    target_compile_options(ald_strict INTERFACE --coverage)
    target_link_options(ald_strict INTERFACE --coverage)
endif()

# What a program calls itself also says that it was built for tests alone.
set(ald_version ${PROJECT_VERSION})

# Places that tests make fail, by name (common/base/failpoint.h).
option(ALDABA_FAILPOINTS "build what ALDABA_FAILPOINT speaks to" OFF)
if(ALDABA_FAILPOINTS)
    target_compile_definitions(ald_strict INTERFACE ALDABA_FAILPOINTS)
    string(APPEND ald_version "+failpoints")
endif()

# A build that is broken on purpose: ald_bug(NAME FILE) beside a target's sources says where a bug of
# common/base/bug.h is, and ALDABA_BUG which one is made. Only tests/fault/mutants.py sets it.
set(ALDABA_BUG "" CACHE STRING "sync_normal, ack_before_commit, no_dedup or no_dirsync")
if(NOT ALDABA_BUG MATCHES "^(|none|sync_normal|ack_before_commit|no_dedup|no_dirsync)$")
    message(FATAL_ERROR "ALDABA_BUG: there is no ${ALDABA_BUG}")
endif()
if(ALDABA_BUG)
    string(APPEND ald_version "+broken")
endif()
target_compile_definitions(ald_strict INTERFACE ALDABA_VERSION="${ald_version}")
function(ald_bug name file)
    if(ALDABA_BUG STREQUAL name)
        set_property(SOURCE ${file} APPEND PROPERTY COMPILE_DEFINITIONS ALD_BUG_${name}=1)
    endif()
endfunction()

# Every object tells which of its branches an input took; the programs are in tests/fuzz.
option(ALDABA_FUZZ "build the fuzzers, with clang" OFF)
if(ALDABA_FUZZ)
    target_compile_options(ald_strict INTERFACE -fsanitize=fuzzer-no-link)
endif()

function(ald_library name)
    add_library(${name} STATIC ${ARGN})
    target_link_libraries(${name} PRIVATE ald_strict)
endfunction()

function(ald_program name)
    add_executable(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE ald_strict)
endfunction()
