# What the screen of gpuwatch top needs: target gw_curses, and GW_HAVE_CURSES. Without ncurses' wide library only
# `gpuwatch top --once` works. Only the command links it: the archives where there are any, so that one command serves
# every distribution.
find_path(GW_CURSES_INCLUDE NAMES ncursesw/curses.h)
find_library(GW_NCURSESW NAMES libncursesw.a ncursesw)
find_library(GW_TINFO NAMES libtinfo.a tinfo)
add_library(gw_curses INTERFACE)
set(GW_HAVE_CURSES OFF)
if(GW_CURSES_INCLUDE AND GW_NCURSESW)
  set(GW_HAVE_CURSES ON)
  target_link_libraries(gw_curses INTERFACE ${GW_NCURSESW})
  if(GW_TINFO)
    target_link_libraries(gw_curses INTERFACE ${GW_TINFO})
  endif()
else()
  message(STATUS "ncurses was not found: of gpuwatch top only --once will work (Debian: libncurses-dev)")
endif()
