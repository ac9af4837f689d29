# What surrounds the target xgemm: its file name and exports, the install rules, the CMake and pkg-config packages, and
# CPack's .tar.gz and .deb. Everything installed can be moved to another prefix as a whole.
include(CMakePackageConfigHelpers)

# --- The shared library -----------------------------------------------------------------------------------------------
# libxgemm.so -> libxgemm.so.0 -> libxgemm.so.0.1.0. The ABI may only grow; should it ever break, SOVERSION goes up.
set(xgemm_map "${PROJECT_SOURCE_DIR}/src/xgemm.map")
set_target_properties(xgemm PROPERTIES OUTPUT_NAME xgemm EXPORT_NAME xgemm VERSION ${PROJECT_VERSION} SOVERSION 0)
set_property(TARGET xgemm APPEND PROPERTY LINK_OPTIONS "LINKER:--version-script=${xgemm_map}" "LINKER:-z,defs")
set_property(TARGET xgemm APPEND PROPERTY LINK_DEPENDS "${xgemm_map}")

# The entry points always carry debug information: the test exports.abi reads their types from a library made of these objects alone,
# since libxgemm.so of a release build has none.
get_target_property(xgemm_sources xgemm_objects SOURCES)
list(FILTER xgemm_sources INCLUDE REGEX "^api/")
list(TRANSFORM xgemm_sources PREPEND "${PROJECT_SOURCE_DIR}/src/")
set_property(SOURCE ${xgemm_sources} TARGET_DIRECTORY xgemm_objects APPEND PROPERTY COMPILE_OPTIONS -g)

# xgemm-run finds the library from its own place. Tests run it in the build folder.
file(RELATIVE_PATH XGEMM_RUN_LIBRARY "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}/libxgemm.so.0")
configure_file("${PROJECT_SOURCE_DIR}/tools/xgemm-run.in" "${PROJECT_BINARY_DIR}/xgemm-run" @ONLY
  FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# What a project that xgemm is a part of does not install, it does not build either, unless it asks for it.
if(NOT XGEMM_INSTALL)
  if(NOT PROJECT_IS_TOP_LEVEL)
    set_target_properties(xgemm_core xgemm_cublas PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  return()
endif()

# --- Install ----------------------------------------------------------------------------------------------------------
set(xgemm_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/xgemm")

install(TARGETS xgemm EXPORT xgemm-targets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT devel)
# Beside libxgemm, which it opens: for LD_PRELOAD, and for linking without a package of its own.
install(TARGETS xgemm_cublas
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT devel)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT devel
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/xgemmConfig.cmake.in" "${PROJECT_BINARY_DIR}/xgemmConfig.cmake"
  INSTALL_DESTINATION "${xgemm_cmake_dir}" NO_SET_AND_CHECK_MACRO)
# 0.x: a newer minor version may drop something from the C++ header, so only the same one is taken for compatible.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/xgemmConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(EXPORT xgemm-targets FILE xgemmTargets.cmake NAMESPACE xgemm:: DESTINATION "${xgemm_cmake_dir}" COMPONENT devel)
install(FILES "${PROJECT_BINARY_DIR}/xgemmConfig.cmake" "${PROJECT_BINARY_DIR}/xgemmConfigVersion.cmake"
  DESTINATION "${xgemm_cmake_dir}" COMPONENT devel)

# pkg-config finds the prefix from the place of the .pc file: as many steps up as LIBDIR has, and two for pkgconfig/ itself.
set(xgemm_pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(XGEMM_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH up "/${xgemm_pc_dir}" "/")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(XGEMM_PC_PREFIX "\${pcfiledir}/${up}")
  unset(up)
endif()
foreach(kind IN ITEMS LIB INCLUDE)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${kind}DIR}")
    set(XGEMM_PC_${kind}DIR "${CMAKE_INSTALL_${kind}DIR}")
  else()
    set(XGEMM_PC_${kind}DIR "\${prefix}/${CMAKE_INSTALL_${kind}DIR}")
  endif()
endforeach()
configure_file("${PROJECT_SOURCE_DIR}/pkgconfig/xgemm.pc.in" "${PROJECT_BINARY_DIR}/xgemm.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/xgemm.pc" DESTINATION "${xgemm_pc_dir}" COMPONENT devel)

install(PROGRAMS "${PROJECT_BINARY_DIR}/xgemm-run" DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT runtime)

foreach(file IN ITEMS LICENSE README.md CHANGELOG.md CONTRIBUTING.md)
  install(FILES "${PROJECT_SOURCE_DIR}/${file}" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT runtime OPTIONAL)
endforeach()
# Without the measured tables, which are larger than the library's code.
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT runtime OPTIONAL
  PATTERN results EXCLUDE)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT devel)

# --- Packages: `cpack` in the build folder ----------------------------------------------------------------------------
if(PROJECT_IS_TOP_LEVEL)
  set(CPACK_GENERATOR TGZ DEB)
  set(CPACK_PACKAGE_NAME xgemm)
  set(CPACK_PACKAGE_VENDOR "The libxgemm authors")
  set(CPACK_PACKAGE_CONTACT "The libxgemm authors <authors@libxgemm.invalid>")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
  set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
  set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
  set(CPACK_PACKAGE_FILE_NAME "xgemm-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}")
  set(CPACK_STRIP_FILES ON)

  # Library and headers come as one package each way.
  set(CPACK_DEB_COMPONENT_INSTALL OFF)
  set(CPACK_DEBIAN_PACKAGE_NAME libxgemm)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION math)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON) # the C and C++ runtime, at the versions linked against
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libopenblas0 | libblis4 | libblas3, python3") # xgemm-run
  set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
  file(WRITE "${PROJECT_BINARY_DIR}/deb/triggers" "activate-noawait ldconfig\n")
  set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/deb/triggers")
  include(CPack)
endif()
