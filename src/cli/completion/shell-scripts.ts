/** The hidden command with which a shell asks for the words at the cursor. */
export const COMPLETE_COMMAND = '__complete';

/** The shells whose words can be completed. */
export const COMPLETION_SHELLS = ['bash', 'zsh', 'fish'] as const;

/** One of {@link COMPLETION_SHELLS}. */
export type CompletionShell = (typeof COMPLETION_SHELLS)[number];

/**
 * The script that makes a shell complete the words of `slipway`. It asks the program itself, which answers with candidates
 * and a directive: 2 for no space after the word, 4 for no names of files.
 */
export function completionScript(shell: CompletionShell): string {
  return SCRIPTS[shell];
}

/** bash splits words at "=" and ":", so the script joins them first, and gives back only the part after the last one. */
const BASH = `# Completes the words of slipway in bash. For every shell: source <(slipway completion bash) in ~/.bashrc
_slipway() {
  local words=() rest=\${COMP_LINE:0:COMP_POINT} part trimmed i
  for ((i = 0; i <= COMP_CWORD; i++)); do
    part=\${COMP_WORDS[i]}
    trimmed=\${rest#"\${rest%%[![:blank:]]*}"}
    # The word under the cursor ends at the cursor.
    ((i == COMP_CWORD)) && part=$trimmed
    if ((i > 0)) && [[ $trimmed == "$rest" ]]; then
      words[\${#words[@]} - 1]+=$part
    else
      words+=("$part")
    fi
    rest=\${trimmed#"$part"}
  done
  local current=\${words[\${#words[@]} - 1]} output directive line
  output=$("\${words[0]}" __complete "\${words[@]:1}" 2>/dev/null </dev/null) || return
  directive=\${output##*:}
  local before=''
  [[ $current == *[=:]* ]] && before=\${current%"\${current##*[=:]}"}
  COMPREPLY=()
  while IFS='' read -r line; do
    [[ $line == :* || -z $line ]] && continue
    line=\${line%%$'\\t'*}
    COMPREPLY+=("\${line#"$before"}")
  done <<<"$output"
  if ((directive & 2)); then compopt -o nospace; fi
  if ((!(directive & 4))); then compopt -o default; fi
}
complete -F _slipway slipway
`;

const ZSH = `#compdef slipway
# Completes the words of slipway in zsh. For every shell: source <(slipway completion zsh) in ~/.zshrc, after compinit
_slipway() {
  local output line value directive
  local -a described options
  output=$("\${(Q)words[1]}" __complete "\${(@Q)words[2,CURRENT-1]}" "\${(Q)PREFIX}" 2>/dev/null </dev/null) || return 1
  directive=\${output##*:}
  for line in "\${(@f)output}"; do
    [[ $line == :* || -z $line ]] && continue
    value=\${\${line%%$'\\t'*}//:/\\\\:}
    [[ $line == *$'\\t'* ]] && value+=":\${line#*$'\\t'}"
    described+=("$value")
  done
  ((directive & 2)) && options=(-S '')
  if ((\${#described})); then
    _describe -t values slipway described "\${options[@]}"
  elif ((!(directive & 4))); then
    compset -P '*='
    _files
  fi
}
if [[ \${funcstack[1]} == _slipway ]]; then
  _slipway "$@"
else
  compdef _slipway slipway
fi
`;

const FISH = `# Completes the words of slipway in fish. For every shell: slipway completion fish > ~/.config/fish/completions/slipway.fish
function __slipway_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  set -l output ($words[1] __complete $words[2..-1] "$current" 2>/dev/null </dev/null)
  or return
  set -l directive (string replace ':' '' -- $output[-1])
  set -e output[-1]
  if test (count $output) -gt 0
    printf '%s\\n' $output
  else if test (math "bitand($directive, 4)") -eq 0
    __fish_complete_path (string replace -r '^--[a-z-]+=' '' -- $current)
  end
end
complete -c slipway -f -a '(__slipway_complete)'
`;

const SCRIPTS: Readonly<Record<CompletionShell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };
