# How every file of the project is compiled. The numerics contract lives here: no fused multiply-add that is not
# written, no fast-math, so a float expression means the same on every machine.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(THREADS_PREFER_PTHREAD_FLAG ON)

add_compile_options(-ffp-contract=off -fno-math-errno -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor)
if(PLM_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fcoroutines)
endif()
# Designated initialisers leave members at their defaults on purpose.
add_compile_options(-Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports these inside its own standard library at -O2 (false alarms on std::variant and std::string).
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow)
endif()
if(PLM_SANITIZE)
  add_compile_options(-fsanitize=${PLM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${PLM_SANITIZE})
endif()

# Faster rebuilds and links where the tools are there; never needed.
find_program(PLM_CCACHE ccache)
if(PLM_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PLM_CCACHE})
endif()
find_program(PLM_MOLD mold)
if(PLM_MOLD AND NOT PLM_SANITIZE)
  add_link_options(-fuse-ld=mold)
endif()
