import { createAdminApi } from './admin-api.ts';
import { findCtlCommand, renderCtlHelp } from './ctl-commands.ts';
import type { CtlCommand, CtlIo } from './ctl-context.ts';
import { CTL_EXITS, CtlFailure } from './ctl-exits.ts';
import {
  numberOption,
  parseCtlArguments,
  refuseOtherOptions,
  textOption,
  type CtlArguments,
} from './ctl-options.ts';
import { readCtlToken } from './ctl-token.ts';
import { forwardPort, readTokenSecret, type KubectlOptions } from './kubectl.ts';

const DEFAULT_URL = 'http://127.0.0.1:8080';
const LONGEST_TIMEOUT_SECONDS = 3600;
/** Nothing else may keep the process alive while it waits between two questions. */
const LONG_MS = 2 ** 30;

/** How `slipway ctl` was called. */
export interface CtlProgram {
  /** For messages: `slipway ctl`, or `kubectl slipway`. */
  readonly name: string;
  /** Whether it is a plugin of kubectl, and goes through it unless a URL is given. */
  readonly plugin: boolean;
}

/**
 * Runs `slipway ctl`: reads reports and starts actions through the admin surface of a running service.
 *
 * @param argv the command line after `ctl`
 * @returns the exit code, one of {@link CTL_EXITS}
 */
export async function runCtl(argv: readonly string[], io: CtlIo, program: CtlProgram): Promise<number> {
  const alive = setInterval(() => undefined, LONG_MS);
  try {
    return await run(argv, io, program);
  } catch (error) {
    if (io.signal.aborted) return CTL_EXITS.interrupted;
    if (!(error instanceof CtlFailure)) throw error;
    const hint = error.exit === CTL_EXITS.usage ? `\n${program.name} --help says more.` : '';
    io.stderr.write(`${program.name}: ${error.message}${hint}\n`);
    return error.exit;
  } finally {
    clearInterval(alive);
  }
}

async function run(argv: readonly string[], io: CtlIo, program: CtlProgram): Promise<number> {
  const args = parseCtlArguments(argv);
  const command = findCtlCommand(args.words);
  if (args.values.help === true || args.words[0] === 'help') {
    io.stdout.write(renderCtlHelp(program.name, command ?? findCtlCommand(args.words.slice(1))));
    return CTL_EXITS.ok;
  }
  if (command === null) {
    const what = args.words.length === 0 ? 'no command is given' : `no command "${args.words.join(' ')}"`;
    throw new CtlFailure(CTL_EXITS.usage, `${what}\n\n${renderCtlHelp(program.name, null)}`);
  }
  const words = wordsOf(command, args);
  const json = isJson(args);
  const timeoutMs =
    numberOption(args, 'timeout', { min: 1, max: LONGEST_TIMEOUT_SECONDS, fallback: 30 }) * 1000;
  const target = targetOf(args, io, program);
  const token = await tokenOf(args, io, target);
  const forward = target instanceof URL ? null : await forwardPort(target, io.signal);
  try {
    const url = forward?.url ?? (target as URL);
    warnOfPlainHttp(url, token, io);
    const api = createAdminApi({ url, token, timeoutMs, signal: io.signal });
    return await command.run({ ...io, api, args, words, json });
  } finally {
    await forward?.close();
  }
}

function wordsOf(command: CtlCommand, args: CtlArguments): readonly string[] {
  const words = args.words.slice(command.name.split(' ').length);
  const [fewest, most] = command.words;
  if (words.length < fewest || words.length > most) {
    throw new CtlFailure(CTL_EXITS.usage, `usage: ${`${command.name} ${command.synopsis}`.trimEnd()}`);
  }
  refuseOtherOptions(args, command.name, command.options);
  return words;
}

function isJson(args: CtlArguments): boolean {
  const output = textOption(args, 'output') ?? 'table';
  if (output === 'json' || output === 'table') return output === 'json';
  throw new CtlFailure(CTL_EXITS.usage, `--output ${output}: must be table or json`);
}

/** The URL of the service, or how kubectl reaches it. */
function targetOf(args: CtlArguments, io: CtlIo, program: CtlProgram): URL | KubectlOptions {
  const url = textOption(args, 'url');
  const names = ['kubectl', 'namespace', 'context', 'target', 'target-port'] as const;
  const asked = names.filter((name) => args.values[name] !== undefined);
  if (url !== undefined && asked.length > 0) {
    throw new CtlFailure(CTL_EXITS.usage, `give either --url or --${asked[0] ?? 'kubectl'}, not both`);
  }
  if (asked.length > 0 || (program.plugin && url === undefined)) {
    return {
      namespace: textOption(args, 'namespace'),
      context: textOption(args, 'context'),
      target: textOption(args, 'target') ?? 'service/slipway',
      targetPort: textOption(args, 'target-port') ?? '8080',
    };
  }
  return parseUrl(url ?? io.env['SLIPWAY_CTL_URL'] ?? DEFAULT_URL);
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const usable =
    url !== null &&
    (url.protocol === 'http:' || url.protocol === 'https:') &&
    url.search === '' &&
    url.hash === '' &&
    url.username === '' &&
    url.password === '';
  if (usable) return url;
  // The text is not repeated: it may hold a password.
  throw new CtlFailure(
    CTL_EXITS.usage,
    '--url: give an http or https URL without a user, query or fragment, such as https://resources.example.org',
  );
}

async function tokenOf(args: CtlArguments, io: CtlIo, target: URL | KubectlOptions): Promise<string | null> {
  const secret = textOption(args, 'token-secret');
  const file = textOption(args, 'token-file');
  if (secret === undefined) return await readCtlToken({ file, env: io.env });
  if (file !== undefined) {
    throw new CtlFailure(CTL_EXITS.usage, 'give either --token-file or --token-secret, not both');
  }
  const cluster = target instanceof URL ? { namespace: undefined, context: undefined } : target;
  return await readTokenSecret(secret, cluster, io.signal);
}

/** The token could be read on the way. */
function warnOfPlainHttp(url: URL, token: string | null, io: CtlIo): void {
  const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(url.hostname);
  if (token === null || loopback || url.protocol === 'https:') return;
  io.stderr.write(
    `warning: the token goes to ${url.hostname} over http, where others can read it; use https\n`,
  );
}
