import { CTL_COMMANDS } from '../../src/cli/ctl/ctl-commands.ts';
import { CTL_EXIT_TEXTS, CTL_EXITS } from '../../src/cli/ctl/ctl-exits.ts';
import { COMMON_OPTION_TEXTS } from '../../src/cli/ctl/ctl-options.ts';
import { table } from './markdown.ts';

/** docs/reference/ctl.md */
export function renderCtlPage(): string {
  const options = (rows: ReadonlyArray<readonly [string, string]>): string =>
    table(
      ['Option', 'Meaning'],
      rows.map(([option, text]) => [`\`${option}\``, text]),
    );
  const commands = CTL_COMMANDS.map(({ name, synopsis, summary, optionTexts }) => {
    const sentence = `${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`;
    const text = `## \`${`${name} ${synopsis}`.trimEnd()}\`\n\n${sentence}`;
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
[operating](../guides/operating.md).

${options(COMMON_OPTION_TEXTS)}

Do not put the token on the command line, where every user of the machine can read it. \`-o json\` prints exactly the bytes
that the service sent: no number loses a digit, no field is omitted. \`status -o json\` prints
\`{"readiness":...,"release_status":...}\` with the bytes of both; a part is \`null\` if the daemon gave no report.

Every action is sent with an \`Idempotency-Key\`. If its outcome is unknown (exit code 3 or 5), the message names the key.
Retry with \`--idempotency-key\`; the action then runs only once.

${commands.join('\n\n')}

## Exit codes

${table(['Code', 'Meaning'], exits)}
`;
}
