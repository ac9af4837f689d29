# What surrounds the target xgemm: its file name and exports, the install rules, the CMake and pkg-config packages, and
# CPack's .tar.gz and .deb.
include(CMakePackageConfigHelpers)

# --- The shared library -----------------------------------------------------------------------------------------------
# While the major version is 0 the ABI may only grow; the day that it breaks, SOVERSION goes up.
set(xgemm_map "${PROJECT_SOURCE_DIR}/src/xgemm.map")
set_target_properties(xgemm PROPERTIES
  OUTPUT_NAME xgemm
  EXPORT_NAME xgemm
  VERSION ${PROJECT_VERSION}
  SOVERSION 0)
set_property(TARGET xgemm APPEND PROPERTY LINK_OPTIONS "LINKER:--version-script=${xgemm_map}" "LINKER:-z,defs")
set_property(TARGET xgemm APPEND PROPERTY LINK_DEPENDS "${xgemm_map}")
