# Completion of ranklab in bash; `make install` installs it. It asks the program for the commands,
# the presets, and the flags with their allowed values.
_ranklab() {
  local ranklab=${COMP_WORDS[0]} name=${COMP_WORDS[1]} current=${COMP_WORDS[COMP_CWORD]} words help
  local previous=${COMP_WORDS[COMP_CWORD-1]} at=$COMP_CWORD first=1 before=
  if [ "$name" = help ] && [ "$at" -gt 2 ]; then  # `help COMMAND --study` has the words of COMMAND
    name=${COMP_WORDS[2]} first=2 at=$((at - 1))
  fi
  # The words before the current one decide which flags do something: the study, the preset, the
  # task. If the program refuses them, the command alone does.
  local typed=("${COMP_WORDS[@]:first:at-1}")
  [[ $previous != -* ]] || typed=("${typed[@]:0:at-2}")
  if [ "$at" = 1 ] || [ "$name" = help ]; then
    words="help --help --version $("$ranklab" --help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p')"
    if [ "$name" = help ]; then
      words+=" $("$ranklab" 2>&1 | sed -n '/explains one of: /,$ { s/.*one of: //; s/,//g; p }')"
      words+=" $("$ranklab" list | sed -n 's/^\([a-z][^ ]*\) .*/\1/p')"
      compopt +o default  # no names of files
    fi
  elif [ "$previous" = --preset ] || [ "$name $at" = 'run 2' ] ||
       [[ $name == reproduce && $previous != -* && $current != -* ]]; then
    words=$("$ranklab" list | sed -n 's/^\([a-z][^ ]*\) .*/\1/p')
  elif [ "$name $at" = 'papers 2' ] && [[ $current != -* ]]; then
    words=$("$ranklab" papers --json | sed -n 's|^  *"id": "\([^/]*\)/.*|\1|p' | sort -u)
  elif [ "$name $at" = 'papers 3' ] && [[ $current != -* ]]; then  # the id of a statement
    words=$("$ranklab" papers "$previous" --json | sed -n 's|^   "id": "[^/]*/\(.*\)",|\1|p')
  elif help=$("$ranklab" "${typed[@]}" --help || "$ranklab" "$name" --help) && [[ $current == -* ]]; then
    words="--help $(sed -nE 's/^  (-., )?(--[^ ]+).*/\2/p' <<< "$help")"
  else  # the help of a flag ends in its allowed values, such as (f64|f32)
    words=$(awk -v flag="$previous" '/^  -/ { found = $1 == flag || $2 == flag } found' <<< "$help" |
      grep -oE '[^ (]+\|[^ ()]+\)' | grep -vxF 'on|off)' | tr '|)' '\n\n' | sort -u)
    # Elements of a list after the first.
    [[ -z $words || $current != *,* ]] || before=${current%,*},
  fi 2> /dev/null
  COMPREPLY=($(compgen -P "$before" -W "$words" -- "${current#"$before"}"))
}
complete -o default -F _ranklab ranklab  # default: file names, if no word fits
