# Completion of ranklab in bash; `make install` installs it. It asks the program for the commands,
# the presets, and the flags with their allowed values.
_ranklab() {
  local command=("${COMP_WORDS[@]:0:2}") current=${COMP_WORDS[COMP_CWORD]} words help
  local name=${command[1]} previous=${COMP_WORDS[COMP_CWORD-1]}
  [ "$name" != run ] || command+=("${COMP_WORDS[2]}")  # a preset has the flags of its study
  if [ "$COMP_CWORD" = 1 ] || [ "$name" = help ]; then
    words="help --help --version $("${command[0]}" --help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p')"
  elif [ "$previous" = --preset ] || [ "$name $COMP_CWORD" = 'run 2' ] ||
       [[ $name == reproduce && $previous != -* && $current != -* ]]; then
    words=$("${command[0]}" list | sed -n 's/^\([a-z][^ ]*\) .*/\1/p')
  elif help=$("${command[@]}" --help) && [[ $current == -* ]]; then
    words="--help $(sed -nE 's/^  (-., )?(--[^ ]+).*/\2/p' <<< "$help")"
  else  # the help of a flag ends in its allowed values, such as (f64|f32)
    words=$(awk -v flag="$previous" '/^  -/ { found = $1 == flag || $2 == flag } found' <<< "$help" |
      grep -oE '[^ (]+\|[^ ()]+\)' | grep -vxF 'on|off)' | tr '|)' '\n\n' | sort -u)
  fi 2> /dev/null
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _ranklab ranklab  # default: file names, if no word fits
