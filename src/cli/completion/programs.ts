import { helpColumns } from '../../platform/terminal/help-columns.ts';
import { didYouMean, usageError } from '../../platform/terminal/usage-error.ts';

/** The commands of `slipway`, and what each is for. */
export const PROGRAMS: ReadonlyArray<readonly [string, string]> = [
  ['completion', 'prints a script that completes words in bash, zsh or fish'],
  ['ctl', 'operates a running service: status, releases, tasks, logs, actions'],
  ['dev', 'starts the daemon and the server on a demo release'],
  ['export', 'writes a release into one file for an air gap or a registry, or as plain files for a bucket'],
  ['import', 'checks a bundle of export, and hands it to the daemon that takes its releases from bundles'],
  ['keygen', 'creates a signing key'],
  ['manifest', 'lists the files of a folder, so that it can be an upstream on any web server or bucket'],
  ['parse', 'shows the text units of a file or a release folder offline'],
  ['restore', 'puts databases of a backup into the data folder of a daemon that does not run'],
  ['translations', 'evaluate: measures providers and prompts on texts with reviewed translations'],
  ['verify', 'checks a snapshot volume offline, or a running Slipway or a static mirror from outside'],
];

/** The text of `slipway --help`. */
export function renderSlipwayUsage(): string {
  return `Usage: slipway COMMAND [OPTIONS]

${helpColumns(PROGRAMS)}
Run slipway COMMAND --help for details, and slipway --version for the version.
`;
}

/**
 * The text for a command line whose command is missing or unknown.
 *
 * @param written the command; empty when it is missing
 */
export async function renderProgramProblem(written: string): Promise<string> {
  if (written === '') return `slipway: a command is missing\n\n${renderSlipwayUsage()}`;
  const names = PROGRAMS.map(([name]) => name);
  const { CTL_COMMANDS } = await import('../ctl/ctl-commands.ts');
  // A user who leaves out `ctl` means one of its commands.
  const ofCtl = CTL_COMMANDS.map(({ name }) => `ctl ${name}`);
  const hint = didYouMean(written, names) || didYouMean(`ctl ${written}`, ofCtl);
  return usageError('slipway', `there is no command "${written}"${hint}`);
}
