// What is generated from the declarations of commands and flags: shell completion and the man page.
#pragma once

#include <string>

namespace ranklab {

/// The man page of the program, section 1, in the language of man(7).
std::string man_page();

/// Completion for bash: commands, flags, the words that a flag allows, presets, files.
std::string bash_completion();

}  // namespace ranklab
