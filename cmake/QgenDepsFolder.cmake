# QGEN_DEPS: where scripts/setup has put the dependencies.
if(DEFINED ENV{QGEN_DEPS})
  set(QGEN_DEPS "$ENV{QGEN_DEPS}")
elseif(DEFINED ENV{XDG_CACHE_HOME})
  set(QGEN_DEPS "$ENV{XDG_CACHE_HOME}/qgen-deps")
else()
  set(QGEN_DEPS "$ENV{HOME}/.cache/qgen-deps")
endif()
