import type { ParseArgsOptionsConfig } from 'node:util';
import { CTL_EXITS, CtlFailure } from './ctl-exits.ts';
import { parseOptions } from '../../platform/terminal/parse-options.ts';
import { didYouMean } from '../../platform/terminal/usage-error.ts';

const COMMON = {
  url: { type: 'string' },
  'token-file': { type: 'string' },
  'token-secret': { type: 'string' },
  kubectl: { type: 'boolean' },
  namespace: { type: 'string', short: 'n' },
  context: { type: 'string' },
  target: { type: 'string' },
  'target-port': { type: 'string' },
  timeout: { type: 'string' },
  output: { type: 'string', short: 'o' },
  color: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const satisfies ParseArgsOptionsConfig;

const SPECIAL = {
  body: { type: 'string' },
  wait: { type: 'boolean' },
  'wait-timeout': { type: 'string' },
  'idempotency-key': { type: 'string' },
  follow: { type: 'boolean', short: 'f' },
  tail: { type: 'string' },
  task: { type: 'string' },
  channel: { type: 'string' },
  status: { type: 'string' },
  limit: { type: 'string' },
  offset: { type: 'string' },
  group: { type: 'string' },
  reason: { type: 'string' },
  full: { type: 'boolean' },
  format: { type: 'string' },
  destination: { type: 'string' },
  state: { type: 'string' },
  report: { type: 'string' },
  worker: { type: 'string' },
  run: { type: 'string' },
  author: { type: 'string' },
  since: { type: 'string' },
  'source-language': { type: 'string' },
  'target-language': { type: 'string' },
  force: { type: 'boolean' },
  partial: { type: 'boolean' },
  server: { type: 'boolean' },
  strict: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  'no-hints': { type: 'boolean' },
  'copy-source': { type: 'string' },
  reviewer: { type: 'string' },
  unit: { type: 'string' },
  in: { type: 'string' },
  same: { type: 'string' },
  speaker: { type: 'string' },
  provider: { type: 'string' },
  trusted: { type: 'boolean' },
  exchange: { type: 'boolean' },
  watch: { type: 'boolean', short: 'w' },
  interval: { type: 'string' },
  yes: { type: 'boolean', short: 'y' },
} as const satisfies ParseArgsOptionsConfig;

/** Whether an option of every command has a name. */
export function isCommonOption(name: string): boolean {
  return Object.hasOwn(COMMON, name);
}

/** Every option with its type and its letter, as `parseArgs` takes them. */
export const CTL_OPTIONS: ParseArgsOptionsConfig = { ...COMMON, ...SPECIAL };

/** Bounds of `--timeout`, and its default. */
export const TIMEOUT_SECONDS = { min: 1, max: 3600, fallback: 30 } as const;

/** The parsed command line. */
export interface CtlArguments {
  readonly words: readonly string[];
  readonly values: Readonly<Partial<Record<keyof typeof COMMON | keyof typeof SPECIAL, string | boolean>>>;
}

/** The common options in the help and in the documentation. */
export const COMMON_OPTION_TEXTS: ReadonlyArray<readonly [string, string]> = [
  ['--url URL', 'URL of the service; default SLIPWAY_CTL_URL, else http://127.0.0.1:8080'],
  [
    '--token-file FILE',
    'file that holds the admin token; default SLIPWAY_CTL_TOKEN_FILE, else the token in SLIPWAY_CTL_TOKEN',
  ],
  [
    '--kubectl',
    'forwards a port to the service through the Kubernetes API server, with the kubeconfig of kubectl',
  ],
  ['-n, --namespace NAME', 'namespace of the service; implies --kubectl'],
  ['--context NAME', 'context of the kubeconfig; implies --kubectl'],
  [
    '--target KIND/NAME',
    'service, deployment, statefulset or pod to forward to; default the admin Service of the installation in the namespace; implies --kubectl',
  ],
  ['--target-port PORT', 'port of the target, a number or a name; default http; implies --kubectl'],
  ['--token-secret NAME/KEY', 'reads the token from a Secret of the cluster'],
  ['--timeout SECONDS', 'time limit for one request; default 30'],
  [
    '-o, --output table|wide|name|json|yaml',
    'wide adds columns; name prints only names, one a line; json prints the bytes of the service unchanged; default table',
  ],
  ['--color auto|always|never', 'colours states; auto: on a terminal, unless NO_COLOR is set; default auto'],
  ['-h, --help', 'shows this help, or that of a command or an action'],
  ['--version', 'shows the version of this program'],
];

/**
 * Parses the command line.
 *
 * @throws CtlFailure
 */
export function parseCtlArguments(argv: readonly string[]): CtlArguments {
  if (argv.some((word) => word === '--token' || word.startsWith('--token='))) {
    throw new CtlFailure(
      CTL_EXITS.usage,
      'a token on the command line can be read by every user of this machine; store it in a file and use --token-file',
    );
  }
  const parsed = parseOptions({
    args: [...argv],
    allowPositionals: true,
    options: { ...COMMON, ...SPECIAL },
  });
  if (!parsed.ok) throw new CtlFailure(CTL_EXITS.usage, parsed.error);
  return { words: parsed.value.positionals, values: parsed.value.values };
}

/** The long name of an option in its help, such as `tail` of `--tail N`; `null` for what is no option. */
export function longNameOf(text: string): string | null {
  return /--([a-z-]+)/.exec(text)?.[1] ?? null;
}

/**
 * Rejects options that a command would ignore.
 *
 * @param optionTexts the options of the command in addition to the common ones
 * @throws CtlFailure
 */
export function refuseOtherOptions(
  { values }: CtlArguments,
  command: string,
  optionTexts: ReadonlyArray<readonly [string, string]>,
): void {
  const allowed = optionTexts.map(([text]) => longNameOf(text)).filter((name) => name !== null);
  const first = Object.keys(values).find((name) => Object.hasOwn(SPECIAL, name) && !allowed.includes(name));
  if (first === undefined) return;
  const known = [...Object.keys(COMMON), ...allowed].map((name) => `--${name}`);
  throw new CtlFailure(
    CTL_EXITS.usage,
    `${command} has no option --${first}${didYouMean(`--${first}`, known)}`,
  );
}

/**
 * The text of an option.
 *
 * @returns `undefined` when it was not given
 */
export function textOption({ values }: CtlArguments, name: keyof CtlArguments['values']): string | undefined {
  const value = values[name];
  return typeof value === 'string' ? value : undefined;
}

/**
 * A whole number of an option.
 *
 * @param bounds both inclusive
 * @throws CtlFailure
 */
export function numberOption(
  args: CtlArguments,
  name: keyof CtlArguments['values'],
  bounds: { readonly min: number; readonly max: number; readonly fallback: number },
): number {
  const text = textOption(args, name);
  if (text === undefined) return bounds.fallback;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (value >= bounds.min && value <= bounds.max) return value;
  throw new CtlFailure(
    CTL_EXITS.usage,
    `--${name} ${text}: must be a whole number from ${bounds.min} to ${bounds.max}`,
  );
}
