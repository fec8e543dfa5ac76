import { CTL_COMMANDS } from '../../src/cli/ctl/ctl-commands.ts';
import { CTL_EXIT_TEXTS, CTL_EXITS } from '../../src/cli/ctl/ctl-exits.ts';
import { COMMON_OPTION_TEXTS } from '../../src/cli/ctl/ctl-options.ts';
import { sentenceOf } from '../../src/platform/terminal/help-columns.ts';
import { table } from './markdown.ts';

/** docs/reference/ctl.md */
export function renderCtlPage(): string {
  const options = (rows: ReadonlyArray<readonly [string, string]>): string =>
    table(
      ['Option', 'Meaning'],
      rows.map(([option, text]) => [`\`${option}\``, text]),
    );
  const commands = CTL_COMMANDS.map(({ name, synopsis = '', summary, optionTexts = [] }) => {
    const text = `## \`${`${name} ${synopsis}`.trimEnd()}\`\n\n${sentenceOf(summary)}`;
    return optionTexts.length === 0 ? text : `${text}\n\n${options(optionTexts)}`;
  });
  const exits = (Object.keys(CTL_EXITS) as Array<keyof typeof CTL_EXITS>).map((name) => [
    String(CTL_EXITS[name]),
    CTL_EXIT_TEXTS[name],
  ]);
  return `# \`slipway ctl\`

Generated from the commands by \`make docs\`; do not edit.

Operates a running service through its admin surface: \`slipway ctl [OPTIONS] COMMAND\`. If \`kubectl-slipway\` is in
\`PATH\`, \`kubectl slipway COMMAND\` does the same in a cluster and forwards the port itself. The guide is
[operate](../how-to/operate.md).

${options(COMMON_OPTION_TEXTS)}

Do not put the token on the command line, where every user of the machine can read it.

## Completion of words

\`source <(slipway completion bash)\` in \`~/.bashrc\`, or \`zsh\` in \`~/.zshrc\` after \`compinit\`; in fish
\`slipway completion fish > ~/.config/fish/completions/slipway.fish\`. Tab then completes commands, options and their values, actions
and their fields, and names that the service has: tasks, schedules and releases. They are read with the options of the line, at most
for three seconds, or \`SLIPWAY_CTL_COMPLETION_SECONDS\`. \`kubectl slipway\` completes words when \`bin/kubectl_complete-slipway\` is in \`PATH\`, too.

## Output

The text of a task leaves groups of zeros out of a long result.
\`-o json\` prints exactly the bytes that the service sent: no number loses a digit, no field is omitted. \`-o yaml\` prints the
same values. \`status -o json\` prints \`{"readiness":...,"health":...,"release_status":...}\` with the bytes of \`/readyz\`,
\`/healthz\` and the report; \`release_status\` is \`null\` if the daemon gave no report. \`-o wide\` adds columns to tables; a command without further columns prints what it always prints.
\`-o name\` prints names alone, for other commands:
\`slipway ctl tasks --status queued -o name | xargs -n1 slipway ctl task cancel --yes\`. These commands have names:
${CTL_COMMANDS.filter(({ hasNames }) => hasNames === true)
  .map(({ name }) => `\`${name}\``)
  .join(', ')}.

\`--watch\` looks every two seconds (\`--interval\`). A terminal shows the latest answer; elsewhere each answer that differs is
added, with \`-o json\` as one document after the other.

States have colours on a terminal, unless \`NO_COLOR\` is set or \`TERM\` is \`dumb\`; \`--color always\` and \`--color never\` decide
without a look at them.

## Actions

\`actions\` lists the actions, and \`run ACTION --help\` shows the fields of one. A destructive action shows what it would
change and asks. Without a terminal it needs \`--yes\`; without it nothing is sent and the exit code is 2.

With \`--dry-run\` nothing is changed. The actions whose \`args\` take \`dry_run=true\` are tried by the daemon, and the result is
shown. For the others the body is checked, what would be removed or stopped is shown, and nothing is sent.

Every action is sent with an \`Idempotency-Key\`. If its outcome is unknown (exit code 3 or 5), the message names the key.
Retry with \`--idempotency-key\`; the action then runs only once.

${commands.join('\n\n')}

## Exit codes

${table(['Code', 'Meaning'], exits)}
`;
}
